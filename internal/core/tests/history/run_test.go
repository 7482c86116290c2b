package history_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

var tuesday = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// pod has tests such as "cart p", with the first letters of their states.
func pod(name string, index *int, minute int, tests ...string) history.PodTests {
	p := history.PodTests{Pod: name, LogHeader: results.LogHeader{Version: 1, Index: index, Started: tuesday.Add(time.Duration(minute) * time.Minute)}}
	p.Ended = p.Started.Add(time.Minute)
	for _, text := range tests {
		t := parse(text)
		if t.State == httpapi.TestFailed {
			p.Failed++
		}
		p.Tests = append(p.Tests, t)
	}
	return p
}

func parse(text string) httpapi.Test {
	name, state, _ := strings.Cut(text, " ")
	states := map[string]string{"p": httpapi.TestPassed, "f": httpapi.TestFailed, "r": httpapi.TestFlaky, "s": httpapi.TestSkipped}
	return httpapi.Test{Name: name, State: states[state[:1]]}
}

func shown(tests []httpapi.Test) (all []string) {
	for _, t := range tests {
		all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %s %d", t.Name, t.State, t.Retries), " 0"))
	}
	return all
}

func TestMergePods(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		pods   []history.PodTests
		want   []string
	}{
		"one pod":                  {"By name.", []history.PodTests{pod("a", nil, 0, "b p", "a f")}, []string{"a Failed", "b Passed"}},
		"same name in a report":    {"As failures are numbered.", []history.PodTests{pod("a", nil, 0, "a p", "a f")}, []string{"a Passed", "a (2) Failed"}},
		"shards":                   {"They add up, in the order of their indexes.", []history.PodTests{pod("b", new(1), 0, "x f"), pod("a", new(0), 5, "x p", "y p")}, []string{"x Passed", "x (2) Failed", "y Passed"}},
		"a later pod of an index":  {"It repeats what it names.", []history.PodTests{pod("a", new(0), 0, "x f", "y p"), pod("b", new(0), 5, "x p", "y p")}, []string{"x Flaky 1", "y Passed"}},
		"a later pod of only one":  {"The others stay.", []history.PodTests{pod("a", nil, 0, "x f", "y f", "z p"), pod("b", nil, 5, "x p")}, []string{"x Flaky 1", "y Failed", "z Passed"}},
		"failed twice":             {"It is no recovery.", []history.PodTests{pod("a", nil, 0, "x f"), pod("b", nil, 5, "x f")}, []string{"x Failed 1"}},
		"left out by a later pod":  {"As many are not the same.", []history.PodTests{pod("a", nil, 0, "x f"), pod("b", nil, 5, "y p")}, []string{"x Failed", "y Passed"}},
		"skipped by a later pod":   {"That does not show that it passes.", []history.PodTests{pod("a", nil, 0, "x f"), pod("b", nil, 5, "x s", "y p")}, []string{"x Failed", "y Passed"}},
		"a later pod without test": {"It shows nothing.", []history.PodTests{pod("a", nil, 0, "x f"), pod("b", nil, 5)}, []string{"x Failed"}},
		"nothing":                  {"", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := history.MergePods("smoke-1", tc.pods)
			sorted := slices.Clone(tc.want)
			slices.SortStableFunc(sorted, func(a, b string) int { return strings.Compare(nameOf(a), nameOf(b)) })
			if diff := cmp.Diff(sorted, shown(got.Lines)); diff != "" || got.Tests != len(tc.want) || got.Run != "smoke-1" {
				t.Errorf("%s\n%s%+v", tc.reason, diff, got.RunHeader)
			}
		})
	}
}

func nameOf(text string) string { return text[:strings.LastIndex(text, " ")] }

// TestRunIsReadAsItWasWritten, and whatever order its tests had.
func TestRunIsReadAsItWasWritten(t *testing.T) {
	one := history.MergePods("r", []history.PodTests{pod("a", nil, 0, "b f", "a p", "c s")})
	other := history.MergePods("r", []history.PodTests{pod("a", nil, 0, "c s", "b f", "a p")})
	if !bytes.Equal(one.Encode(), other.Encode()) {
		t.Error("the same tests make other bytes")
	}
	var got []httpapi.Test
	header, err := history.ReadRun(bytes.NewReader(one.Encode()), func(t httpapi.Test) { got = append(got, t) })
	if diff := cmp.Diff(one.Lines, got); err != nil || diff != "" || header != one.RunHeader {
		t.Errorf("%v %s %+v", err, diff, header)
	}
}

func packed(lines ...any) *bytes.Buffer {
	b := &bytes.Buffer{}
	packer := gzip.NewWriter(b)
	for _, line := range lines {
		if text, ok := line.(string); ok {
			fmt.Fprintln(packer, text)
			continue
		}
		_ = json.NewEncoder(packer).Encode(line)
	}
	_ = packer.Close()
	return b
}

// TestHostileLog: containers of the team may write anything.
func TestHostileLog(t *testing.T) {
	header := results.LogHeader{Version: 1}
	long := strings.Repeat("x", 10<<10)
	for name, tc := range map[string]struct {
		reason string
		log    io.Reader
		want   []httpapi.Test
		err    bool
	}{
		"not packed":       {"It is something else.", strings.NewReader("{}"), nil, true},
		"no header":        {"It is something else.", packed(), nil, true},
		"a later version":  {"Its lines may mean other things.", packed(results.LogHeader{Version: 2}), nil, true},
		"long names":       {"They are as long as those of reports.", packed(header, httpapi.Test{Name: long, State: "Passed"}), []httpapi.Test{{Name: strings.Repeat("x", 253) + " … " + strings.Repeat("x", 253), State: "Passed"}}, false},
		"control and bidi": {"They could disguise a name.", packed(header, httpapi.Test{Name: "a\x1b[2J\u202eb\x00c", State: "Passed"}), []httpapi.Test{{Name: "abc", State: "Passed"}}, false},
		"absurd numbers":   {"They are bounded.", packed(header, httpapi.Test{Name: "a", State: "Passed", Milliseconds: -5, Line: -1, Retries: -9}, httpapi.Test{Name: "b", State: "Passed", Milliseconds: 1 << 60}), []httpapi.Test{{Name: "a", State: "Passed"}, {Name: "b", State: "Passed", Milliseconds: 604_800_000}}, false},
		"no test":          {"Other lines are left out.", packed(header, "{", "[]", `{"name":"","state":"Passed"}`, `{"name":"a","state":"Great"}`, `{"name":7}`, `{"name":"b","state":"Failed"}`), []httpapi.Test{{Name: "b", State: "Failed"}}, false},
		"a line too long":  {"It hides no other.", packed(header, `{"name":"`+strings.Repeat("y", 70<<10)+`"}`, `{"name":"b","state":"Failed"}`), []httpapi.Test{{Name: "b", State: "Failed"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := history.ReadPod("pod", tc.log, history.NewRoom())
			if diff := cmp.Diff(tc.want, p.Tests); diff != "" || (err != nil) != tc.err {
				t.Errorf("%s\n%v %s", tc.reason, err, diff)
			}
		})
	}
}

// TestRoomOfARun: of a run of too many tests, the rest is counted.
func TestRoomOfARun(t *testing.T) {
	lines := []any{results.LogHeader{Version: 1}}
	for i := range 70_000 {
		lines = append(lines, httpapi.Test{Name: fmt.Sprintf("%0500d", i), State: "Failed", Text: strings.Repeat("t", 100)})
	}
	room := history.NewRoom()
	p, err := history.ReadPod("a", packed(lines...), room)
	if err != nil || len(p.Tests) != 32<<20/500 || int(p.Omitted) != 70_000-len(p.Tests) {
		t.Errorf("%v: %d tests, %d omitted", err, len(p.Tests), p.Omitted)
	}
	texts := 0
	for _, test := range p.Tests {
		texts += len(test.Text)
	}
	if texts > 1<<20 || texts < 1<<20-100 {
		t.Errorf("%d bytes of texts", texts)
	}
	if second, _ := history.ReadPod("b", packed(lines[0], lines[1]), room); len(second.Tests) != 0 || second.Omitted != 1 {
		t.Errorf("%+v", second)
	}
}

// TestMergeLosesNothing: each name of a pod without a later attempt is there as often as it was.
func TestMergeLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := []string{"p", "f", "r", "s"}
		var pods []history.PodTests
		want := map[string]int{}
		for i := range rapid.IntRange(1, 5).Draw(t, "pods") {
			var tests []string
			for range rapid.IntRange(0, 8).Draw(t, "tests") {
				state := rapid.SampledFrom(states).Draw(t, "state")
				tests = append(tests, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")+" "+state)
				want[parse("x "+state).State]++
			}
			pods = append(pods, pod(fmt.Sprintf("pod-%d", i), &i, 0, tests...))
		}
		got := history.MergePods("r", pods)
		seen, names := map[string]int{}, map[string]bool{}
		for _, test := range got.Lines {
			seen[test.State]++
			if names[test.Name] {
				t.Fatalf("%s is there twice", test.Name)
			}
			names[test.Name] = true
		}
		if diff := cmp.Diff(want, seen); diff != "" && len(want)+len(seen) > 0 {
			t.Fatal(diff)
		}
	})
}
