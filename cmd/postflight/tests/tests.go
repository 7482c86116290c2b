// Package tests has the commands about tests over many runs.
package tests

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

const whatIsKnown = `The server knows each test of each run whose Trigger has results, from a few seconds after the run has ended, for
as long as the Team keeps records. It needs an object store. The names are those of "postflight runs results".`

func New() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:     "tests",
		Aliases: []string{"test"},
		Short:   "List tests, and show the history of one",
		Long: `Shows how tests did over many runs: which fail most, since when, and how long they take.

` + whatIsKnown,
		Example: `  export POSTFLIGHT_URL=https://postflight.example.com POSTFLIGHT_API_KEY=pf_...
  postflight tests list --environment staging
  postflight tests show "cart > keeps items"`,
	}, newList(), newShow())
}

// options are those of all commands about tests.
type options struct {
	access.Server
	client.TestFilter
	now func() time.Time
}

const (
	defaultDays = 30
	maxDays     = 90
)

func (o *options) addFlags(cmd *cobra.Command, days int) {
	f := cmd.Flags()
	f.StringVar(&o.Trigger, "trigger", "", "only runs of the Trigger")
	f.StringVar(&o.Environment, "environment", "", "only runs in the Environment")
	cli.DaysVar(f, &o.Days, "days", days, "how many days to look back, up to 90")
	_ = cmd.RegisterFlagCompletionFunc("trigger", o.Complete(access.Triggers))
	_ = cmd.RegisterFlagCompletionFunc("environment", o.Complete(access.Environments))
	o.AddFlags(cmd)
	o.now = time.Now
}

func (o *options) check() error {
	if o.Days < 1 || o.Days > maxDays {
		return cli.Exitf(cli.ExitTrouble, "--days %d: from 1 to %d are possible", o.Days, maxDays)
	}
	return nil
}

func where(p client.Place) string { return p.Trigger + " on " + p.Environment }

// took is a duration with as many digits as tell something.
func took(milliseconds int64) string {
	d := time.Duration(milliseconds) * time.Millisecond
	if d < time.Minute {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// deployment is a commit and a branch.
func deployment(r client.TestRun) string {
	text := cmp.Or(cli.ShortSHA(r.SHA), "an unknown commit")
	if r.Branch != "" {
		text += " on " + r.Branch
	}
	return text
}
