package tests

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
)

type SinceOptions struct{ options }

// NewSince returns the command since.
func NewSince() *cobra.Command {
	o := &SinceOptions{}
	cmd := &cobra.Command{
		Use:   "since TEST",
		Short: "Print the deployment with which a test began to fail",
		Long: `Prints the first deployment with which a test failed that fails now, and the last one before with which it passed: for each Trigger
and Environment that had the test on its last day with tests.

` + whatIsKnown,
		Example: `  postflight since "cart > keeps items" --environment staging

  # The commits to look through
  git log "$(postflight since "cart > keeps items" --environment staging -o json |
    jq -r '.[0] | select(.failing.before) | .failing | .before.sha + ".." + .first.sha')"`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
	}
	cmd.RunE = o.Command(func(ctx context.Context, args []string) error { return o.Run(ctx, args[0]) })
	o.addFlags(cmd, maxDays)
	return cmd
}

func (o *SinceOptions) Run(ctx context.Context, name string) error {
	h, err := o.Client.Test(ctx, name, o.TestFilter)
	if err != nil {
		return err
	}
	failing := []client.TestInPlace{} // JSON: never null
	for _, p := range h.Places {
		if p.Failing != nil {
			p.Last, p.Failures = []client.TestRun{}, nil
			failing = append(failing, p)
		}
	}
	return o.Console.Result(failing, func() error {
		if len(failing) == 0 {
			o.Console.Note("The test passed in its last run.")
		}
		for _, p := range failing {
			o.Console.Note("%s: %s", where(p.Place), sentence(p))
			o.Console.Note("First failure: %s", p.Failing.First.URL)
			if p.Failing.CompareURL != "" {
				o.Console.Note("Changes: %s", p.Failing.CompareURL)
			}
		}
		if h.Problem != "" {
			o.Console.Note("Warning: %s", h.Problem)
		}
		return nil
	})
}
