// Package environments has the commands about Environments.
package environments

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

func New() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:     "environments",
		Aliases: []string{"environment", "env"},
		Short:   "List Environments, and show what is and was deployed there",
		Long: `Shows the commits that an Environment has, with their repositories: since when, who said so, and whether they are rolled out.

Postflight knows it from the notifications of your pipeline, and from the workloads that the Environment names in
spec.workloads.

` + access.TwoWays,
		Example: `  # What is deployed in all Environments of the team?
  export POSTFLIGHT_URL=https://postflight.example.com POSTFLIGHT_API_KEY=pf_...
  postflight environments list

  # Which commit of acme/shop does staging have?
  postflight environments show staging -o json | jq -r '.deployed[] | select(.repository == "acme/shop").sha'

  # What was on staging on Tuesday at 10?
  postflight environments show staging --at 2026-11-24T10:00Z`,
	}, newList(), newShow(), newHistory())
}

// Source is a way to the Environments of a team. A *client.Client is one.
type Source interface {
	Environments(ctx context.Context) iter.Seq2[client.EnvironmentStatus, error]
	Environment(ctx context.Context, name string) (*client.EnvironmentStatus, error)
	EnvironmentAt(ctx context.Context, name string, at time.Time) (*client.EnvironmentStatus, error)
	EnvironmentHistory(ctx context.Context, name string, since time.Time, limit int) (*client.DeploymentHistory, error)
}

// Options are those of all commands about Environments.
type Options struct {
	cli.Output
	way access.Way

	Source Source
	Scope  string // completes "There are no Environments"
	Now    func() time.Time
}

func (o *Options) addFlags(cmd *cobra.Command) {
	o.AddFlags(cmd)
	o.way.AddOwnFlags(cmd)
	cmd.ValidArgsFunction = access.First(o.way.Complete(access.Environments))
}

// command returns the RunE of a command about Environments, of all namespaces if all points to true.
func (o *Options) command(all *bool, run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return o.way.Command(&o.Output, func(byServer bool) {
		o.Now = time.Now
		cluster := &Cluster{Cluster: &o.way.Cluster, All: all != nil && *all}
		o.Source, o.Scope = cluster, cluster.Scope(cluster.All)
		if byServer {
			o.Source, o.Scope = o.way.Server.Client, "of your team"
		}
	}, run)
}

// rollout says how far a deployment is, in a word.
func rollout(d client.Deployed) string {
	switch {
	case d.Ready == nil:
		return "-"
	case *d.Ready:
		return "Ready"
	default:
		return "Incomplete"
	}
}

func commitOf(d client.Deployed) string {
	if d.SHA == "" && len(d.Workloads) > 0 {
		return "several"
	}
	return cmp.Or(cli.ShortSHA(d.SHA), "-")
}

func (o *Options) since(d client.Deployed) string {
	if d.Since == nil {
		return "-"
	}
	return cli.Age(*d.Since, o.Now())
}

// hold says until when an Environment is on hold, why, and who holds it; empty: it is not.
func (o *Options) hold(e client.EnvironmentStatus) string {
	h := e.Hold
	if h == nil {
		return ""
	}
	text := "until " + queue.HoldEnd(h.Until, o.Now())
	for _, more := range []struct{ before, text string }{{": ", h.Reason}, {", by ", h.HeldBy}} {
		if more.text != "" {
			text += more.before + more.text
		}
	}
	return text
}

// settling says until when runs wait for an Environment to settle; empty: they do not.
func (o *Options) settling(e client.EnvironmentStatus) string {
	if e.Settling == nil {
		return ""
	}
	return queue.SettlingClause(*e.Settling, o.Now())
}
