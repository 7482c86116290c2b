package runs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

func newArtifacts() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:     "artifacts",
		Aliases: []string{"artifact", "files"},
		Short:   "List and download the files that the tests of a run wrote",
		Long: `Lists and downloads the files that the tests of a run wrote into $POSTFLIGHT_RESULTS_DIR: reports, screenshots,
traces. They are in the object store, which only the server leads to: set $POSTFLIGHT_URL and $POSTFLIGHT_API_KEY.`,
		Example: `  postflight runs artifacts list smoke-3f9c2k7q5x0a1b2c
  postflight runs artifacts download smoke-3f9c2k7q5x0a1b2c '*.png'`,
	}, newRunsArtifactsList(), newArtifactsDownload())
}

type RunsArtifactsListOptions struct {
	Options
	pod string
}

func newRunsArtifactsList() *cobra.Command {
	o := &RunsArtifactsListOptions{}
	cmd := &cobra.Command{
		Use:     "list RUN",
		Aliases: []string{"ls"},
		Short:   "List the files of a run",
		Long: `Lists the files of a run. With -o json, each has a URL from which everybody can get it for a while, 15 minutes by
default: keep these URLs out of logs.`,
		Example: `  postflight runs artifacts list smoke-3f9c2k7q5x0a1b2c

  # The paths of the screenshots, for a script
  postflight runs artifacts list smoke-3f9c2k7q5x0a1b2c -o json | jq -r '.[].path | select(endswith(".png"))'`,
		Args: cobra.ExactArgs(1),
		RunE: o.command(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) }),
	}
	cmd.Flags().StringVar(&o.pod, "pod", "", "only the files of this pod")
	o.addFlags(cmd)
	return cmd
}

func (o *RunsArtifactsListOptions) Run(ctx context.Context, id string) error {
	files, _, err := cli.Collect(o.Source.Artifacts(ctx, id, o.pod), 0)
	if err != nil {
		return err
	}
	return o.Console.Result(files, func() error {
		if len(files) == 0 {
			o.Console.Note("The run %s has no files. %s", id, o.whyNone(ctx, id))
			return nil
		}
		rows := [][]string{{"POD", "SIZE", "PATH"}}
		for _, a := range files {
			rows = append(rows, []string{a.Pod, cli.Size(a.Bytes), a.Path})
		}
		return o.Console.Table(rows)
	})
}

// whyNone is a sentence.
func (o *RunsArtifactsListOptions) whyNone(ctx context.Context, id string) string {
	r, err := o.Source.Run(ctx, id)
	switch {
	case err != nil:
		return "The reason cannot be shown: " + err.Error()
	case r.ResultsProblem != "":
		return r.ResultsProblem
	case !Ended(r):
		return "It has not ended: files appear as its tests write them."
	default:
		return "Its tests wrote none into $POSTFLIGHT_RESULTS_DIR, or its Trigger has no results."
	}
}
