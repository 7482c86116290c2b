package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

// ran is a run of a commit, with the outcome of the test.
type ran struct {
	sha     string
	outcome byte
	change  func(*history.Run)
}

func ended(state string) func(*history.Run) { return func(r *history.Run) { r.State = state } }
func partial(r *history.Run)                { r.Partial, r.Later, r.Earlier = true, true, "elsewhere" }
func service(name string) func(*history.Run) {
	return func(r *history.Run) { r.Service, r.Repository = name, "acme/shop" }
}

// commitsOf is the history of a test in a place, of days with runs.
func commitsOf(t *testing.T, days ...[]ran) httpapi.TestInPlace {
	t.Helper()
	b, n := history.NewTestBuilder(), 0
	for i := len(days) - 1; i >= 0; i-- {
		day := time.Date(2026, 11, 20+i, 0, 0, 0, 0, time.UTC)
		var runs []history.Run
		for j, r := range days[i] {
			n++
			run := runAt(smoke, fmt.Sprintf("smoke-%03d", n), day.Add(time.Duration(j)*time.Hour), "Passed")
			run.SHA = r.sha
			if r.change != nil {
				r.change(&run)
			}
			runs = append(runs, run)
		}
		builder, _ := history.NewPlaceBuilder(smoke, runs)
		for j, r := range days[i] {
			builder.Begin(runs[j].ID)
			if r.outcome != '-' {
				test := parse("x " + string(r.outcome))
				test.Name = "adds"
				builder.Add(test)
			}
		}
		summary, content := builder.Finish()
		index := history.NewDay("acme", day.Format(time.DateOnly), runs, []history.PlaceDay{summary}).Index()
		p := index.Place(smoke)
		test, found, err := p.FindTest(strings.NewReader(string(content)), "adds")
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			continue
		}
		b.AddCommits(smoke, index.CommitsOf(test, p))
		if seen := index.See(test, p); seen != nil {
			b.Add(*seen)
		}
	}
	h := b.History("adds", len(days), func(httpapi.Place) bool { return true })
	if len(h.Places) == 0 {
		return httpapi.TestInPlace{}
	}
	return h.Places[0]
}

func TestCommits(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		days   [][]ran
		want   [3]int // commits, failed, flaky
	}{
		"it passes":         {"nothing failed", [][]ran{{{"a", 'p', nil}, {"b", 'p', nil}}}, [3]int{2, 0, 0}},
		"another commit":    {"a commit may have broken it, and the next repaired it", [][]ran{{{"a", 'f', nil}, {"b", 'p', nil}}}, [3]int{2, 1, 0}},
		"same commit":       {"nothing else changed", [][]ran{{{"a", 'f', nil}, {"a", 'p', nil}}}, [3]int{1, 1, 1}},
		"the other way":     {"the order does not matter", [][]ran{{{"a", 'p', nil}, {"a", 'f', nil}}}, [3]int{1, 1, 1}},
		"on two days":       {"midnight changes nothing", [][]ran{{{"a", 'f', nil}}, {{"a", 'p', nil}}}, [3]int{1, 1, 1}},
		"five times":        {"a commit counts once", [][]ran{{{"a", 'f', nil}, {"a", 'p', nil}, {"a", 'f', nil}}, {{"a", 'p', nil}, {"a", 'f', nil}}}, [3]int{1, 1, 1}},
		"its runner":        {"it failed and passed in one run, which did not fail", [][]ran{{{"a", 'r', nil}}}, [3]int{1, 0, 1}},
		"always":            {"it is broken", [][]ran{{{"a", 'f', nil}, {"a", 'f', nil}, {"b", 'f', nil}}}, [3]int{2, 2, 0}},
		"skipped":           {"that is neither passed nor failed", [][]ran{{{"a", 'f', nil}, {"a", 's', nil}, {"b", 's', nil}}}, [3]int{1, 1, 0}},
		"rerun of failed":   {"it tests the same commit", [][]ran{{{"a", 'f', nil}, {"a", 'p', partial}}}, [3]int{1, 1, 1}},
		"rerun after a day": {"its run is of another day", [][]ran{{{"a", 'f', nil}}, {{"a", 'p', partial}, {"b", 'p', nil}}}, [3]int{2, 1, 1}},
		"another service":   {"another part of the repository was deployed", [][]ran{{{"a", 'f', service("cart")}, {"a", 'p', service("login")}}}, [3]int{2, 1, 0}},
		"inconclusive":      {"something was deployed meanwhile", [][]ran{{{"a", 'f', ended("Inconclusive")}, {"a", 'p', nil}}}, [3]int{1, 0, 0}},
		"timed out":         {"what it needs may have been down", [][]ran{{{"a", 'f', ended("TimedOut")}, {"a", 'p', ended("Failed")}}}, [3]int{1, 0, 0}},
		"no commit":         {"nobody knows what was tested", [][]ran{{{"", 'f', nil}, {"", 'p', nil}}}, [3]int{0, 0, 0}},
		"not in the run":    {"nothing is known", [][]ran{{{"a", 'f', nil}, {"a", '-', nil}}}, [3]int{1, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			p := commitsOf(t, tc.days...)
			if diff := cmp.Diff(tc.want, [3]int{p.Commits, p.FailedCommits, p.FlakyCommits}); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}
