package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

// TestFailingSinceOfServices: runs of another service neither begin a row nor end it.
func TestFailingSinceOfServices(t *testing.T) {
	var runs []history.Run
	place := &history.PlaceDay{Place: smoke}
	for i, of := range []string{"cart", "cart", "prices", "cart"} {
		r := runAt(smoke, fmt.Sprintf("%s%d", of, i), tuesday.Add(time.Duration(i)*time.Hour), map[byte]string{'p': "Passed", 'f': "Failed"}["pfpf"[i]])
		r.Service, r.SHA = of, strings.Repeat(string("abcd"[i]), 40)
		runs, place.Runs = append(runs, r), append(place.Runs, r.ID)
	}
	b, d := history.NewTestBuilder(), history.NewDay("acme", "2026-11-24", runs, nil)
	b.Add(*d.Index().See(history.TestDay{Outcomes: "pfpf", Milliseconds: make([]int64, len(runs))}, place))
	f := b.History("cart", 1, func(httpapi.Place) bool { return true }).Places[0].Failing
	if f == nil || f.First.ID != "cart1" || f.First.Service != "cart" || f.Before.ID != "cart0" || f.Runs != 2 {
		t.Errorf("%+v", f)
	}
}

// TestFailingSinceWithReruns: a rerun that fails does not blame the commit of its run, which had passed.
func TestFailingSinceWithReruns(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		commits  string // of the attempts, an hour apart; a later one of a commit is a rerun
		outcomes string
		ends     string // P, F or I, an Inconclusive run; empty: as the outcomes
		want     string
	}{
		"the run of another service is repeated after the bad deployment": {
			"b is the first deployment with which it failed", "aba", "pff", "", "b1 after a0, 1 in a row"},
		"others follow": {
			"reruns between the runs change nothing", "abacd", "pffff", "", "b1 after a0, 3 in a row"},
		"the bad deployment was superseded": {
			"the rerun is the first run that failed", "aac", "pff", "", "a1 after a0, 2 in a row"},
		"only the rerun failed": {
			"what broke it is no deployment with a run", "aa", "pf", "", "a1 after a0, 1 in a row"},
		"the second rerun failed": {
			"it passed last in the first rerun", "aaa", "ppf", "", "a2 after a1, 1 in a row"},
		"it passed in the last rerun": {
			"the row is over", "aba", "pfp", "", "b1 after a0, 1 in a row"},
		"a rerun that fails again": {
			"both attempts of b failed", "abb", "pff", "", "b1 after a0, 1 in a row"},
		"the bad run was repeated, and passed by luck": {
			"it is flaky there", "abbc", "pfpf", "", "c3 after b1, 1 in a row"},
		"an earlier attempt was Inconclusive": {
			"what it tested changed, so its pass shows nothing", "abb", "ppf", "PIF", "b1 after a0, 1 in a row"},
		"it was left out in the rerun": {
			"a test that did not run shows nothing", "aba", "pfs", "", "b1 after a0, 1 in a row"},
	} {
		t.Run(name, func(t *testing.T) {
			var runs []history.Run
			place := &history.PlaceDay{Place: smoke}
			for i, sha := range tc.commits {
				end := tc.ends
				if end == "" {
					end = strings.ToUpper(tc.outcomes)
				}
				r := runAt(smoke, fmt.Sprintf("%c%d", sha, i), tuesday.Add(time.Duration(i)*time.Hour),
					map[byte]string{'P': "Passed", 'F': "Failed", 'S': "Passed", 'I': "Inconclusive"}[end[i]])
				r.SHA, r.Later = strings.Repeat(string(sha), 40), strings.IndexRune(tc.commits, sha) < i
				runs, place.Runs = append(runs, r), append(place.Runs, r.ID)
			}
			b, d := history.NewTestBuilder(), history.NewDay("acme", "2026-11-24", runs, nil)
			b.Add(*d.Index().See(history.TestDay{Outcomes: tc.outcomes, Milliseconds: make([]int64, len(runs))}, place))
			got := "it does not fail"
			if f := b.History("cart", 1, func(httpapi.Place) bool { return true }).Places[0].Failing; f != nil {
				got = fmt.Sprintf("%s after %s, %d in a row", f.First.ID, f.Before.ID, f.Runs)
				if f.First.State != httpapi.TestFailed || f.Before.State == httpapi.TestFailed {
					t.Errorf("it says that it was %s first, and %s before", f.First.State, f.Before.State)
				}
			}
			if got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
