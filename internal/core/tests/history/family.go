package history

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// seed is of this process: hashes of commits are never stored.
var seed = maphash.MakeSeed()

// commitKey is equal for runs of a commit in a place, and 0 for a run without a commit: nothing shows what else tested the same.
func (r *Run) commitKey() uint64 {
	if r.SHA == "" {
		return 0
	}
	return maphash.Comparable(seed, commit.New(r.Repository, r.Service, r.SHA)) + 31*maphash.Comparable(seed, r.Place)
}

// SetFamilies finds what reruns, retries and repetitions are a part of, among the runs of a day or of a page: a run and its later attempts
// are a family, and count as one run. The oldest run comes first.
func SetFamilies(runs []Run) {
	commits := make([]uint64, len(runs))
	for i := range runs {
		commits[i] = runs[i].commitKey()
	}
	setFamilies(runs, commits, byID(runs))
}

// setFamilies sets the family of each run: the number, from 1, of the run that began it. A later attempt belongs to the run that it names,
// or else to the last one of its commit. The family is 0 for a run that repeated only failed tests of a run that is not among these: it
// says nothing about the other tests, and does not count.
func setFamilies(runs []Run, commits []uint64, known map[string]*Run) {
	newest := map[uint64]int32{} // only of commits that an attempt looks for: one of each run would need much memory
	for i := range runs {
		runs[i].Family = 0
		if runs[i].later() && commits[i] != 0 {
			newest[commits[i]] = 0
		}
	}
	for i := range runs {
		r := &runs[i]
		if r.later() {
			if earlier := known[r.Earlier]; earlier != nil && earlier.Place == r.Place {
				r.Family = earlier.Family
			}
			r.Family = cmp.Or(r.Family, newest[commits[i]])
		}
		if r.Family == 0 && !r.Partial {
			r.Family = int32(i) + 1
		}
		if _, sought := newest[commits[i]]; sought && r.Family > 0 {
			newest[commits[i]] = r.Family
		}
	}
}

// later reports whether a run is another attempt. Days of earlier versions know only those that repeated failed tests.
func (r *Run) later() bool { return r.Later || r.Partial }

// automatic reports whether a retry or a repetition was made without a person, who would have asked for a rerun.
func (r *Run) automatic() bool { return r.Earlier != "" && !r.Partial }

// counted is a family: the run that began it, and the one whose end counts.
type counted struct {
	first, last *Run
	waited      float64  // seconds that its attempts took up to the first rerun
	verdict     *float64 // seconds from the deployment to the last verdict of these attempts; nil: there is none
	rerun       bool     // a person asked for an attempt, perhaps long after the deployment
}

func (c *counted) add(r *Run) {
	judged := state.Of(r.State).Figure != nil
	if c.first == nil {
		c.first, c.last, c.rerun = r, r, r.later() // it is not known when that was deployed
	} else if judged {
		c.last = r
	}
	if c.rerun = c.rerun || r.later() && !r.automatic(); c.rerun {
		return
	}
	c.waited += r.VerdictSeconds // an attempt is created at the end of the one before
	if judged {
		c.verdict = new(c.waited)
	}
}

// counted calls add for each family of the day, the oldest first. Its newest run with a verdict decides, or else the first one.
func (d *IndexedDay) counted(s Selection, add func(counted)) {
	continued := map[int32]*counted{}
	for i := range d.Runs {
		r := &d.Runs[i]
		if r.Family == 0 || d.begins(i) {
			continue
		}
		if continued[r.Family] == nil {
			c := &counted{}
			c.add(&d.Runs[r.Family-1])
			continued[r.Family] = c
		}
		continued[r.Family].add(r)
	}
	for i := range d.Runs {
		if r := &d.Runs[i]; d.begins(i) && s.Has(r.Place) {
			c := counted{}
			c.add(r)
			add(*cmp.Or(continued[r.Family], &c))
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
	alone := func(id string) bool { r := d.byID[id]; return r != nil && !r.later() }
	if !slices.ContainsFunc(p.Runs, func(id string) bool { return !alone(id) }) {
		return columns{ids: p.Runs}
	}
	c := columns{at: make([]int32, len(p.Runs))}
	columnOf := make([]int32, len(d.Runs)+1) // by family, from 1; 0: none
	for i, id := range p.Runs {
		c.at[i] = -1
		r := d.byID[id]
		if r == nil || r.Family == 0 {
			continue
		}
		if !alone(id) {
			c.at[i] = columnOf[r.Family] - 1
		}
		if c.at[i] < 0 && !r.Partial {
			c.at[i] = int32(len(c.ids))
			c.ids = append(c.ids, id)
			columnOf[r.Family] = int32(len(c.ids))
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
	slices.Sort(all) // attempts at one run need not follow each other
	return slices.Compact(all)
}
