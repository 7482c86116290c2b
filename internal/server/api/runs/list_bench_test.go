package runs_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/stores"
)

const (
	benchSuites   = 10_000
	benchArchived = 12_000 // with those of the Suites
	benchPerDay   = 400
)

// BenchmarkListRuns lists the runs of a large team, the oldest of which are in the archive alone. Each page comes over
// HTTP, and its archive is a real store on the same machine.
func BenchmarkListRuns(b *testing.B) {
	stores.Credentials(b)
	a := &archive.Archive{Bucket: stores.Rclone(b).Bucket(b)}
	month := benchRuns()
	archiveAll(b, a, month)
	for name, past := range map[string]runs.Archive{"store": a, "none": nil} {
		b.Run(name, func(b *testing.B) {
			h := apitest.Start(b, apitest.Setup{Objects: apitest.Acme(), Config: func(c *api.Config) { c.Runs.Archive = past }})
			for _, s := range month[:benchSuites] {
				h.SuiteChanged(nil, s)
			}
			server := httptest.NewServer(h.API)
			defer server.Close()
			for b.Loop() {
				lister{b, server.URL + apitest.RunsPath}.figures(name)
			}
		})
	}
}

// benchRuns are the runs of a month, newest first; one in a thousand has the SHA of the filter.
func benchRuns() (runs []*v1alpha1.Suite) {
	random := rand.New(rand.NewPCG(1, 1))
	at := apitest.Created(0)
	for i := range benchArchived {
		at = at.Add(-24 * time.Hour / benchPerDay)
		s := stored(fmt.Sprintf("smoke-%016x", random.Uint64()), 0)
		s.CreationTimestamp = metav1.NewTime(at)
		s.Spec.Deployment = v1alpha1.Deployment{Branch: "main", SHA: fmt.Sprintf("%040x", i)}
		if i%1000 == 0 {
			s.Spec.Deployment.SHA = apitest.SHA
		}
		runs = append(runs, s)
	}
	return runs
}

func archiveAll(b *testing.B, a *archive.Archive, runs []*v1alpha1.Suite) {
	b.Helper()
	var all errgroup.Group
	all.SetLimit(16)
	for _, s := range runs {
		all.Go(func() error { return a.SaveRecord(b.Context(), record.New(apitest.Namespace, s, nil)) })
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
}

// lister asks one page after the other.
type lister struct {
	b   *testing.B
	url string
}

func (l lister) figures(archive string) {
	first, filtered, pages := l.repeat(200, "?limit=50"), l.repeat(50, "?limit=50&sha=5ca1ab1"), l.walk("?limit=100")
	fmt.Printf("RUNS_LIST archive=%s suites=%d archived=%d first_p50_ms=%.1f first_p99_ms=%.1f filtered_p50_ms=%.1f filtered_p99_ms=%.1f pages=%d page_p50_ms=%.1f page_p99_ms=%.1f\n",
		archive, benchSuites, benchArchived, percentile(first, .5), percentile(first, .99), percentile(filtered, .5), percentile(filtered, .99),
		len(pages), percentile(pages, .5), percentile(pages, .99))
}

func (l lister) page(query string) (httpapi.Runs, time.Duration) {
	l.b.Helper()
	r, err := http.NewRequestWithContext(l.b.Context(), http.MethodGet, l.url+query, nil)
	if err != nil {
		l.b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+apitest.GoodKey)
	began := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		l.b.Fatal(err)
	}
	defer resp.Body.Close()
	var page httpapi.Runs
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || page.ArchiveProblem != "" {
		l.b.Fatalf("status %d: %v %s", resp.StatusCode, err, page.ArchiveProblem)
	}
	return page, time.Since(began)
}

func (l lister) repeat(n int, query string) (times []time.Duration) {
	for range n {
		_, took := l.page(query)
		times = append(times, took)
	}
	return times
}

func (l lister) walk(query string) (times []time.Duration) {
	seen := map[string]bool{}
	for cursor := ""; ; {
		page, took := l.page(query + cursor)
		times = append(times, took)
		for _, r := range page.Runs {
			if seen[r.ID] {
				l.b.Fatalf("the run %s is on two pages", r.ID)
			}
			seen[r.ID] = true
		}
		if page.Next == "" {
			l.b.Logf("%d runs", len(seen))
			return times
		}
		cursor = "&cursor=" + page.Next
	}
}

// percentile in milliseconds.
func percentile(times []time.Duration, p float64) float64 {
	slices.Sort(times)
	return times[int(p*float64(len(times)-1))].Seconds() * 1000
}
