package history

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// The outcomes of a test in the runs of a place, a byte for each run.
const (
	OutcomePassed  = 'p'
	OutcomeFailed  = 'f'
	OutcomeFlaky   = 'r' // it was repeated, and passed
	OutcomeSkipped = 's'
	OutcomeNone    = '-' // it was not in the run
)

var outcomes = map[string]byte{
	httpapi.TestPassed: OutcomePassed, httpapi.TestFailed: OutcomeFailed, httpapi.TestFlaky: OutcomeFlaky, httpapi.TestSkipped: OutcomeSkipped,
}

// PlaceDay is a Trigger and an Environment on a day. Every test of it is in another object, in blocks that can be read alone.
type PlaceDay struct {
	httpapi.Place
	Runs         []string      `json:"runs"`              // ids of those with tests, the oldest first. Outcomes are in this order
	Omitted      int           `json:"omitted,omitempty"` // earlier runs that are missing, because there would be too many results
	Tests        int           `json:"tests"`
	OmittedTests int           `json:"omittedTests,omitempty"` // results of tests that are missing, because there would be too many names
	Object       string        `json:"object"`                 // hash of the content of the other object
	Bytes        int64         `json:"bytes"`                  // of it
	Blocks       []Block       `json:"blocks"`                 // by name
	Failing      []FailingTest `json:"failing,omitempty"`
	Slowest      []SlowTest    `json:"slowest,omitempty"`
}

// Block is a part of the object of a place.
type Block struct {
	Name string `json:"name"` // of its first test
	At   int64  `json:"at"`   // in bytes
}

// FailingTest is a test that failed, or was repeated, on a day.
type FailingTest struct {
	Name     string `json:"name"`
	File     string `json:"file,omitempty"`
	Outcomes string `json:"outcomes"`
}

// SlowTest is one of the slowest tests of a day.
type SlowTest struct {
	Name         string `json:"name"`
	File         string `json:"file,omitempty"`
	Milliseconds int64  `json:"milliseconds"` // the median
	Runs         int    `json:"runs"`
}

// TestDay is a test in a place on a day: a line of the object of the place.
type TestDay struct {
	Name         string    `json:"name"`
	Suite        string    `json:"suite,omitempty"`
	File         string    `json:"file,omitempty"`
	Line         int32     `json:"line,omitempty"`
	Outcomes     string    `json:"outcomes"`     // by run of the place
	Milliseconds []int64   `json:"milliseconds"` // of each run that the test was in, without those that skipped it
	Failures     []Failure `json:"failures,omitempty"`
}

// Failure is what a test said.
type Failure struct {
	Runs    []int  `json:"runs"` // indexes of runs in the place
	Message string `json:"message,omitempty"`
	Text    string `json:"text,omitempty"` // of the last one
}

// PlaceBuilder makes a PlaceDay from the tests of its runs.
type PlaceBuilder struct {
	place PlaceDay
	tests map[string]*building
	texts map[string]string // that many tests have, each once in memory
}

func (b *PlaceBuilder) intern(text string) string {
	if known, found := b.texts[text]; found {
		return known
	}
	b.texts[text] = text
	return text
}

type building struct {
	TestDay
	outcomes []byte
}

// NewPlaceBuilder takes the runs of a place that have tests, the oldest first. It keeps the newest that fit into a day.
func NewPlaceBuilder(place httpapi.Place, runs []Run) (b *PlaceBuilder, chosen []Run) {
	room := maxResults
	first := len(runs)
	for first > 0 && (first == len(runs) || room >= int(runs[first-1].Tests)) {
		first--
		room -= int(runs[first].Tests)
	}
	b = &PlaceBuilder{place: PlaceDay{Place: place, Omitted: first, Runs: []string{}, Blocks: []Block{}}, tests: map[string]*building{},
		texts: map[string]string{}}
	return b, runs[first:]
}

// Begin starts the next run.
func (b *PlaceBuilder) Begin(id string) { b.place.Runs = append(b.place.Runs, id) }

// Add takes a test of the run that was begun last.
func (b *PlaceBuilder) Add(t httpapi.Test) {
	run := len(b.place.Runs) - 1
	known := b.tests[t.Name]
	if known == nil && len(b.tests) == maxNames {
		b.place.OmittedTests++
		return
	}
	if known == nil {
		known = &building{TestDay: TestDay{Name: t.Name}}
		b.tests[t.Name] = known
	}
	if len(known.outcomes) > run {
		return // the name is there twice
	}
	known.Suite, known.File, known.Line = b.intern(cmp.Or(t.Suite, known.Suite)), b.intern(cmp.Or(t.File, known.File)), cmp.Or(t.Line,
		known.Line)
	known.pad(run)
	known.outcomes = append(known.outcomes, outcomes[t.State])
	if t.State != httpapi.TestSkipped {
		known.Milliseconds = append(known.Milliseconds, t.Milliseconds)
	}
	if t.State == httpapi.TestFailed {
		known.say(run, t)
	}
}

func (t *building) pad(runs int) {
	for len(t.outcomes) < runs {
		t.outcomes = append(t.outcomes, OutcomeNone)
	}
}

func (t *building) say(run int, test httpapi.Test) {
	for i := range t.Failures {
		if f := &t.Failures[i]; f.Message == test.Message {
			f.Runs = append(f.Runs, run)
			f.Text = cmp.Or(test.Text, f.Text)
			return
		}
	}
	if len(t.Failures) < maxSayings {
		t.Failures = append(t.Failures, Failure{Runs: []int{run}, Message: test.Message, Text: test.Text})
	}
}

// Finish returns the place, and the content of its object.
func (b *PlaceBuilder) Finish() (PlaceDay, []byte) {
	p := b.place
	p.Tests = len(b.tests)
	var content bytes.Buffer
	var block bytes.Buffer
	texts := maxTexts
	flush := func() {
		packer := gzip.NewWriter(&content)
		_, _ = packer.Write(block.Bytes()) // writing into memory cannot fail
		_ = packer.Close()
		block.Reset()
	}
	for _, name := range slices.Sorted(maps.Keys(b.tests)) {
		t := b.tests[name]
		t.pad(len(p.Runs))
		t.Outcomes = string(t.outcomes)
		for i := range t.Failures {
			if texts -= len(t.Failures[i].Text); texts < 0 {
				t.Failures[i].Text = ""
			}
		}
		if block.Len() >= maxBlock {
			flush()
		}
		if block.Len() == 0 {
			p.Blocks = append(p.Blocks, Block{Name: name, At: int64(content.Len())})
		}
		encode(&block, t.TestDay)
	}
	if block.Len() > 0 {
		flush()
	}
	p.Failing, p.Slowest = failing(b.tests), slowest(b.tests)
	p.Bytes, p.Object = int64(content.Len()), hash(content.Bytes())
	return p, content.Bytes()
}

func failing(tests map[string]*building) []FailingTest {
	var all []FailingTest
	for _, t := range tests {
		if strings.ContainsAny(t.Outcomes, string(OutcomeFailed)+string(OutcomeFlaky)) {
			all = append(all, FailingTest{Name: t.Name, File: t.File, Outcomes: t.Outcomes})
		}
	}
	count := func(t FailingTest) int {
		return 2*strings.Count(t.Outcomes, string(OutcomeFailed)) + strings.Count(t.Outcomes, string(OutcomeFlaky))
	}
	slices.SortFunc(all, func(a, b FailingTest) int { return cmp.Or(count(b)-count(a), strings.Compare(a.Name, b.Name)) })
	return all[:min(len(all), maxFailing)]
}

func slowest(tests map[string]*building) []SlowTest {
	var all []SlowTest
	for _, t := range tests {
		if middle := median(t.Milliseconds); middle > 0 {
			all = append(all, SlowTest{Name: t.Name, File: t.File, Milliseconds: middle, Runs: len(t.Milliseconds)})
		}
	}
	slices.SortFunc(all, func(a, b SlowTest) int {
		return cmp.Or(cmp.Compare(b.Milliseconds, a.Milliseconds), strings.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), maxSlow)]
}

// BlockOf returns where in the object of the place a test would be, as a range of bytes; ok is false if it is nowhere.
func (p *PlaceDay) BlockOf(name string) (from, to int64, ok bool) {
	i := sort.Search(len(p.Blocks), func(i int) bool { return p.Blocks[i].Name > name })
	if i == 0 {
		return 0, 0, false
	}
	to = p.Bytes
	if i < len(p.Blocks) {
		to = p.Blocks[i].At
	}
	return p.Blocks[i-1].At, to, true
}

// TestBytes is what reading tests of the place needs.
func (p *PlaceDay) TestBytes() int { return maxTestLine + 3*lineOfRun*len(p.Runs) }

// FindTest looks for a test in a block of the place.
func (p *PlaceDay) FindTest(block io.Reader, name string) (t TestDay, found bool, err error) {
	var start bytes.Buffer
	encode(&start, struct {
		Name string `json:"name"`
	}{name})
	begin := append(bytes.TrimSuffix(start.Bytes(), []byte("}\n")), ',')
	err = p.lines(block, func(line []byte) error {
		if found || !bytes.HasPrefix(line, begin) {
			return nil
		}
		found = true
		return json.Unmarshal(line, &t)
	})
	return t, found, err
}

// ReadTests reads the tests of the place with a text in their line, in any case, which is quicker than to read them all.
func (p *PlaceDay) ReadTests(blocks io.Reader, text string, each func(TestDay)) error {
	var quoted bytes.Buffer
	encode(&quoted, strings.ToLower(text))
	part := bytes.TrimSuffix(bytes.TrimPrefix(quoted.Bytes(), []byte(`"`)), []byte("\"\n"))
	return p.lines(blocks, func(line []byte) error {
		if !bytes.Contains(bytes.ToLower(line), part) {
			return nil
		}
		var t TestDay
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		each(t)
		return nil
	})
}

func (p *PlaceDay) lines(blocks io.Reader, each func(line []byte) error) error {
	unpacked, err := gzip.NewReader(blocks)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(nil, maxTestLine+lineOfRun*len(p.Runs))
	for lines.Scan() {
		if err := each(lines.Bytes()); err != nil {
			return fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return nil
}
