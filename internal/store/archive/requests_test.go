package archive_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	podresults "github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/stores"
)

// counted are the requests to a store by their kind, and the bytes of uploads.
type counted struct {
	mu    sync.Mutex
	kinds map[string]int
	bytes int64
}

func (c *counted) counts(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		kind := r.Method
		if r.URL.Query().Has("list-type") {
			kind = "LIST"
		}
		c.mu.Lock()
		c.kinds[kind]++
		if r.Method == http.MethodPut {
			c.bytes += r.ContentLength
		}
		c.mu.Unlock()
		next.ServeHTTP(w, r)
	}
}

// since returns what was counted, and starts again.
func (c *counted) since() (kinds map[string]int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds, bytes = c.kinds, c.bytes
	c.kinds, c.bytes = map[string]int{}, 0
	return kinds, bytes
}

// counting is an archive whose requests are counted on their way to the store.
func counting(t *testing.T) (world, *counted) {
	t.Helper()
	stores.Credentials(t)
	s, c := stores.Rclone(t), &counted{kinds: map[string]int{}}
	target, err := url.Parse(s.Address)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // which is signed
	}}
	front := httptest.NewServer(c.counts(proxy))
	t.Cleanup(front.Close)
	s.Bucket(t) // creates it
	o := s.Options()
	o.Endpoint = front.URL
	return world{s, &archive.Archive{Bucket: stores.Open(t, o)}}, c
}

// TestRequestsOfARecord counts what a run of one container with 40 tests costs the store: docs/figures.md has the numbers. A summary reads
// the tests of all runs of its Trigger and Environment on that day.
func TestRequestsOfARecord(t *testing.T) {
	w, c := counting(t)
	before := runAt("acme", "smoke-0", noon)
	for runs := 1; runs <= 4; runs++ {
		r := runAt("acme", fmt.Sprintf("smoke-%d", runs), noon.Add(time.Duration(runs)*time.Minute))
		w.leaves(t, r, before)
		record, bytes := c.since()
		must(t, w.Summarize(t.Context(), "acme", noon.Truncate(24*time.Hour)))
		summary, more := c.since()
		t.Logf("%d bytes, and %d of the summary", bytes, more)
		if before = r; runs == 1 {
			continue // nothing is there to compare with, or to replace
		}
		if diff := cmp.Diff(map[string]int{"PUT": 6, "LIST": 3, "GET": 2}, record); diff != "" {
			t.Errorf("the record of run %d (-want +got):\n%s", runs, diff)
		}
		if diff := cmp.Diff(map[string]int{"PUT": 2, "DELETE": 1, "LIST": 2, "HEAD": 1, "GET": 2 + runs}, summary); diff != "" {
			t.Errorf("the summary after run %d (-want +got):\n%s", runs, diff)
		}
	}
}

// leaves acts as a pod and the manager do when a run has ended.
func (w world) leaves(t *testing.T, r, before record.Run) {
	t.Helper()
	urls, err := w.SignPreviousResults(t.Context(), before)
	must(t, err)
	for _, u := range urls {
		send(t, http.MethodGet, u, "", "")
	}
	var tests []httpapi.Test
	for i := range 40 {
		tests = append(tests, httpapi.Test{
			Name: fmt.Sprintf("cart.spec.ts > case %d > keeps items", i), File: "cart.spec.ts", State: httpapi.TestPassed, Milliseconds: 100 + int64(i),
		})
	}
	document := podresults.Document{Run: r.ID, Counts: podresults.Counts{Reports: 1, Tests: 40, Passed: 40}}
	w.put(t, map[string][]byte{
		r.ResultsKey("pod"):  asJSON(t, document),
		r.PodTestsKey("pod"): logOf(t, podresults.LogHeader{Version: 1, Started: r.Created}, tests...),
	})
	logs, err := w.Logs(t.Context(), r)
	must(t, err)
	log, err := w.SaveLog(t.Context(), r, "pod", "test", false, bytes.NewReader(logLines(100<<10)))
	must(t, err)
	must(t, w.SaveTests(t.Context(), r))
	s := build.Suite(r.ID, 0)
	s.Namespace, s.CreationTimestamp = "shop", metav1.NewTime(r.Created)
	s.Status.Results = podresults.Status(podresults.Summary{Counts: document.Counts})
	must(t, w.SaveRecord(t.Context(), record.New(r.Team, s, append(logs, log))))
}
