// Package runs has the commands about runs.
package runs

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/state"
)

const twoWays = access.TwoWays + "\nThe server also knows runs whose Suites were deleted."

func New() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:     "runs",
		Aliases: []string{"run"},
		Short:   "List, show, explain, follow, cancel and rerun runs, and get their logs, results and files",
		Long:    "Shows runs and what they left behind, and acts on them.\n\n" + twoWays,
		Example: `  # In CI, or without a kubeconfig: the runs of the team of the key
  export POSTFLIGHT_URL=https://postflight.example.com POSTFLIGHT_API_KEY=pf_...
  postflight runs list --branch main --state Failed

  # With a kubeconfig: the runs of a namespace
  postflight runs list -n acme`,
	}, newList(), newShow(), newWhy(), newLogs(), newResults(), newArtifacts(), newCancel(), newRerun())
}

// runSource is a way to the runs of a team. A *client.Client has most of its methods.
type runSource interface {
	ArtifactSource

	// scope completes "There are no such runs".
	scope() string

	// elsewhere completes a sentence about an Environment of another cluster: how to ask for its runs.
	elsewhere(environment string) string

	// place completes a command about a run that the source knows.
	place() string

	// Environments have at least their names, and the clusters that have them.
	Environments(ctx context.Context) iter.Seq2[client.EnvironmentStatus, error]

	Runs(ctx context.Context, f client.RunFilter) iter.Seq2[client.Run, error]
	Run(ctx context.Context, id string) (*client.Run, error)
	Results(ctx context.Context, id string) (*client.RunResults, error)
	Failure(ctx context.Context, id string) (*client.Failure, error)
	Cancel(ctx context.Context, id string) (*client.Run, error)

	// Rerun returns the next attempt of a run that has ended; that attempt may exist.
	Rerun(ctx context.Context, id string) (*client.Run, error)
	RerunFailed(ctx context.Context, id string) (*client.Run, error)

	// copyLogs copies logs, each below a line that names it if there are several.
	copyLogs(ctx context.Context, id string, o client.LogOptions, to io.Writer) error
}

// ArtifactSource is a way to the files of runs.
type ArtifactSource interface {
	Artifacts(ctx context.Context, id, pod string) iter.Seq2[client.Artifact, error]
	Download(ctx context.Context, id string, a client.Artifact, to client.Destination) error
}

// Options are those of all commands about runs.
type Options struct {
	cli.Output
	way access.Way

	Source runSource
	Now    func() time.Time
}

func (o *Options) addFlags(cmd *cobra.Command) {
	o.AddFlags(cmd)
	o.way.AddOwnFlags(cmd)
	cmd.ValidArgsFunction = access.First(o.way.Complete(access.Runs))
}

// command returns the RunE of a command about runs.
func (o *Options) command(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return o.way.Command(&o.Output, func(byServer bool) {
		o.Now = time.Now
		o.Source = &ClusterRuns{Cluster: &o.way.Cluster}
		if byServer {
			o.Source = &serverRuns{o.way.Server.Client, o.Console}
		}
	}, run)
}

// Ended reports whether a run has ended, in whatever state.
func Ended(r *client.Run) bool {
	return !state.Of(r.State).Open()
}

// took is how long the tests of a run took, or have taken until now.
func took(r *client.Run, now time.Time) string {
	switch {
	case r.StartedAt == nil:
		return "-"
	case r.EndedAt == nil:
		return cli.Age(*r.StartedAt, now) + "..."
	default:
		return cli.Age(*r.StartedAt, *r.EndedAt)
	}
}
