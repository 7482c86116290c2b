package history

import (
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// failingRow is the row of failures up to the last run, among runs of its service: a deployment of another one broke nothing in it.
type failingRow struct {
	httpapi.FailingSince
	begun    bool
	service  string // of the last run
	firstURL string // of the commit
	over     bool
}

// add takes a day, the newest first.
func (f *failingRow) add(d SeenDay, all []outcome) {
	first := -1
	for i, o := range slices.Backward(all) {
		if f.over || o.state == httpapi.TestSkipped || !f.isOf(d.service(o)) {
			continue
		}
		turn, turned := d.turns[o.run]
		if o.state == httpapi.TestFailed && !turned {
			f.Runs++
			first = i
			continue
		}
		if f.over = true; turned {
			f.begin(d, all, first)
			f.endWith(d, o, turn)
			return
		}
		if f.Runs > 0 {
			f.Before = new(d.run(o))
		}
	}
	f.begin(d, all, first)
}

func (f *failingRow) isOf(service string) bool {
	if !f.begun {
		f.begun, f.service = true, service
	}
	return f.service == service
}

func (d SeenDay) service(o outcome) string { return d.day.byID[d.runs[o.run]].Service }

func (f *failingRow) begin(d SeenDay, all []outcome, first int) {
	if first >= 0 {
		f.First, f.firstURL = d.run(all[first]), d.day.byID[d.runs[all[first].run]].CommitURL
	}
}

// endWith ends the row with a run in which the test passed, although it failed in a rerun: what broke it came between the two, so that the
// commit of the run is not to blame. The rerun begins the row if it was before the other failures.
func (f *failingRow) endWith(d SeenDay, o outcome, t turn) {
	again := d.attempt(t.failed, o)
	if f.Runs == 0 || again.CreatedAt.Before(f.First.CreatedAt) {
		f.Runs++
		f.First, f.firstURL = again, d.day.byID[t.failed].CommitURL
	}
	f.Before = new(d.attempt(t.passed, outcome{run: o.run, state: httpapi.TestPassed}))
}

// since returns nil if the last run did not fail.
func (f *failingRow) since() *httpapi.FailingSince {
	if f.Runs == 0 {
		return nil
	}
	all := f.FailingSince
	if all.Before != nil {
		all.CompareURL = commit.CompareURL(f.firstURL, commitOf(*all.Before), commitOf(all.First))
	}
	return &all
}

// turn is a test that passed in an attempt at a run, and failed in the next ones. It has the ids of the last that passed and of the first
// that failed after it.
type turn struct{ passed, failed string }

// turns returns the turns of the test by column. Attempts that tests did not decide are left out: what they tested may have changed.
func (d *IndexedDay) turns(t TestDay, p *PlaceDay, c columns) map[int]turn {
	if c.at == nil { // each run counts on its own
		return nil
	}
	all := map[int]turn{}
	for i, letter := range []byte(t.Outcomes) {
		at := c.index(i)
		if at < 0 {
			continue
		}
		seen := all[at]
		switch {
		case letter == OutcomePassed && state.Of(d.byID[p.Runs[i]].State).TestsDecided:
			seen = turn{passed: p.Runs[i]}
		case letter == OutcomeFailed && seen.passed != "" && seen.failed == "":
			seen.failed = p.Runs[i]
		default:
			continue
		}
		all[at] = seen
	}
	for at, seen := range all {
		if seen.failed == "" {
			delete(all, at)
		}
	}
	return all
}

func commitOf(r httpapi.TestRun) commit.Commit {
	return commit.New(r.Repository, "", r.SHA)
}
