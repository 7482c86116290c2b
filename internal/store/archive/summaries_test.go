package archive_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	podresults "github.com/postflight-dev/postflight/internal/core/tests/results"
)

var smoke = httpapi.Place{Namespace: "shop", Trigger: "smoke", Environment: "staging"}

// ended saves a run with the tests that its pod has logged, by name and state.
func (w world) ended(t *testing.T, r record.Run, in httpapi.Place, tests ...httpapi.Test) {
	t.Helper()
	w.put(t, map[string][]byte{r.PodTestsKey("pod"): logOf(t, podresults.LogHeader{Version: 1, Started: r.Created}, tests...)})
	must(t, w.SaveTests(t.Context(), r))
	rec := recordOf(r)
	rec.Namespace, rec.Trigger, rec.Environment = in.Namespace, in.Trigger, in.Environment
	rec.Results = &httpapi.TestResults{Tests: int32(len(tests))}
	must(t, w.SaveRecord(t.Context(), rec))
}

func logOf(t *testing.T, header podresults.LogHeader, tests ...httpapi.Test) []byte {
	t.Helper()
	var b bytes.Buffer
	packer := gzip.NewWriter(&b)
	lines := json.NewEncoder(packer)
	must(t, lines.Encode(header))
	for _, test := range tests {
		must(t, lines.Encode(test))
	}
	must(t, packer.Close())
	return b.Bytes()
}

func test(name, state string) httpapi.Test {
	return httpapi.Test{Name: name, State: state, Milliseconds: 100}
}

// summaries: what was made run by run has the same bytes as what is made at once, and what an interruption left is repaired.
func summaries(t *testing.T, w world) {
	at := func(i int) record.Run {
		return runAt("acme-sum", fmt.Sprintf("smoke-%d", i), noon.Add(time.Duration(i)*time.Minute))
	}
	day := noon.Truncate(24 * time.Hour)
	summary := func() map[string]string {
		objects := map[string]string{}
		for _, key := range w.keys(t, record.SummariesPrefix("acme-sum")) {
			object, _, err := w.Archive.Bucket.Get(t.Context(), key)
			objects[key] = all(t, object, err)
		}
		return objects
	}
	for i := range 4 {
		state := httpapi.TestPassed
		if i == 2 {
			state = httpapi.TestFailed
		}
		w.ended(t, at(i), smoke, test("cart > keeps items", state), test("cart > pays", httpapi.TestPassed))
		must(t, w.Summarize(t.Context(), "acme-sum", day))
		if len(summary()) != 2 {
			t.Errorf("%d objects remain of the summaries after run %d, want one of the day and one of its tests", len(summary()), i)
		}
	}
	w.put(t, map[string][]byte{at(9).ArtifactKey("pod", "x"): nil}) // of a run that has not ended
	step := summary()
	for name, damage := range map[string]func(){
		"rebuilt": func() { must(t, w.Archive.Bucket.Delete(t.Context(), record.SummaryKey("acme-sum", "2026-11-21"))) },
		"cut":     func() { w.put(t, map[string][]byte{record.SummaryKey("acme-sum", "2026-11-21"): []byte("\x1f\x8b")}) },
		"left over": func() {
			w.put(t, map[string][]byte{record.SummaryTestsKey("acme-sum", "2026-11-21", smoke, "other"): nil,
				record.SummaryKey("acme-sum", "2026-11-21"): nil})
		},
		"no damage": func() {},
	} {
		damage()
		must(t, w.Summarize(t.Context(), "acme-sum", day))
		if diff := cmp.Diff(step, summary()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	d, err := w.Day(t.Context(), "acme-sum", "2026-11-21")
	if err != nil || len(d.Runs) != 4 || len(d.Places) != 1 {
		t.Fatalf("%v %+v", err, d)
	}
	found, ok, err := w.TestOn(t.Context(), "acme-sum", "2026-11-21", &d.Places[0], "cart > keeps items")
	if err != nil || !ok || found.Outcomes != "ppfp" {
		t.Errorf("%v %t %+v", err, ok, found)
	}
	if _, ok, err := w.TestOn(t.Context(), "acme-sum", "2026-11-21", &d.Places[0], "cart > keeps"); ok || err != nil {
		t.Errorf("%t %v", ok, err)
	}
	must(t, w.ClearSummaries(t.Context(), "acme-sum", day.AddDate(0, 0, 1)))
	if left := summary(); len(left) != 0 {
		t.Errorf("%d objects are left", len(left))
	}
	if _, err := w.Day(t.Context(), "acme-sum", "2026-11-21"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// savedTests: what pods write is bounded, and what cannot be read hides nothing else.
func savedTests(t *testing.T, w world) {
	r := runAt("acme-tests", "smoke-1", noon)
	index := func(i int) podresults.LogHeader {
		return podresults.LogHeader{Version: 1, Index: &i, Started: noon, Tests: 1}
	}
	good := logOf(t, index(1), test("b", httpapi.TestPassed), test("a", httpapi.TestFailed))
	w.put(t, map[string][]byte{
		r.PodTestsKey("pod-1"):              good,
		r.PodTestsKey("pod-2"):              good[:len(good)-9], // cut by a crash: gzip has no sum, and all lines are there
		r.PodTestsKey("pod-3"):              []byte("not packed"),
		r.PodTestsKey("pod-4"):              logOf(t, podresults.LogHeader{Version: 99}, test("later", httpapi.TestPassed)),
		r.PodTestsPrefix() + "UPPER.txt":    good,
		r.PodTestsPrefix() + "x/y.jsonl.gz": good,
	})
	must(t, w.SaveTests(t.Context(), r))
	var names []string
	header, err := w.Tests(t.Context(), r, func(test httpapi.Test) { names = append(names, test.Name+" "+test.State) })
	if diff := cmp.Diff([]string{"a Failed", "b Passed"}, names); err != nil || diff != "" || !header.Incomplete {
		t.Errorf("%v %s %+v", err, diff, header)
	}
	if _, err := w.Tests(t.Context(), runAt("acme-tests", "other", noon), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	must(t, w.SaveTests(t.Context(), runAt("acme-tests", "other", noon)))
	w.put(t, map[string][]byte{runAt("acme-tests", "cut", noon).TestsKey(): good[:12]})
	if _, err := w.Tests(t.Context(), runAt("acme-tests", "cut", noon), nil); !errors.Is(err, history.ErrUnreadable) {
		t.Errorf("%v", err)
	}
}
