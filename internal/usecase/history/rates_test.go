package history_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	core "github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/test/tier"
)

// attempt is a run of a place, with the outcome of each test; "-" for one that was not in it.
type attempt struct {
	kind     string // "deployed", "rerun", "retry" or "failed"
	sha      string
	state    string
	earlier  int // the number, from 1, of the attempt that it repeats; 0: it is not known
	outcomes map[string]byte
}

// shelve writes the runs of a day, an hour apart for each place. An earlier version noted only whether a run repeated failed tests.
func (s *shelf) shelve(day time.Time, byPlace map[string][]attempt, earlierVersion bool) {
	var runs []core.Run
	var summaries []core.PlaceDay
	states := map[byte]string{'p': httpapi.TestPassed, 'f': httpapi.TestFailed, 'r': httpapi.TestFlaky, 's': httpapi.TestSkipped}
	for trigger, attempts := range byPlace {
		place := httpapi.Place{Namespace: "acme", Trigger: trigger, Environment: "staging"}
		var own []core.Run
		for i, a := range attempts {
			at := day.Add(time.Duration(i) * time.Hour)
			r := core.Run{
				ID: fmt.Sprintf("%s-%s-%d", trigger, at.Format("0102"), i), Place: place, CreatedAt: at.Format(time.RFC3339), State: a.state,
				Repository: "acme/shop", SHA: a.sha, Partial: a.kind == "failed", VerdictSeconds: 600,
				Later: a.kind != "deployed" && !earlierVersion,
			}
			if a.earlier > 0 && !earlierVersion {
				r.Earlier = runs[len(runs)-i+a.earlier-1].ID
			}
			if r.Listed = a.outcomes != nil; r.Listed {
				r.Tests = 3
				own = append(own, r)
			}
			runs = append(runs, r)
		}
		b, _ := core.NewPlaceBuilder(place, own)
		for _, a := range attempts {
			if a.outcomes == nil {
				continue
			}
			b.Begin(own[0].ID)
			own = own[1:]
			for name, outcome := range a.outcomes {
				if states[outcome] != "" {
					b.Add(httpapi.Test{Name: name, State: states[outcome], Milliseconds: 100, Message: "expected 200"})
				}
			}
		}
		p, content := b.Finish()
		s.tests[p.Object] = content
		summaries = append(summaries, p)
	}
	d := core.NewDay("acme", day.Format(time.DateOnly), runs, summaries)
	s.days["acme "+d.Day] = d
}

var testNames = []string{"cart", "login", "search"}

// someAttempts draws runs of a place. The first one of a day may repeat a run of the day before.
func someAttempts(random *rand.Rand, sha *int) (all []attempt) {
	states := []string{"Passed", "Failed", "TimedOut", "Error", "Inconclusive", "Canceled", "Superseded"}
	kinds := []string{"deployed", "deployed", "rerun", "retry", "failed", "failed"}
	var failing []string // tests that failed when they ran last
	for range 1 + random.IntN(9) {
		a := attempt{kind: kinds[random.IntN(len(kinds))], state: states[random.IntN(len(states))]}
		if a.kind != "deployed" {
			a.earlier = random.IntN(len(all) + 1)
		}
		if a.kind == "deployed" {
			*sha++
			failing = nil
		}
		a.sha = fmt.Sprintf("%040d", *sha)
		if random.IntN(5) > 0 { // it reports
			a.outcomes = map[string]byte{}
			names := testNames
			if a.kind == "failed" && random.IntN(6) > 0 { // the expression may select more
				names = failing
			}
			failing = nil
			for _, name := range names {
				a.outcomes[name] = "ppffffrs-"[random.IntN(9)]
				if a.outcomes[name] == 'f' {
					failing = append(failing, name)
				}
			}
		}
		all = append(all, a)
	}
	return all
}

// TestRates: whatever was rerun, by whatever version the days were written, no share is above 1, and the list of tests, the page of a test
// and the insights say the same of a test.
func TestRates(t *testing.T) {
	random := tier.Random(t)
	for range 30 {
		s, sha, deployed, runs := newShelf(), 0, 0, 0
		today := now.Truncate(24 * time.Hour)
		for day := 3; day >= 0; day-- {
			byPlace := map[string][]attempt{}
			for _, trigger := range []string{"e2e", "smoke"} {
				byPlace[trigger] = someAttempts(random, &sha)
				for _, a := range byPlace[trigger] {
					if runs++; a.kind == "deployed" {
						deployed++
					}
				}
			}
			s.shelve(today.AddDate(0, 0, -day), byPlace, random.IntN(2) == 0)
		}
		r, team := reader(s)
		list, err := r.List(t.Context(), team, history.Query{Limit: 20})
		sums, sumsErr := r.Insights(t.Context(), team, history.Query{})
		if err != nil || sumsErr != nil {
			t.Fatal(err, sumsErr)
		}
		checkSums(t, sums, deployed, runs)
		for _, stats := range list.Tests {
			if stats.Failed+stats.Flaky > stats.Runs || stats.Failed+stats.Flaky == 0 {
				t.Errorf("%s in %s: %s", stats.Name, stats.Trigger, figures(stats))
			}
			same := func(other httpapi.TestStats) bool { return other.Name == stats.Name && other.Place == stats.Place }
			i, page := slices.IndexFunc(sums.LeastReliable, same), ofPage(t, r, team, stats)
			if i < 0 || figures(sums.LeastReliable[i]) != figures(stats) || page != figures(stats) {
				t.Errorf("%s in %s: the list says %q, its page %q, insights %+v", stats.Name, stats.Trigger, figures(stats), page, sums.LeastReliable)
			}
		}
	}
}

// checkSums checks what insights say of runs.
func checkSums(t *testing.T, sums httpapi.Insights, deployed, runs int) {
	t.Helper()
	p := sums.Period
	if verdicts := p.Passed + p.Failed + p.TimedOut + p.Error; p.Runs != verdicts+p.NoVerdict || p.Runs < deployed || p.Runs > runs ||
		p.Verdict.Count > verdicts || p.Duration.Count > p.Runs || p.PassRate != nil && *p.PassRate > 1 || p.Repeated > p.Passed {
		t.Errorf("%d runs after %d deployments: %+v", runs, deployed, p)
	}
	daily := 0
	for _, d := range sums.Daily {
		daily += d.Passed + d.Failed + d.TimedOut + d.Error + d.NoVerdict
	}
	if daily != p.Runs {
		t.Errorf("the days have %d runs, their sum %d", daily, p.Runs)
	}
}

// figures are what a list says of a test.
func figures(s httpapi.TestStats) string {
	return fmt.Sprintf("failed in %d and repeated in %d of %d runs: %s", s.Failed, s.Flaky, s.Runs, s.Outcomes)
}

// ofPage are the figures on the page of a test.
func ofPage(t *testing.T, r *history.Reader, team *v1alpha1.Team, s httpapi.TestStats) string {
	t.Helper()
	h, err := r.Test(t.Context(), team, s.Name, history.Query{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(h.Places, func(p httpapi.TestInPlace) bool { return p.Place == s.Place })
	if i < 0 {
		return figures(s) // it is not in the place any more, so the page does not have it
	}
	in := h.Places[i]
	if in.Passed+in.Failed+in.Skipped > in.Runs || len(in.Last) != in.Passed+in.Failed+in.Skipped || (in.Failing != nil) != (s.FailsSince != nil) {
		t.Errorf("%s in %s: %+v", s.Name, s.Trigger, in)
	}
	s.Failed, s.Flaky, s.Runs = in.Failed, in.Flaky, in.Runs
	return figures(s)
}

// attemptsOf reads the runs of a place: D was deployed, A is the same commit deployed once more, N was deployed without a commit, R is a
// rerun, T a retry, F a rerun of failed tests; then how the only test ended, or how the run ended without it: E(rror), I(nconclusive),
// C(anceled); then the number of the attempt that it repeats, if that is known.
func attemptsOf(text string) (all []attempt) {
	kinds := map[byte]string{'D': "deployed", 'A': "deployed", 'N': "deployed", 'R': "rerun", 'T': "retry", 'F': "failed"}
	states := map[byte]string{'f': "Failed", 'E': "Error", 'I': "Inconclusive", 'C': "Canceled"}
	deployed, sha := 0, ""
	for word := range strings.FieldsSeq(text) {
		a := attempt{kind: kinds[word[0]], state: "Passed"}
		switch word[0] {
		case 'D':
			deployed++
			sha = fmt.Sprintf("%040d", deployed)
		case 'N':
			sha = ""
		}
		if a.sha = sha; len(word) > 2 {
			a.earlier = int(word[2] - '0')
		}
		if state := states[word[1]]; state != "" {
			a.state = state
		}
		if strings.ContainsAny(word[1:], "pfrs-") {
			a.outcomes = map[string]byte{"cart": word[1], "login": 'f'}
		}
		all = append(all, a)
	}
	return all
}

// TestReruns: a run and its reruns are one run. The last outcome counts, and a failure before it makes it one that passed when repeated.
func TestReruns(t *testing.T) {
	for name, tc := range map[string]struct {
		reason         string
		before, today  string
		earlierVersion bool
		want           string // failed, repeated, runs, outcomes; passed, repeated, failed, errors, without a verdict; waits
	}{
		"nothing is rerun":           {"", "Dp", "Df", false, "1 0 2 pf; 1 0 1 0 0; 2"},
		"failed tests fail again":    {"They are no more failures.", "", "Df Ff Ff Ff Ff Ff Ff Ff Ff", false, "1 0 1 f; 0 0 1 0 0; 1"},
		"of an earlier version":      {"The commit shows what was repeated.", "Dp", "Df Ff Ff", true, "1 0 2 pf; 1 0 1 0 0; 2"},
		"failed tests pass":          {"So does a test that its runner repeats.", "", "Df Ff Fp", false, "0 1 1 r; 1 1 0 0 0; 1"},
		"all tests fail again":       {"The team asked twice, and failed once.", "", "Df Rf Rf", false, "1 0 1 f; 0 0 1 0 0; 1"},
		"all tests pass":             {"", "", "Dp Df Rp", false, "0 1 2 pr; 2 1 0 0 0; 2"},
		"it passed, and then failed": {"The last outcome counts.", "", "Dp Rf", false, "1 0 1 f; 0 0 1 0 0; 1"},
		"an error is retried":        {"It waited for the error.", "", "DE Tp Df", false, "1 0 2 pf; 1 1 1 0 0; 2"},
		"the rerun is canceled":      {"It says nothing.", "", "Df RC", false, "1 0 1 f; 0 0 1 0 0; 1"},
		"it ends as Error":           {"It waited, too.", "", "Dp DE", false, "0 0 1 p; 1 0 0 1 0; 2"},
		"nothing has a verdict":      {"", "", "Df DC RI", false, "1 0 1 f; 0 0 1 0 1; 1"},
		"the rerun skips it":         {"That shows nothing.", "", "Df Rs", false, "1 0 1 f; 1 1 0 0 0; 1"},
		"the rerun does not have it": {"", "", "Df F-", false, "1 0 1 f; 1 1 0 0 0; 1"},
		"another commit is deployed": {"It is another run.", "", "Df Fp Df Ff", false, "1 1 2 rf; 1 1 1 0 0; 2"},
		"a commit is deployed twice": {"The first deployment is rerun.", "", "Df Ap Fp1", false, "0 1 2 rp; 2 1 0 0 0; 2"},
		"its retry, too":             {"", "", "DE Af Tp1", false, "1 0 2 fp; 1 1 1 0 0; 2"},
		"a retry without a commit":   {"It names its run.", "", "NE Np Tp1", false, "0 0 2 pp; 2 1 0 0 0; 2"},
		"a rerun without a commit":   {"Nothing shows what it repeats.", "", "Nf Np Rf", false, "2 0 3 fpf; 1 0 2 0 0; 2"},
		"a chain without a commit":   {"Each names the one before.", "", "NE Np TE1 Tf3", false, "1 0 2 pf; 1 0 1 0 0; 2"},
		"failed tests, one by one":   {"Each names the one before.", "", "Df Ff Fp2", false, "0 1 1 r; 1 1 0 0 0; 1"},
		"on the next day, failed":    {"Its run is of another day.", "Df", "Ff Dp", false, "1 0 2 fp; 1 0 1 0 0; 2"},
		"on the next day, all":       {"It ran all tests.", "Df", "Rp", false, "1 0 2 fp; 1 0 1 0 0; 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s, today := newShelf(), now.Truncate(24*time.Hour)
			for day, text := range []string{tc.today, tc.before} {
				if text != "" {
					s.shelve(today.AddDate(0, 0, -day), map[string][]attempt{"smoke": attemptsOf(text)}, tc.earlierVersion)
				}
			}
			r, team := reader(s)
			list, err := r.List(t.Context(), team, history.Query{Limit: 9, Search: "cart"})
			sums, sumsErr := r.Insights(t.Context(), team, history.Query{})
			if err != nil || sumsErr != nil || len(list.Tests) != 1 {
				t.Fatal(err, sumsErr, list.Tests)
			}
			c, p := list.Tests[0], sums.Period
			got := fmt.Sprintf("%d %d %d %s; %d %d %d %d %d; %d", c.Failed, c.Flaky, c.Runs, c.Outcomes,
				p.Passed, p.Repeated, p.Failed, p.Error, p.NoVerdict, p.Verdict.Count)
			if got != tc.want {
				t.Errorf("%s\n%s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
