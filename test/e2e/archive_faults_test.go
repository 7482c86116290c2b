package e2e

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// newStoreFaults is a proxy in front of the store, with the traps of the one in front of the API server.
func newStoreFaults(t *testing.T, c *cluster) (d *faultProxy, endpoint string) {
	t.Helper()
	target, err := url.Parse(c.manager["POSTFLIGHT_STORE_ENDPOINT"])
	if err != nil {
		t.Fatal(err)
	}
	d = &faultProxy{t: t, next: http.DefaultTransport}
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		Transport:    d,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // killed clients are expected
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return d, server.URL
}

func isPut(part string) func(*http.Request, string) bool {
	return func(r *http.Request, _ string) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, part)
	}
}

// TestKillWhileArchiving kills the manager at each step of archiving a run. Each run must be archived in the end, once,
// with its whole log.
func TestKillWhileArchiving(t *testing.T) {
	tier.All(t, "it kills the manager seven times, and TestKillAtEachStep once")
	c := useCluster(t)
	a := openArchive(t, c)
	points := map[string]struct {
		store bool
		after bool
		step  func(*http.Request, string) bool
	}{
		"before-log":    {true, false, isPut("/logs/")},
		"after-log":     {true, true, isPut("/logs/")},
		"before-record": {true, false, isPut("/run.json")},
		"after-record":  {true, true, isPut("/run.json")},
		"after-index":   {true, true, isPut("/ids/")},
		"before-status": {false, false, isStatus(v1alpha1.ReasonSaved)},
		"after-status":  {false, true, isStatus(v1alpha1.ReasonSaved)},
	}
	for name, p := range points {
		t.Run(name, func(t *testing.T) {
			tm := newTeam(t, c)
			tm.trigger("quick", runs("echo quick"))
			api := newFaultProxy(t, c)
			store, endpoint := newStoreFaults(t, c)
			m := runManager(t, c, options{kubeconfig: api.kubeconfig, flags: []string{"--store-endpoint=" + endpoint}})
			proxy := api
			if p.store {
				proxy = store
			}
			trap := proxy.set(p.after, func(r *http.Request, body string) bool {
				return strings.Contains(r.URL.Path, "/"+tm.name+"/") && p.step(r, body)
			})
			id := tm.run(m, notification{"branch": "main"})
			select {
			case <-trap.sprung:
			case <-time.After(poll.Limit):
				t.Fatal("the manager never got there")
			}
			m.kill()
			proxy.clear()
			if !tm.suite(id).Finished() {
				t.Error("the run has not ended before it was archived")
			}
			m.restart()
			s := tm.awaitArchived(id)
			text, _ := tm.archivedLog(a, id)
			if c := archivedCondition(s); text != "quick\n" || c.Reason != v1alpha1.ReasonSaved {
				t.Errorf("the log is %q: %s", text, c.Message)
			}
			var all []record.Run
			for r, err := range a.Runs(t.Context(), tm.name, nil) {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			if found, err := a.Summaries(t.Context(), all); err != nil || len(found) != 1 {
				t.Errorf("there are %d records of %d runs, %v", len(found), len(all), err)
			}
		})
	}
}

// TestStoreAwayAtTheEnd: the store is away while many runs end. None ends later for that, and all are archived once
// it is back.
func TestStoreAwayAtTheEnd(t *testing.T) {
	tier.All(t, "it measures how long many runs take to end")
	c := useCluster(t)
	a := openArchive(t, c)
	const many = 50
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprintf("Away=%t", away), func(t *testing.T) {
			tm := newTeam(t, c)
			for i := range many {
				tm.trigger(fmt.Sprintf("run-%02d", i), runs(fmt.Sprintf("echo run %02d", i)))
			}
			store := newStoreProxy(t, c)
			if !away {
				store.open()
			}
			m := runManager(t, c, options{flags: []string{"--store-endpoint=http://" + store.address}})
			results := tm.notify(m, notification{"branch": "main", "sha": sha()})
			var late []time.Duration
			for _, r := range results {
				tm.awaitEnd(r.Created)
				h := tm.history(r.Created)
				late = append(late, h.ended.Sub(h.podsStopped))
			}
			slices.Sort(late)
			back := time.Now()
			if away {
				for _, r := range results {
					tm.await(r.Created, "waiting for the store", func(s *v1alpha1.Suite) bool {
						return archivedCondition(s).Reason == v1alpha1.ReasonStoreUnavailable
					})
				}
				back = time.Now()
				store.open()
			}
			tm.allArchived(a, results)
			figure(t, "ARCHIVE_STORE_AWAY away=%t runs=%d median_end_ms=%d slowest_end_ms=%d all_archived_after_seconds=%.1f", away, len(results),
				late[len(late)/2].Milliseconds(), late[len(late)-1].Milliseconds(), time.Since(back).Seconds())
		})
	}
}

func (tm *team) allArchived(a *archive.Archive, results []result) {
	tm.t.Helper()
	for _, r := range results {
		tm.awaitArchived(r.Created)
		text, rec := tm.archivedLog(a, r.Created)
		if want := strings.ReplaceAll(r.Trigger, "-", " ") + "\n"; text != want || rec.State != v1alpha1.ReasonPassed {
			tm.t.Errorf("the log of %s is %q, and the record says %s", r.Trigger, text, rec.State)
		}
	}
}
