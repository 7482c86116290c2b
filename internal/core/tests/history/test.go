package history

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// SeenDay is a test on a day in a place, with its outcomes in the runs that count.
type SeenDay struct {
	test  TestDay
	place httpapi.Place
	runs  []string // ids
	turns map[int]turn
	day   *IndexedDay
}

// See returns nil for a test that is in no run that counts.
func (d *IndexedDay) See(t TestDay, p *PlaceDay) *SeenDay {
	c := d.columns(p)
	all, any := t.counted(c)
	if !any {
		return nil
	}
	return &SeenDay{all, p.Place, c.ids, d.turns(t, p, c), d}
}

// TestBuilder makes the history of a test. It keeps only the runs that it shows.
type TestBuilder struct {
	Cut bool // there were more places, runs or messages than an answer holds

	places  map[httpapi.Place]*testPlace
	runs    map[httpapi.Place]int // with tests
	commits map[httpapi.Place]Commits
	bytes   int
}

// NewTestBuilder returns an empty history.
func NewTestBuilder() *TestBuilder {
	return &TestBuilder{
		places: map[httpapi.Place]*testPlace{}, runs: map[httpapi.Place]int{}, commits: map[httpapi.Place]Commits{},
	}
}

// AddRuns counts runs of a place, whether or not these have the test.
func (b *TestBuilder) AddRuns(place httpapi.Place, n int) { b.runs[place] += n }

// Add takes a day in a place, the newest first.
func (b *TestBuilder) Add(d SeenDay) {
	all := d.outcomes()
	if len(all) == 0 {
		return
	}
	place, full := b.places[d.place], b.bytes > maxSeen
	b.Cut = b.Cut || full
	if place == nil {
		if full {
			return
		}
		place = &testPlace{newest: TestDay{Suite: d.test.Suite, File: d.test.File, Line: d.test.Line}}
		place.TestInPlace = httpapi.TestInPlace{Place: d.place, Last: []httpapi.TestRun{}}
		b.places[d.place] = place
		b.bytes += seenCost
	}
	b.bytes += place.add(d, all, full)
}

// History returns the history in these places, those in which the test fails first.
func (b *TestBuilder) History(name string, days int, selected func(httpapi.Place) bool) httpapi.TestHistory {
	h := httpapi.TestHistory{Name: name, Days: days, Places: []httpapi.TestInPlace{}}
	var newest httpapi.TestRun
	for _, place := range slices.SortedFunc(maps.Keys(b.places), ComparePlaces) {
		if !selected(place) {
			continue
		}
		p := b.places[place]
		p.Runs = b.runs[place]
		b.commits[place].count(&p.TestInPlace)
		if p.Last[0].CreatedAt.After(newest.CreatedAt) {
			newest, h.Suite, h.File, h.Line = p.Last[0], p.newest.Suite, p.newest.File, p.newest.Line
		}
		h.Places = append(h.Places, p.history())
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

// testPlace is what is known of a test in a place after some days, the newest first.
type testPlace struct {
	httpapi.TestInPlace
	newest  TestDay
	took    spread
	later   string // verdict of the next run that did not skip the test
	failing failingRow
}

// add returns how many bytes are kept of the day. If the history is full, the day only counts.
func (p *testPlace) add(d SeenDay, all []outcome, full bool) (bytes int) {
	values := len(p.took.counts)
	for _, o := range slices.Backward(all) {
		if len(p.Last) < maxLast && !full {
			r := d.run(o)
			p.Last = append(p.Last, r)
			bytes += seenCost/4 + len(r.Branch) + len(r.Message)
		}
		p.count(o, full)
	}
	p.failing.add(d, all)
	bytes += max(0, len(p.took.counts)-values) * valueCost
	return bytes + p.say(d, full)
}

func (p *testPlace) count(o outcome, full bool) {
	switch o.state {
	case httpapi.TestSkipped:
		p.Skipped++
		return
	case httpapi.TestFailed:
		p.Failed++
	case httpapi.TestFlaky:
		p.Flaky++
		p.Passed++
	default:
		p.Passed++
	}
	most := maxSpread
	if full {
		most = maxSpreadIfFull
	}
	p.took.addWithin(float64(o.milliseconds), most)
	now := verdict(o.state)
	if p.later != "" && now != p.later {
		p.Flips++
	}
	p.later = now
}

// say counts what the test said. Only messages of the most recent five days are among these.
func (p *testPlace) say(d SeenDay, full bool) (bytes int) {
	full = full || len(p.Failures) >= maxSayings
	for _, f := range d.test.Failures {
		at := slices.IndexFunc(p.Failures, func(known httpapi.FailureText) bool { return known.Message == f.Message })
		if at < 0 && full || len(f.Runs) == 0 {
			continue
		}
		if at < 0 {
			last := d.day.byID[d.runs[f.Runs[len(f.Runs)-1]]]
			at = len(p.Failures)
			p.Failures = append(p.Failures, httpapi.FailureText{Message: f.Message, LastRun: last.ID, LastAt: d.day.created(last.ID)})
			bytes += len(f.Message) + len(f.Text)
		}
		known := &p.Failures[at]
		known.Times += len(f.Runs)
		known.FirstAt = d.day.created(d.runs[f.Runs[0]])
		known.Text = cmp.Or(known.Text, f.Text)
	}
	slices.SortFunc(p.Failures, func(a, b httpapi.FailureText) int {
		return cmp.Or(b.LastAt.Compare(a.LastAt), strings.Compare(a.Message, b.Message))
	})
	p.Failures = p.Failures[:min(len(p.Failures), maxSayings)]
	return bytes
}

func (p *testPlace) history() httpapi.TestInPlace {
	place := p.TestInPlace
	place.MedianMilliseconds = p.took.quantiles(50)[0]
	place.Failing = p.failing.since()
	place.Failures = append([]httpapi.FailureText{}, p.Failures...)
	return place
}

// verdict takes a flaky test as passed.
func verdict(state string) string {
	if state == httpapi.TestFailed {
		return state
	}
	return httpapi.TestPassed
}

// outcome is how a test did in a run of a place.
type outcome struct {
	run          int // index among those that count
	state        string
	milliseconds int64
}

// outcomes are the outcomes of the test in its runs, the oldest first.
func (d SeenDay) outcomes() (all []outcome) {
	took := d.test.Milliseconds
	for i, letter := range []byte(d.test.Outcomes) {
		o := outcome{run: i, state: stateOf(letter)}
		if o.state == "" {
			continue
		}
		if o.state != httpapi.TestSkipped && len(took) > 0 {
			o.milliseconds, took = took[0], took[1:]
		}
		all = append(all, o)
	}
	return all
}

func stateOf(outcome byte) string {
	for state, other := range outcomes {
		if other == outcome {
			return state
		}
	}
	return ""
}

func (d SeenDay) run(o outcome) httpapi.TestRun { return d.attempt(d.runs[o.run], o) }

// attempt returns the run with this id, a run that counts or a later attempt at it.
func (d SeenDay) attempt(id string, o outcome) httpapi.TestRun {
	r := d.day.byID[id]
	at, _ := r.Created()
	run := httpapi.TestRun{
		ID: r.ID, Place: r.Place, Repository: r.Repository, Service: r.Service, SHA: r.SHA, Branch: r.Branch,
		CreatedAt: at, State: o.state, Milliseconds: o.milliseconds,
	}
	if o.state != httpapi.TestFailed && o.state != httpapi.TestFlaky {
		return run
	}
	for _, f := range d.test.Failures {
		if slices.Contains(f.Runs, o.run) {
			run.Message = f.Message
		}
	}
	return run
}
