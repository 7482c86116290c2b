package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// Seen are the days of a test in one place, the oldest first, with the runs of these days by id.
type Seen struct {
	Place httpapi.Place
	Days  []SeenDay
}

// SeenDay is a test on a day in a place, with its outcomes in these runs.
type SeenDay struct {
	Test TestDay
	In   *PlaceDay
	Runs map[string]Run
}

// RunsByID of the day.
func (d *Day) RunsByID() map[string]Run {
	all := make(map[string]Run, len(d.Runs))
	for _, r := range d.Runs {
		all[r.ID] = r
	}
	return all
}

// TestOf returns the history of a test, the places in which it fails first.
func TestOf(name string, days int, seen []Seen) httpapi.TestHistory {
	h := httpapi.TestHistory{Name: name, Days: days, Places: []httpapi.TestInPlace{}}
	newest := time.Time{}
	for _, s := range seen {
		in := placeOf(s)
		if len(in.Last) == 0 {
			continue
		}
		h.Places = append(h.Places, in)
		if last := s.Days[len(s.Days)-1].Test; in.Last[0].CreatedAt.After(newest) {
			newest, h.Suite, h.File, h.Line = in.Last[0].CreatedAt, last.Suite, last.File, last.Line
		}
	}
	slices.SortStableFunc(h.Places, func(a, b httpapi.TestInPlace) int {
		return cmp.Or(failingFirst(a)-failingFirst(b), b.Failed*max(a.Runs, 1)-a.Failed*max(b.Runs, 1), ComparePlaces(a.Place, b.Place))
	})
	return h
}

func failingFirst(t httpapi.TestInPlace) int {
	if t.Failing != nil {
		return 0
	}
	return 1
}

func placeOf(s Seen) httpapi.TestInPlace {
	in := httpapi.TestInPlace{Place: s.Place, Last: []httpapi.TestRun{}}
	runs := runsOf(s)
	var took []int64
	previous := ""
	for _, r := range runs {
		switch r.State {
		case httpapi.TestSkipped:
			in.Skipped++
			continue
		case httpapi.TestFailed:
			in.Failed++
		case httpapi.TestFlaky:
			in.Flaky++
			in.Passed++
		default:
			in.Passed++
		}
		in.Runs++
		took = append(took, r.Milliseconds)
		now := verdict(r.State)
		if previous != "" && now != previous {
			in.Flips++
		}
		previous = now
	}
	in.MedianMilliseconds = median(took)
	in.Failing = failingSince(runs, s)
	in.Failures = sayings(s)
	slices.Reverse(runs)
	in.Last = append(in.Last, runs[:min(len(runs), maxLast)]...)
	return in
}

// verdict takes a flaky test for one that passed.
func verdict(state string) string {
	if state == httpapi.TestFailed {
		return state
	}
	return httpapi.TestPassed
}

// runsOf returns the runs that the test was in, the oldest first.
func runsOf(s Seen) (all []httpapi.TestRun) {
	for _, d := range s.Days {
		took := d.Test.Milliseconds
		for i, outcome := range []byte(d.Test.Outcomes[:min(len(d.Test.Outcomes), len(d.In.Runs))]) {
			state := stateOf(outcome)
			if state == "" {
				continue
			}
			r := testRun(d.Runs[d.In.Runs[i]], state)
			if state != httpapi.TestSkipped && len(took) > 0 {
				r.Milliseconds, took = took[0], took[1:]
			}
			for _, f := range d.Test.Failures {
				if slices.Contains(f.Runs, i) {
					r.Message = f.Message
				}
			}
			all = append(all, r)
		}
	}
	return all
}

func stateOf(outcome byte) string {
	for state, of := range outcomes {
		if of == outcome {
			return state
		}
	}
	return ""
}

func testRun(r Run, state string) httpapi.TestRun {
	at, _ := r.Created()
	return httpapi.TestRun{ID: r.ID, Place: r.Place, Repository: r.Repository, SHA: r.SHA, Branch: r.Branch, CreatedAt: at, State: state}
}

// failingSince returns the row of failures up to the last run, or nil.
func failingSince(runs []httpapi.TestRun, s Seen) *httpapi.FailingSince {
	var f httpapi.FailingSince
	for _, r := range slices.Backward(runs) {
		if r.State == httpapi.TestSkipped {
			continue
		}
		if r.State != httpapi.TestFailed {
			f.Before = &r
			break
		}
		f.First = r
		f.Runs++
	}
	if f.Runs == 0 {
		return nil
	}
	if f.Before != nil {
		f.CompareURL = compareURL(s, *f.Before, f.First)
	}
	return &f
}

// compareURL is made from the URL of a commit, as GitHub and GitLab have them.
func compareURL(s Seen, before, first httpapi.TestRun) string {
	was, is := commitOf(before), commitOf(first)
	if was.Revision == "" || is.Revision == "" || was.Same(is) || !commit.SameRepository(was.Repository, is.Repository) {
		return ""
	}
	for _, d := range s.Days {
		r, found := d.Runs[first.ID]
		if base, isCommit := strings.CutSuffix(r.CommitURL, "/commit/"+first.SHA); found && isCommit {
			return base + "/compare/" + before.SHA + "..." + first.SHA
		}
	}
	return ""
}

func commitOf(r httpapi.TestRun) commit.Commit {
	return commit.Commit{Repository: r.Repository, Revision: r.SHA}
}

// sayings are what the test said, the most recent first.
func sayings(s Seen) []httpapi.FailureText {
	byMessage := map[string]*httpapi.FailureText{}
	for _, d := range s.Days {
		for _, f := range d.Test.Failures {
			said(byMessage, f, d)
		}
	}
	all := make([]httpapi.FailureText, 0, len(byMessage))
	for _, f := range byMessage {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b httpapi.FailureText) int {
		return cmp.Or(b.LastAt.Compare(a.LastAt), strings.Compare(a.Message, b.Message))
	})
	return all[:min(len(all), maxSayings)]
}

func said(byMessage map[string]*httpapi.FailureText, f Failure, d SeenDay) {
	for _, i := range f.Runs {
		r := d.Runs[d.In.Runs[i]]
		at, _ := r.Created()
		known := byMessage[f.Message]
		if known == nil {
			known = &httpapi.FailureText{Message: f.Message, FirstAt: at}
			byMessage[f.Message] = known
		}
		known.Times++
		known.LastAt, known.LastRun, known.Text = at, r.ID, cmp.Or(f.Text, known.Text)
	}
}

// Describe adds the last outcomes to the figures of a test, and since when it fails, if that is among the days that were read or these are all.
func Describe(stats *httpapi.TestStats, s Seen, all bool) {
	var outcomes []byte
	for _, d := range s.Days {
		outcomes = append(outcomes, d.Test.Outcomes...)
		stats.File = cmp.Or(d.Test.File, stats.File)
	}
	stats.Outcomes = string(outcomes[max(0, len(outcomes)-StripRuns):])
	runs := runsOf(s)
	var took []int64
	for _, r := range runs {
		if r.State != httpapi.TestSkipped {
			took = append(took, r.Milliseconds)
		}
	}
	stats.MedianMilliseconds = median(took)
	if f := failingSince(runs, s); f != nil && (f.Before != nil || all) {
		stats.FailsSince = &f.First.CreatedAt
	}
}
