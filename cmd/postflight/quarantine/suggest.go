package quarantine

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	defaultDays = 30
	maxDays     = 90

	// maxHistories bounds the tests whose history is asked for, the least reliable first. A run applies 200 at most.
	maxHistories = 200
)

type SuggestOptions struct {
	access.Server
	client.TestFilter
	MinCommits        int
	Owner, CodeOwners string
	Until             string
	now               func() time.Time
}

func newSuggest() *cobra.Command {
	o := &SuggestOptions{now: time.Now}
	cmd := &cobra.Command{
		Use:   "suggest",
		Short: "Print Quarantines for tests that failed and passed on the same commit",
		Long: `Prints Quarantines as YAML, for tests that failed and passed on the same commit in the same Trigger, Environment and service.
Nothing is applied: review the file, commit it, or pipe it into kubectl apply. There is one Quarantine for each Trigger, Environment and
owner, with the figures of each test as a comment.

A commit counts once, with all its runs and reruns that ended as Passed or Failed. Skipped is neither. Left out are tests that
- are quarantined already
- failed in their last three runs: these look like regressions, and are named in comments
- failed no run, because their runner repeats them until they pass
- have no owner.

The last rule of CODEOWNERS that matches the file of the test names the owner: in .github, the root, docs or .gitlab of the checkout
that you are in. --owner is for files that have none.

The server knows each test of each run whose Trigger has results, for as long as the Team keeps records. It needs an object store.`,
		Example: `  postflight quarantine suggest --environment staging --days 14 > quarantines.yaml

  # Without a CODEOWNERS file, and more careful
  postflight quarantine suggest --owner team-checkout --min-commits 4`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return o.check() },
	}
	cmd.RunE = o.Command(func(ctx context.Context, _ []string) error { return o.Run(ctx) })
	f := cmd.Flags()
	f.StringVar(&o.Trigger, "trigger", "", "only runs of the Trigger")
	f.StringVar(&o.Environment, "environment", "", "only runs in the Environment")
	cli.DaysVar(f, &o.Days, "days", defaultDays, "how many days to look back, up to 90")
	f.IntVar(&o.MinCommits, "min-commits", quarantine.MinCommits, "on how many commits a test has to have failed and passed")
	f.StringVar(&o.Owner, "owner", "", "who repairs tests whose file has no owner in CODEOWNERS")
	f.StringVar(&o.CodeOwners, "codeowners", "", "the CODEOWNERS file; default: the file of the checkout, if it has one")
	f.StringVar(&o.Until, "until", "", "the day on which the tests count again, such as 2026-12-15; default: in 14 days")
	_ = cmd.RegisterFlagCompletionFunc("trigger", o.Complete(access.Triggers))
	_ = cmd.RegisterFlagCompletionFunc("environment", o.Complete(access.Environments))
	o.AddFlags(cmd)
	return cmd
}

func (o *SuggestOptions) check() error {
	if o.Days < 1 || o.Days > maxDays {
		return cli.Exitf(cli.ExitTrouble, "--days %d: from 1 to %d are possible", o.Days, maxDays)
	}
	if o.MinCommits < 1 {
		return cli.Exitf(cli.ExitTrouble, "--min-commits %d: at least 1 is possible", o.MinCommits)
	}
	_, err := o.terms()
	return err
}

func (o *SuggestOptions) terms() (quarantine.Terms, error) {
	today := o.now().UTC().Truncate(24 * time.Hour)
	t := quarantine.Terms{MinCommits: o.MinCommits, Days: o.Days, Since: today, Until: today.AddDate(0, 0, quarantine.SuggestedDays)}
	if o.Until == "" {
		return t, nil
	}
	until, err := time.Parse(time.DateOnly, o.Until)
	if err != nil {
		return t, cli.Exitf(cli.ExitTrouble, "--until %q is no day: write it like %s", o.Until, t.Until.Format(time.DateOnly))
	}
	t.Until = until
	if why := t.CheckUntil(); why != "" {
		return t, cli.Exitf(cli.ExitTrouble, "--until %s: %s", o.Until, why)
	}
	return t, nil
}

func (o *SuggestOptions) Run(ctx context.Context) error {
	terms, err := o.terms()
	if err != nil {
		return err
	}
	owners, err := findOwners(o.CodeOwners, o.Console.Note)
	if err != nil {
		return err
	}
	candidates, err := o.candidates(ctx, owners)
	if err != nil {
		return err
	}
	s := quarantine.Suggest(candidates, terms)
	for _, note := range s.Notes {
		o.Console.Note("%s", note)
	}
	if len(s.Quarantines) == 0 {
		o.Console.Note("There is no test to quarantine.")
	}
	return o.Console.Result(s.List(), func() error {
		return o.Console.Untrusted(func(to io.Writer) error {
			_, err := io.WriteString(to, s.YAML())
			return err
		})
	})
}

// candidates are the tests that may have failed and passed on enough commits, or that fail now. Each such commit has a run that failed, or
// that passed when repeated.
func (o *SuggestOptions) candidates(ctx context.Context, owners *owners) (all []quarantine.Candidate, err error) {
	tests, _, err := cli.Collect(o.Client.Tests(ctx, o.TestFilter), 0)
	if err != nil {
		return nil, err
	}
	tests = slices.DeleteFunc(tests, func(t client.TestStats) bool { return t.Failed+t.Flaky < min(o.MinCommits, quarantine.RegressionRuns) })
	if n := len(tests) - maxHistories; n > 0 {
		o.Console.Note("Only the %d least reliable tests are looked at, and %s not. Choose a Trigger or an Environment.",
			maxHistories, plaintext.Count(n, "other"))
		tests = tests[:maxHistories]
	}
	problems := map[string]bool{}
	for _, t := range tests {
		filter := o.TestFilter
		filter.Trigger, filter.Environment = t.Trigger, t.Environment
		c, problem, err := o.candidate(ctx, t, filter, owners)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, *c)
		}
		if problem != "" && !problems[problem] {
			problems[problem] = true
			o.Console.Note("Warning: %s", problem)
		}
	}
	return all, nil
}

// candidate returns nil for a test that is no longer in its place.
func (o *SuggestOptions) candidate(ctx context.Context, t client.TestStats, f client.TestFilter, owners *owners) (
	*quarantine.Candidate, string, error,
) {
	p, problem, err := o.inPlace(ctx, t.Name, t.Place, f)
	if err != nil || p == nil {
		return nil, problem, err
	}
	c := &quarantine.Candidate{Name: t.Name, File: t.File, Owner: owners.of(t.File), TestInPlace: *p}
	if c.Owner == "" {
		c.Owner = o.Owner
	}
	namesake, numbered := withoutNumber(t.Name)
	if !numbered { // which of the two is the first may change from run to run
		namesake = t.Name + " (2)"
	}
	other, _, err := o.inPlace(ctx, namesake, t.Place, f)
	if err != nil {
		return nil, "", err
	}
	c.Numbered = other != nil
	return c, problem, nil
}

// inPlace returns nil if no test has the name in the place.
func (o *SuggestOptions) inPlace(ctx context.Context, name string, place client.Place, f client.TestFilter) (
	*client.TestInPlace, string, error,
) {
	h, err := o.Client.Test(ctx, name, f)
	if failure, ok := errors.AsType[*client.Error](err); ok && failure.Problem.FailureCode == "test_not_found" {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	i := slices.IndexFunc(h.Places, func(p client.TestInPlace) bool { return p.Place == place })
	if i < 0 {
		return nil, h.Problem, nil
	}
	return &h.Places[i], h.Problem, nil
}

// number is what Postflight adds to tests of the same name, from the second one on.
var number = regexp.MustCompile(` \([1-9][0-9]*\)$`)

func withoutNumber(name string) (base string, numbered bool) {
	at := number.FindStringIndex(name)
	if at == nil || strings.TrimSpace(name[:at[0]]) == "" {
		return "", false
	}
	return name[:at[0]], true
}
