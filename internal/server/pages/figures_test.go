package pages_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/test/cputime"
	"github.com/postflight-dev/postflight/test/tier"
)

// manyRuns are the samples, and older runs of ten Triggers in three Environments.
func manyRuns(n int) []client.Object {
	objects := samples()
	for i := range n {
		condition, results := v1alpha1.Passed("All 64 tests passed."), passed(64)
		if i%7 == 3 {
			condition, results = v1alpha1.Failed("2 of 120 tests failed."), failures()
		}
		objects = append(objects, run{
			id: fmt.Sprintf("load-%05d", i), trigger: fmt.Sprintf("trigger-%d", i%10), environment: []string{"staging", "production", "device-lab"}[i%3],
			branch: fmt.Sprintf("feature/%d", i%50), sha: commit(fmt.Sprintf("%07x", i)), ago: time.Duration(i+1) * 7 * minute,
			waited: 5 * time.Second, took: 3 * minute, condition: condition, results: results,
		}.suite())
	}
	return objects
}

// TestPagesOf10000Runs prints how long each page takes, and fails if one takes much more of a processor than to copy all the runs.
func TestPagesOf10000Runs(t *testing.T) {
	tier.All(t, "it measures how long pages take")
	const n, times = 10_000, 60
	h := newHarness(t, manyRuns(n))
	h.logs.write(sampleLog())
	b := h.browser(t, readKey)
	deep := runs.Cursor(record.Run{ID: "x", Created: time.Now().Add(-9000 * 7 * minute)})
	for _, page := range []string{"/runs/shop", "/runs/shop?state=look", "/runs/shop?q=nothing+like+this", "/runs/shop?after=" + deep, failedRun, failedRun + "/log",
		failedRun + "/variables", failedRun + "/attempts", "/triggers/shop", "/triggers/shop/checkout", "/environments/shop", "/board/shop"} {
		size := 0
		var used, copying time.Duration
		took := timesOf(times, func() {
			used += cputime.Of(func() {
				got := b.do(http.MethodGet, page, "", http.Header{"Accept-Encoding": {"gzip"}})
				if size = len(got.body); got.code != http.StatusOK {
					t.Fatalf("%s: %d", page, got.code)
				}
			})
		}, func() {
			copying += cputime.Of(func() {
				for _, s := range h.reader.Newest(team) {
					_ = s.DeepCopy()
				}
			})
		})
		p50, p99 := took[len(took)/2], took[len(took)*99/100]
		t.Logf("PAGE path=%s runs=%d p50_ms=%.1f p99_ms=%.1f bytes=%d cpu_ms=%.1f copy_cpu_ms=%.1f",
			page, n, ms(p50), ms(p99), size, ms(used/times), ms(copying/times))
		if used > 4*copying {
			t.Errorf("%s takes %s of a processor, and to copy all runs %s", page, used/times, copying/times)
		}
	}
}

// timesOf are how long something takes, the shortest first. Between is not measured.
func timesOf(n int, something func(), between ...func()) (took []time.Duration) {
	for range n {
		began := time.Now()
		something()
		took = append(took, time.Since(began))
		for _, f := range between {
			f()
		}
	}
	slices.Sort(took)
	return took
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// TestMemoryOfLivePages prints what 1,000 open live pages take, those of one team that follow its runs. The process is
// also the browsers, which keep about as much.
func TestMemoryOfLivePages(t *testing.T) {
	tier.All(t, "it measures memory")
	pages := 1000
	if os.Getenv("POSTFLIGHT_FIGURES") == "" {
		pages = 200
	}
	h := newHarness(t, samples())
	b := h.browser(t, readKey)
	before := memory()
	for range pages {
		stream := openStream(t, h, b, "/runs/shop")
		if _, err := stream.next(); err != nil {
			t.Fatal(err)
		}
	}
	each := (memory() - before) / uint64(pages)
	t.Logf("LIVE_PAGES open=%d kib_each=%d total_mib=%d, with their clients", pages, each>>10, (memory()-before)>>20)
	if each > 150<<10 {
		t.Errorf("a live page takes %d KiB", each>>10)
	}
	began := time.Now()
	h.set(t, run{id: "newest", trigger: "smoke", environment: "staging", condition: v1alpha1.Queued("Waiting.")}.suite())
	if got := b.get("/runs/shop"); got.code != http.StatusOK {
		t.Errorf("a page beside them: %d", got.code)
	}
	t.Logf("while all are sent again, a page takes %s", time.Since(began).Round(time.Millisecond))
}

// memory is what the heap and the stacks take.
func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
