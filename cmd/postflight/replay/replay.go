// Package replay has the command that tries changed Triggers on past notifications.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/record"
)

type Options struct {
	access.Server
	File     string
	Since    string
	Limit    int
	ExitCode bool
	Markdown bool

	In  io.Reader
	Now func() time.Time
}

// The formats of --output.
const (
	table    = "table"
	markdown = "markdown"
)

var formats = []string{table, "json", "yaml", markdown}

func New() *cobra.Command {
	o := &Options{Now: time.Now}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:   "replay -f FILE",
		Short: "Show which past notifications a changed Trigger would match",
		Long: `Tries the Triggers of a file on the notifications that your team has sent, and compares each with the Trigger of its name as it is
now: which would start a run that did not, and which no longer would. It creates nothing. Use it before you merge a change of spec.match.

The server knows the notifications from the archive, also those that matched nothing, as long as it keeps the records of runs, and since
it has had this version. It does not keep the values of variables that look secret or are long: where a match depends on one, the change
is unknown.

A match starts a run, unless the commit has a result already, or the run cannot be created. A Trigger that does not exist now is compared
with what matched when the notifications came.

Exit codes: 0 it was replayed, 1 with --exit-code, and something changes, 3 trouble: no valid Trigger, no server, no key, no store.`,
		Example: `  postflight replay --since 7d -f trigger.yaml

  # All Triggers of a kustomization; other objects are ignored
  kubectl kustomize . | postflight replay -f -

  # As a comment of the pull request that changes it
  postflight replay -f trigger.yaml -o markdown | gh pr comment --body-file -

  # Which branches would no longer be tested?
  postflight replay -f trigger.yaml -o json | jq -r '.changes[] | select(.change == "stops").branch' | sort -u`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
	})
	run := o.Command(func(ctx context.Context, _ []string) error { return o.Run(ctx) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.In = cmd.InOrStdin()
		return cli.ExitTroubleError(run(cmd, args))
	}
	cmd.Flags().StringVarP(&o.File, "filename", "f", "",
		"file with the changed Triggers, as YAML or JSON, several separated by ---; - reads standard input")
	cmd.Flags().StringVar(&o.Since, "since", "7d", "only notifications after this time, e.g. 2026-11-24, or in the last, e.g. 36h or 30d")
	cmd.Flags().IntVar(&o.Limit, "limit", 50, "how many lines of changes to print; 0 for all. Counts are of all")
	cmd.Flags().BoolVar(&o.ExitCode, "exit-code", false, "exit with 1 if something changes")
	cmd.Flags().StringVarP(&o.Format, "output", "o", table, "how to print the result: "+strings.Join(formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	o.AddOwnFlags(cmd)
	return cmd
}

// check also maps the formats that only this command has.
func (o *Options) check() error {
	switch {
	case o.File == "":
		return cli.Exitf(cli.ExitTrouble, "name the file with the changed Trigger: postflight replay -f trigger.yaml")
	case o.Limit < 0:
		return cli.Exitf(cli.ExitTrouble, "--limit %d: it cannot be negative", o.Limit)
	case !slices.Contains(formats, o.Format):
		return cli.Exitf(cli.ExitTrouble, "-o %q: the formats are %s", o.Format, strings.Join(formats, ", "))
	}
	o.Markdown = o.Format == markdown
	if o.Markdown || o.Format == table {
		o.Format = ""
	}
	return nil
}

func (o *Options) Run(ctx context.Context) error {
	since, err := record.ParseMoment(o.Since, o.Now())
	if err != nil {
		return cli.Exitf(cli.ExitTrouble, "--since: %v", err)
	}
	content, err := o.read()
	if err != nil {
		return err
	}
	all, err := o.replay(ctx, content, since)
	if err != nil {
		return err
	}
	for _, text := range all.Problems {
		o.Console.Note("Warning: %s", text)
	}
	if len(all.Ignored) > 0 {
		o.Console.Note("Ignored, because they are no Triggers: %s", strings.Join(all.Ignored, ", "))
	}
	if err := o.print(all); err != nil {
		return err
	}
	if o.ExitCode && changes(all) > 0 {
		return cli.Exitf(cli.ExitFailed, "the changed Triggers match other notifications")
	}
	return nil
}

// maxFile is as much as the server accepts, in bytes.
const maxFile = 256 << 10

func (o *Options) read() ([]byte, error) {
	file, err := cli.OpenFile(o.File, o.In)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes; replay fewer Triggers at once", o.File, maxFile)
	}
	return content, err
}

// replay adds up the pages, and says how far it is.
func (o *Options) replay(ctx context.Context, content []byte, since time.Time) (*client.Replay, error) {
	var all *client.Replay
	for page, err := range o.Client.Replay(ctx, content, since) {
		if err != nil {
			return nil, explained(err)
		}
		if all == nil {
			all = page
		} else {
			all.Add(page)
		}
		if page.Next != "" {
			o.Console.Note("Replayed %d notifications, back to %s ...", all.Notifications, page.From.UTC().Format(time.RFC3339))
		}
	}
	all.Next = ""
	return all, nil
}

// explained names a server that is too old.
func explained(err error) error {
	if cli.FailureCode(err) == "not_found" {
		return fmt.Errorf("the server does not know replays, because its version is older than that of this program (%w)", err)
	}
	return err
}

func changes(all *client.Replay) (n int) {
	for _, t := range all.Triggers {
		n += t.Starts + t.Stops + t.Unknown
	}
	return n
}

// group are the changes that people see as one: a branch is deployed again and again.
type group struct {
	change, trigger, part, branch, deploymentType, way string
}

type grouped struct {
	group
	notifications int
	last          time.Time
}

var changeOrder = []string{"stops", "starts", "unknown"} // what is no longer tested matters most

func groups(all []client.ReplayChange) []grouped {
	index := map[group]int{}
	var list []grouped
	for _, c := range all {
		g := group{c.Change, c.Trigger, commit.PartOf(c.Repository, c.Service).String(), c.Branch, c.DeploymentType, c.Way}
		i, known := index[g]
		if !known {
			i, index[g] = len(list), len(list)
			list = append(list, grouped{group: g})
		}
		list[i].notifications++
		if c.At.After(list[i].last) {
			list[i].last = c.At
		}
	}
	slices.SortStableFunc(list, func(a, b grouped) int {
		return cmp.Or(cmp.Compare(slices.Index(changeOrder, a.change), slices.Index(changeOrder, b.change)),
			cmp.Compare(a.trigger, b.trigger), cmp.Compare(b.notifications, a.notifications), b.last.Compare(a.last))
	})
	return list
}

var errNoTriggers = errors.New("the server answered without a Trigger; ask its operator for a newer version")
