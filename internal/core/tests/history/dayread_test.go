package history_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

func zipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

func everyRun(history.Run) bool { return true }

// TestReadDay: what is read is what was written, and what was cut by a crash, or is no summary, cannot be read.
func TestReadDay(t *testing.T) {
	d := dayOf(smoke, tuesday, 'a', "cart", "pfrs")
	content := d.Encode()
	again, err := history.ReadDay(bytes.NewReader(content))
	if diff := cmp.Diff(*d, again); err != nil || diff != "" || !bytes.Equal(content, again.Encode()) {
		t.Errorf("%v %s", err, diff)
	}
	for name, damaged := range map[string][]byte{
		"empty":                         nil,
		"cut":                           content[:len(content)-9],
		"of a later version":            zipped(`{"version":2,"runs":[],"places":[]}`),
		"no object":                     zipped(`[]`),
		"runs that are no list":         zipped(`{"version":1,"runs":{}}`),
		"places before runs":            zipped(`{"version":1,"places":[],"runs":[]}`),
		"more behind it":                zipped(`{"version":1,"runs":[],"places":[]}{}`),
		"a run of the size of a day":    zipped(`{"version":1,"runs":[{"branch":"` + strings.Repeat("x", 2<<20) + `"}]}`),
		"a member that is never closed": zipped(`{"version":1,"later":[` + strings.Repeat("[", 20_000)),
	} {
		if _, err := history.ReadDay(bytes.NewReader(damaged)); !errors.Is(err, history.ErrUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d, err := history.ReadDay(bytes.NewReader(zipped(`{"version":1,"later":{"a":[1]},"runs":[],"places":[{"later":[2],"runs":["a"]}]}`))); err != nil || len(d.Places) != 1 {
		t.Errorf("members of a later manager: %v %+v", err, d)
	}
}

// TestLongTextsAreCut, those of records and those that an earlier version stored, in the same way.
func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("ü", 600)
	d := dayOf(smoke, tuesday, 'a', "cart", "p")
	d.Runs[0].Branch, d.Runs[0].Repository, d.Runs[0].CommitURL = long, long, "https://example.com/"+long
	stored, err := history.ReadDay(bytes.NewReader(d.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r := stored.Runs[0]
	if len(r.Branch) > 256 || !strings.HasSuffix(r.Branch, "ü…") || len(r.Repository) > 256 || r.CommitURL != "" || len(r.SHA) != 40 {
		t.Errorf("%d bytes %q", len(r.Branch), r.Branch)
	}
	fresh := history.RunOf(httpapi.Run{Branch: long, Repository: long, CommitURL: "https://example.com/" + long})
	if fresh.Branch != r.Branch || fresh.Repository != r.Repository || fresh.CommitURL != "" {
		t.Errorf("%q, and when it was read %q", fresh.Branch, r.Branch)
	}
}

// TestReadParts keeps no more than it may, and only what it should.
func TestReadParts(t *testing.T) {
	d := dayOf(smoke, tuesday, 'a', "cart", "pfpf")
	content := d.Encode()
	if _, err := history.ReadParts(bytes.NewReader(content), history.Parts{Has: everyRun, Bytes: 1000}); !errors.Is(err, history.ErrTooLarge) {
		t.Errorf("in 1,000 bytes: %v", err)
	}
	some, err := history.ReadParts(bytes.NewReader(content), history.Parts{Has: everyRun, Bytes: 10_000})
	if err != nil || len(some.Runs) != 4 || some.Runs[0].SHA != "" || some.Places[0].Blocks != nil || some.Places[0].Failing != nil {
		t.Errorf("%v %+v", err, some)
	}
	some, err = history.ReadParts(bytes.NewReader(content), history.Parts{
		Has: func(r history.Run) bool { return r.ID == "smoke-b" }, Bytes: 10_000, Commits: true, Blocks: true, Rankings: true,
	})
	if err != nil || len(some.Runs) != 1 || some.Runs[0].SHA == "" || len(some.Places[0].Blocks) != 1 || some.Places[0].Failing != nil {
		t.Errorf("a ranking counts other runs: %v %+v", err, some)
	}
	none, err := history.ReadParts(bytes.NewReader(content), history.Parts{Has: func(history.Run) bool { return false }, Bytes: 10_000})
	if err != nil || len(none.Runs)+len(none.Places) != 0 {
		t.Errorf("%v %+v", err, none)
	}
}

// TestQuantiles are those of the sorted values, as long as there are at most 32,768 different ones, and near them beyond.
func TestQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct{ runs, values, off int }{{1, 9, 0}, {2, 2, 0}, {19, 400, 0}, {1000, 300, 0}, {3000, 30_000, 0}, {60_000, 32_000, 0}, {150_000, 6_000_000, 256}} {
		var runs []history.Run
		var seconds []float64
		for range tc.runs {
			tenths := random.IntN(tc.values)
			runs = append(runs, history.Run{Place: smoke, State: "Passed", DurationSeconds: float64(tenths) / 10, CreatedAt: "2026-11-24T10:00:00Z"})
			seconds = append(seconds, float64(tenths)/10)
		}
		slices.Sort(seconds)
		b := history.NewInsightsBuilder([]string{"2026-11-24"}, []string{"2026-11-23"}, history.Selection{})
		day := history.NewDay("acme", "2026-11-24", runs, nil)
		b.Add(day.Index())
		got := b.Insights()
		median, p95 := seconds[(tc.runs*50+99)/100-1], seconds[(tc.runs*95+99)/100-1]
		near := func(got, want float64) bool { return got <= want && (want-got)*10 <= float64(tc.off) }
		if q := got.Period.Duration; q.Count != tc.runs || !near(q.Median, median) || !near(q.P95, p95) || got.Daily[0].Duration != q {
			t.Errorf("%d runs: %+v, want a median of %v and a 95th percentile of %v", tc.runs, q, median, p95)
		}
	}
}

// TestManyNamesAreBounded: endings, places and tests that are new each day fill no memory, and sums remain right.
func TestManyNamesAreBounded(t *testing.T) {
	days := history.Days(tuesday, 8)
	b := history.NewInsightsBuilder(days[4:], days[:4], history.Selection{})
	for _, day := range slices.Backward(days) {
		var runs []history.Run
		var places []history.PlaceDay
		for i := range 1500 {
			place := httpapi.Place{Namespace: "acme", Trigger: fmt.Sprint(day, i)}
			id := fmt.Sprint(day, "-", i)
			runs = append(runs, history.Run{ID: id, Place: place, State: "Error", Reason: fmt.Sprint("reason ", day, i)})
			p := history.PlaceDay{Place: place, Runs: []string{id}}
			for j := range 5 {
				name := fmt.Sprint("test ", day, j)
				p.Failing = append(p.Failing, history.FailingTest{Name: name, Outcomes: "f"})
				p.Slowest = append(p.Slowest, history.SlowTest{Name: name, Milliseconds: int64(1 + i)})
			}
			places = append(places, p)
		}
		b.Add(history.NewDay("acme", day, runs, places).Index())
	}
	got := b.Insights()
	ended := 0
	for _, end := range got.Ends {
		ended += end.Runs
	}
	if got.Period.Runs != 6000 || got.Before.Runs != 6000 || ended != 6000 || len(got.Ends) != 13 || len(got.Places) != history.MaxPlaces || !b.Cut() {
		t.Errorf("%+v, %d ended in %d ways, %d places, cut %t", got.Period, ended, len(got.Ends), len(got.Places), b.Cut())
	}
	if len(got.LeastReliable) != 10 || got.LeastReliable[0].Trigger < days[6] {
		t.Errorf("those of the newest days count: %+v", got.LeastReliable)
	}
}
