package environments

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/record"
)

type ShowOptions struct {
	Options
	At string
}

func newShow() *cobra.Command {
	o := &ShowOptions{}
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show what is deployed in an Environment, or was",
		Long: `Shows an Environment: which commits it has, since when and who said so, and how far each of its workloads is.

With --at, it shows which commits it had at that time, also if it was deleted since. The server knows that from the archive, if there is
one, and the cluster only for the present and the previous deployment. Times without a zone are in UTC.

` + access.TwoWays,
		Example: `  postflight environments show staging

  # Is it rolled out? For a script
  postflight environments show staging -o json | jq -e 'all(.deployed[]; .ready != false)'

  # What was there on Tuesday at 10, and three hours ago?
  postflight environments show staging --at "2026-11-24 10:00"
  postflight environments show staging --at 3h`,
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = o.command(nil, func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) })
	cmd.Flags().StringVar(&o.At, "at", "", "show what was deployed at this time, e.g. 2026-11-24T10:00Z, or so long ago, e.g. 3h or 7d")
	o.addFlags(cmd)
	return cmd
}

func (o *ShowOptions) Run(ctx context.Context, name string) error {
	e, err := o.read(ctx, name)
	if err != nil {
		return err
	}
	return o.Console.Result(e, func() error { return o.Console.Table(o.rows(e)) })
}

func (o *ShowOptions) read(ctx context.Context, name string) (*client.EnvironmentStatus, error) {
	if o.At == "" {
		return o.Source.Environment(ctx, name)
	}
	at, err := record.ParseMoment(o.At, o.Now())
	if err != nil {
		return nil, cli.Exitf(cli.ExitTrouble, "--at: %v", err)
	}
	return o.Source.EnvironmentAt(ctx, name, at)
}

func (o *ShowOptions) rows(e *client.EnvironmentStatus) [][]string {
	problem := ""
	if e.Ready != nil && !*e.Ready {
		problem = e.Message
	}
	rows := [][]string{
		{"Environment:", e.Name}, {"Problem:", problem}, {"On hold:", o.hold(*e)}, {"Settling:", o.settling(*e)}, {"URL:", e.URL},
	}
	if e.ExpiresAt != nil {
		rows = append(rows, []string{"Expires:", e.ExpiresAt.UTC().Format(time.RFC3339)})
	}
	rows = append(rows, []string{"Page:", e.PageURL})
	if e.At != nil {
		rows = append(rows, []string{"At:", e.At.UTC().Format(time.RFC3339)})
	}
	switch {
	case len(e.Deployed) == 0 && e.At != nil:
		rows = append(rows, []string{"Deployed:", "nothing is known of that time"})
	case len(e.Deployed) == 0:
		rows = append(rows, []string{
			"Deployed:", "nothing is known: notify after each deployment, or name the workloads in spec.workloads of the Environment",
		})
	}
	rows = cli.WithValue(rows)
	for _, d := range e.Deployed {
		rows = append(rows, []string{""})
		rows = append(rows, cli.WithValue(o.deployedRows(d))...)
	}
	return rows
}

func (o *ShowOptions) deployedRows(d client.Deployed) [][]string {
	since := ""
	if d.Since != nil {
		since = d.Since.UTC().Format(time.RFC3339) + " (" + o.since(d) + " ago)"
	}
	previous := ""
	if p := d.Previous; p != nil {
		previous = cmp.Or(p.SHA, "several commits")
	}
	state := rollout(d)
	if state == "-" {
		state = ""
	} else if d.Message != "" {
		state += ": " + d.Message
	}
	sha := cmp.Or(d.SHA, commitOf(d))
	if d.SHA == "" && d.Ready == nil && d.Message != "" {
		sha = "not known: " + d.Message
	}
	rows := [][]string{
		{"Repository:", cmp.Or(d.Repository, "not named")}, {"Service:", d.Service}, {"Commit:", sha}, {"Branch:", d.Branch},
		{"Type:", d.DeploymentType}, {"Only at:", d.URL}, {"Since:", since}, {"Before:", previous},
		{"Reported by:", d.ReportedBy}, {"Rollout:", state},
	}
	for _, w := range d.Workloads {
		rows = append(rows, []string{"Workload:", workload(d, w)})
	}
	return rows
}

func workload(d client.Deployed, w client.DeployedWorkload) string {
	text := w.Kind + " " + w.Namespace + "/" + w.Name
	if w.SHA != "" && !commit.SameSHA(w.SHA, d.SHA) {
		text += " with " + cli.ShortSHA(w.SHA)
	}
	return text + ": " + cmp.Or(w.Message, map[bool]string{true: "ready", false: "not ready"}[w.Ready])
}
