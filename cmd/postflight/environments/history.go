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

const (
	defaultHistory = 50  // fits on two screens
	maxHistory     = 200 // the server lists no more
)

type HistoryOptions struct {
	Options
	Since string
	Limit int
}

func newHistory() *cobra.Command {
	o := &HistoryOptions{}
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List what was deployed in an Environment, the newest first",
		Long: `Lists the deployments of an Environment, the newest first: since when and until when it had which commit, and who reported that. It
works for a deleted Environment, too. The server knows them from the archive, as long as that keeps the records of runs. The cluster knows
only the last ones.

` + access.TwoWays,
		Example: `  postflight environments history staging --since 7d

  # All commits of acme/shop that were there in November
  postflight environments history staging --since 2026-11-01 --limit 200 -o json |
    jq -r '.deployments[] | select(.repository == "acme/shop").sha'`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if o.Limit < 1 || o.Limit > maxHistory {
				return cli.Exitf(cli.ExitTrouble, "--limit %d: from 1 to %d are listed", o.Limit, maxHistory)
			}
			return nil
		},
	}
	cmd.RunE = o.command(nil, func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) })
	cmd.Flags().StringVar(&o.Since, "since", "", "only what was there after this time, e.g. 2026-11-24, or in the last, e.g. 7d")
	cmd.Flags().IntVar(&o.Limit, "limit", defaultHistory, "how many")
	o.addFlags(cmd)
	return cmd
}

func (o *HistoryOptions) Run(ctx context.Context, name string) error {
	since := time.Time{}
	if o.Since != "" {
		var err error
		if since, err = record.ParseMoment(o.Since, o.Now()); err != nil {
			return cli.Exitf(cli.ExitTrouble, "--since: %v", err)
		}
	}
	h, err := o.Source.EnvironmentHistory(ctx, name, since, o.Limit)
	if err != nil {
		return err
	}
	return o.Console.Result(h, func() error {
		if len(h.Deployments) == 0 {
			o.Console.Note("Nothing is known to have been deployed to %s in that time.", name)
			return nil
		}
		if err := o.Console.Table(historyRows(h)); err != nil {
			return err
		}
		if h.More {
			o.Console.Note("There are older ones: see more with --limit.")
		}
		return nil
	})
}

func historyRows(h *client.DeploymentHistory) [][]string {
	rows := [][]string{{"SINCE", "UNTIL", "REPOSITORY", "COMMIT", "BRANCH", "REPORTED BY", "MESSAGE"}}
	for _, d := range h.Deployments {
		until := "now"
		if d.Until != nil {
			until = d.Until.UTC().Format(time.RFC3339)
		}
		rows = append(rows, []string{
			d.Since.UTC().Format(time.RFC3339), until, cmp.Or(commit.PartOf(d.Repository, d.Service).String(), "-"),
			cmp.Or(cli.ShortSHA(d.SHA), "-"), cmp.Or(d.Branch, "-"),
			cmp.Or(d.ReportedBy, "-"), d.Message,
		})
	}
	return rows
}
