package environments

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

type ShowOptions struct{ Options }

func newShow() *cobra.Command {
	o := &ShowOptions{}
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show what is deployed in an Environment",
		Long: `Shows an Environment: which commits it has, since when and who said so, and how far each of its workloads is.

` + twoWays,
		Example: `  postflight environments show staging

  # Is it rolled out? For a script
  postflight environments show staging -o json | jq -e 'all(.deployed[]; .ready != false)'`,
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = o.command(nil, func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) })
	o.addFlags(cmd)
	return cmd
}

func (o *ShowOptions) Run(ctx context.Context, name string) error {
	e, err := o.Source.Environment(ctx, name)
	if err != nil {
		return err
	}
	return o.Console.Result(e, func() error { return o.Console.Table(o.rows(e)) })
}

func (o *ShowOptions) rows(e *client.EnvironmentStatus) [][]string {
	problem := ""
	if e.Ready != nil && !*e.Ready {
		problem = e.Message
	}
	rows := [][]string{{"Environment:", e.Name}, {"Problem:", problem}, {"On hold:", o.hold(*e)}, {"Settling:", o.settling(*e)}, {"URL:", e.URL}}
	if e.ExpiresAt != nil {
		rows = append(rows, []string{"Expires:", e.ExpiresAt.UTC().Format(time.RFC3339)})
	}
	rows = append(rows, []string{"Page:", e.PageURL})
	if len(e.Deployed) == 0 {
		rows = append(rows, []string{"Deployed:", "nothing is known: notify after each deployment, or name the workloads in spec.workloads of the Environment"})
	}
	rows = withValue(rows)
	for _, d := range e.Deployed {
		rows = append(rows, []string{""})
		rows = append(rows, withValue(o.deployedRows(d))...)
	}
	return rows
}

func withValue(rows [][]string) [][]string {
	return slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
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
	rows := [][]string{{"Repository:", cmp.Or(d.Repository, "not named")}, {"Commit:", cmp.Or(d.SHA, commit(d))}, {"Branch:", d.Branch},
		{"Type:", d.DeploymentType}, {"Since:", since}, {"Before:", previous}, {"Reported by:", d.ReportedBy}, {"Rollout:", state}}
	for _, w := range d.Workloads {
		rows = append(rows, []string{"Workload:", workload(d, w)})
	}
	return rows
}

func workload(d client.Deployed, w client.DeployedWorkload) string {
	text := w.Kind + " " + w.Namespace + "/" + w.Name
	if w.SHA != d.SHA && w.SHA != "" {
		text += " with " + cli.ShortSHA(w.SHA)
	}
	return text + ": " + cmp.Or(w.Message, map[bool]string{true: "ready", false: "not ready"}[w.Ready])
}
