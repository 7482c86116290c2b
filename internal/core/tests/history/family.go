package history

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Families finds what reruns, retries and repetitions are a part of, among the runs of a day or of a page: a run and its later attempts
// are a family, and count as one run. Attempts at a commit in a place follow each other, so the commit shows what is repeated.
type Families struct {
	seed     maphash.Seed
	commits  []uint64 // with their places, by run; a map would need thrice the memory
	families []int32  // by run
}

// NewFamilies returns families without a run.
func NewFamilies() *Families { return &Families{seed: maphash.MakeSeed()} }

// Add returns the family of the next run: the number, from 1, of the run that began it. The oldest run comes first. The family is 0 for a
// run that repeated only failed tests of a run that is not among these: it says nothing about the other tests, and does not count.
func (f *Families) Add(r *Run) int32 {
	place := maphash.Comparable(f.seed, r.Place)
	c := maphash.Comparable(f.seed, commit.New(r.Repository, r.Service, r.SHA)) + 31*place
	family := int32(len(f.families)) + 1
	if r.Repeats || r.Partial {
		family = f.before(c, r)
	}
	f.commits, f.families = append(f.commits, c), append(f.families, family)
	return family
}

// before returns the family of the last run of the same commit, or else a new one.
func (f *Families) before(commit uint64, r *Run) int32 {
	for i, other := range slices.Backward(f.commits) {
		if other == commit && f.families[i] > 0 {
			return f.families[i]
		}
	}
	if r.Partial {
		return 0
	}
	return int32(len(f.families)) + 1
}

// counted is a family: the run that began it, and the one whose end counts.
type counted struct{ first, last *Run }

// counted calls add for each family of the day, the oldest first. Its newest run with a verdict decides, or else the first one.
func (d *IndexedDay) counted(s Selection, add func(counted)) {
	decided := map[int32]*Run{}
	for i := range d.Runs {
		if r := &d.Runs[i]; !d.begins(i) && state.Of(r.State).Figure != nil {
			decided[r.Family] = r
		}
	}
	for i := range d.Runs {
		if r := &d.Runs[i]; d.begins(i) && s.Has(r.Place) {
			add(counted{r, cmp.Or(decided[r.Family], r)})
		}
	}
}

// begins reports whether a run began its family.
func (d *IndexedDay) begins(run int) bool { return d.Runs[run].Family == int32(run)+1 }

// columns are the runs of a place that count.
type columns struct {
	ids []string
	// at has an index of ids for each run of the place, or -1 if the run does not count. It is nil if each run counts on its own, as on most
	// days.
	at []int32
}

// columns leaves out runs that the day does not have. A family without a run of all tests has no column.
func (d *IndexedDay) columns(p *PlaceDay) columns {
	alone := func(id string) bool { r := d.byID[id]; return r != nil && !r.Repeats && !r.Partial }
	if !slices.ContainsFunc(p.Runs, func(id string) bool { return !alone(id) }) {
		return columns{ids: p.Runs}
	}
	c := columns{at: make([]int32, len(p.Runs))}
	var families []int32
	for i, id := range p.Runs {
		c.at[i] = -1
		r := d.byID[id]
		if r == nil || r.Family == 0 {
			continue
		}
		if !alone(id) {
			c.at[i] = int32(slices.Index(families, r.Family))
		}
		if c.at[i] < 0 && !r.Partial {
			c.at[i] = int32(len(c.ids))
			c.ids, families = append(c.ids, id), append(families, r.Family)
		}
	}
	return c
}

// index returns where a run of the place counts, or -1.
func (c columns) index(run int) int {
	switch {
	case c.at == nil && run >= 0 && run < len(c.ids):
		return run
	case run >= 0 && run < len(c.at):
		return int(c.at[run])
	default:
		return -1
	}
}

// CountedRuns returns how many runs of a place count: those that ran all tests and reported them, each once with its reruns.
func (d *IndexedDay) CountedRuns(p *PlaceDay) int { return len(d.columns(p).ids) }

// outcomes are those of the runs that count.
func (c columns) outcomes(letters string) []byte {
	all := bytes.Repeat([]byte{OutcomeNone}, len(c.ids))
	for i, letter := range []byte(letters) {
		if at := c.index(i); at >= 0 {
			all[at] = laterOutcome(all[at], letter)
		}
	}
	return all
}

// laterOutcome is the outcome of a test after another attempt. As with the attempts of a test runner, a pass after a failure is a pass when
// repeated, and a test that was left out shows nothing.
func laterOutcome(before, later byte) byte {
	failed := before == OutcomeFailed || before == OutcomeFlaky
	switch {
	case before == OutcomeNone, later == OutcomeFailed, later == OutcomeFlaky:
		return later
	case later == OutcomePassed && failed:
		return OutcomeFlaky
	case later == OutcomePassed:
		return later
	default:
		return before
	}
}

// counted returns the test with its outcomes in the runs that count, and whether there are any.
func (t TestDay) counted(c columns) (all TestDay, any bool) {
	marks := c.outcomes(t.Outcomes)
	any = bytes.ContainsFunc(marks, func(letter rune) bool { return letter != OutcomeNone })
	all = t
	all.Outcomes, all.Milliseconds, all.Failures = string(marks), nil, nil
	took, left := make([]int64, len(marks)), t.Milliseconds
	for i, letter := range []byte(t.Outcomes) {
		if !measured(letter) || len(left) == 0 {
			continue
		}
		if at := c.index(i); at >= 0 {
			took[at] = left[0] // of the last attempt, as its outcome
		}
		left = left[1:]
	}
	for at, letter := range marks {
		if measured(letter) {
			all.Milliseconds = append(all.Milliseconds, took[at])
		}
	}
	for _, f := range t.Failures {
		if f.Runs = c.runs(f.Runs); len(f.Runs) > 0 {
			all.Failures = append(all.Failures, f)
		}
	}
	return all, any
}

func measured(outcome byte) bool { return outcome != OutcomeNone && outcome != OutcomeSkipped }

// runs returns the indexes of the runs that count, each once.
func (c columns) runs(indexes []int) (all []int) {
	for _, i := range indexes {
		if at := c.index(i); at >= 0 {
			all = append(all, at)
		}
	}
	return slices.Compact(all)
}
