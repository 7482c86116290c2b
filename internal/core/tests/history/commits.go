package history

import (
	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// onCommit is what a test did on a commit, in all runs together.
type onCommit uint8

const (
	passedOn onCommit = 1 << iota
	failedOn
	retriedOn // its runner repeated it, and it passed: it failed and passed in one run
)

func (c onCommit) flaky() bool {
	return c&retriedOn != 0 || c&(passedOn|failedOn) == passedOn|failedOn
}

// Commits are what a test did on each commit in a place. A commit is the same only in the same Trigger, Environment and service, and counts
// once, however often it was deployed, rerun or tested by a schedule.
type Commits map[uint64]onCommit // by commitKey

// CommitsOf returns what a test did on the commits of a day in a place. Unlike See, it looks at each run by itself, also at reruns of
// failed tests. Only runs whose tests decided count: in others, such as an Inconclusive one, a test can fail because of
// what happened meanwhile.
func (d *IndexedDay) CommitsOf(t TestDay, p *PlaceDay) Commits {
	all := Commits{}
	for i, outcome := range []byte(t.Outcomes[:min(len(t.Outcomes), len(p.Runs))]) {
		r := d.byID[p.Runs[i]]
		if r == nil || !state.Of(r.State).TestsDecided {
			continue
		}
		key := r.commitKey()
		if key == 0 {
			continue
		}
		switch outcome {
		case OutcomePassed:
			all[key] |= passedOn
		case OutcomeFailed:
			all[key] |= failedOn
		case OutcomeFlaky:
			all[key] |= retriedOn
		}
	}
	return all
}

// add returns how many bytes are kept of the other commits. If the history is full, it adds only to commits that it knows.
func (c Commits) add(other Commits, full bool) (bytes int, cut bool) {
	for key, did := range other {
		known, found := c[key]
		if !found && full {
			cut = true
			continue
		}
		if !found {
			bytes += commitCost
		}
		c[key] = known | did
	}
	return bytes, cut
}

// count sets the figures of a test in a place.
func (c Commits) count(t *httpapi.TestInPlace) {
	for _, did := range c {
		t.Commits++
		if did&failedOn != 0 {
			t.FailedCommits++
		}
		if did.flaky() {
			t.FlakyCommits++
		}
	}
}

// AddCommits takes what the test did on the commits of a day in a place.
func (b *TestBuilder) AddCommits(place httpapi.Place, c Commits) {
	if len(c) == 0 {
		return
	}
	if b.commits[place] == nil {
		b.commits[place] = Commits{}
	}
	bytes, cut := b.commits[place].add(c, b.bytes > maxSeen)
	b.bytes += bytes
	b.Cut = b.Cut || cut
}
