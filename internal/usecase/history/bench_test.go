package history_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	core "github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/usecase/history"
	"github.com/postflight-dev/postflight/test/stores"
)

var now = time.Date(2026, 11, 24, 20, 0, 0, 0, time.UTC)

// BenchmarkHistory answers from 10,000 runs of 90 days in five places, with 200 tests each, the last of which has 100,000. The store is
// another process.
func BenchmarkHistory(b *testing.B) {
	const runs, days, tests, many = 10_000, 90, 200, 100_000
	stores.Credentials(b)
	a := &archive.Archive{Bucket: stores.Rclone(b).Bucket(b)}
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(8)
	for i := range runs {
		count := tests
		if i == runs-1 {
			count = many
		}
		group.Go(func() error { return saveRun(ctx, a, i, now.Add(-time.Duration(runs-i)*days*24*time.Hour/runs), count) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	peak := watchHeap(b.Context())
	for day := now.AddDate(0, 0, -days); !day.After(now); day = day.AddDate(0, 0, 1) {
		if err := a.Summarize(b.Context(), "acme", day.Truncate(24*time.Hour)); err != nil {
			b.Fatal(err)
		}
	}
	fmt.Printf("SUMMARIES runs=%d days=%d tests_last=%d seconds=%.1f memory_peak_mib=%.0f\n", runs, days, many, time.Since(began).Seconds(), peak())
	r := history.NewReader(a, clocktesting.NewFakePassiveClock(now), time.Minute)
	team := &v1alpha1.Team{}
	team.Name = "acme"
	for b.Loop() {
		peak := watchHeap(b.Context())
		insights := median(b, func() error { _, err := r.Insights(b.Context(), team, history.Query{Days: days}); return err })
		test := median(b, func() error {
			_, err := r.Test(b.Context(), team, "suite 7 > keeps items 77", history.Query{Days: days})
			return err
		})
		list := median(b, func() error { _, err := r.List(b.Context(), team, history.Query{Days: days, Limit: 20}); return err })
		search := median(b, func() error {
			_, err := r.List(b.Context(), team, history.Query{Days: days, Limit: 20, Search: "ITEMS 9999"})
			return err
		})
		fmt.Printf("HISTORY runs=%d days=%d insights_ms=%.0f test_ms=%.0f list_ms=%.0f search_ms=%.0f memory_peak_mib=%.0f\n",
			runs, days, insights, test, list, search, peak())
	}
}

func median(b *testing.B, answer func() error) float64 {
	b.Helper()
	var all []time.Duration
	for range 9 {
		began := time.Now()
		if err := answer(); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}

func saveRun(ctx context.Context, a *archive.Archive, i int, created time.Time, tests int) error {
	place := httpapi.Place{Namespace: "acme", Trigger: fmt.Sprintf("smoke-%d", i%5), Environment: "staging"}
	r := record.Run{Team: "acme", ID: fmt.Sprintf("%s-%d", place.Trigger, i), Created: created.Truncate(time.Second)}
	all := core.RunTests{RunHeader: core.RunHeader{Version: 1, Run: r.ID, Tests: tests}}
	state := "Passed"
	for j := range tests {
		t := httpapi.Test{
			Name: fmt.Sprintf("suite %d > keeps items %d", j%10, j), Suite: fmt.Sprintf("suite %d", j%10), File: fmt.Sprintf("tests/suite-%d.spec.ts", j%10),
			State: httpapi.TestPassed, Milliseconds: int64((i*7919 + j*104729) % 4000),
		}
		if (i*31+j)%997 == 0 {
			t.State, t.Message, state = httpapi.TestFailed, "expected 200, got 500", "Failed"
		}
		all.Lines = append(all.Lines, t)
	}
	slices.SortFunc(all.Lines, func(a, b httpapi.Test) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	content := all.Encode()
	if err := a.Bucket.Put(ctx, r.TestsKey(), "application/gzip", bytes.NewReader(content), int64(len(content))); err != nil {
		return err
	}
	started, ended := created.Add(20*time.Second), created.Add(time.Duration(60+i%120)*time.Second)
	line, err := json.Marshal(record.Record{Run: httpapi.Run{
		ID: r.ID, Team: r.Team, Namespace: place.Namespace, Trigger: place.Trigger, Environment: place.Environment, State: state, SHA: fmt.Sprintf("%040x", i),
		Branch: "main", CreatedAt: r.Created, StartedAt: &started, EndedAt: &ended, DurationSeconds: ended.Sub(started).Seconds(),
		Results: &httpapi.TestResults{Tests: int32(tests)},
	}})
	if err != nil {
		return err
	}
	return a.Bucket.Put(ctx, r.RecordKey(), "application/json", bytes.NewReader(line), int64(len(line)))
}

// watchHeap returns a function that stops watching, and returns the most memory in use meanwhile, in MiB.
func watchHeap(ctx context.Context) func() float64 {
	runtime.GC()
	debug.FreeOSMemory()
	ctx, cancel := context.WithCancel(ctx)
	most := make(chan float64)
	go func() {
		var peak uint64
		for ctx.Err() == nil {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			time.Sleep(5 * time.Millisecond)
		}
		most <- float64(peak) / (1 << 20)
	}()
	return func() float64 { cancel(); return <-most }
}
