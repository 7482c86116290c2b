package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// maxWaiting is the bound on waiting requests.
const maxWaiting = 5000

// BenchmarkGreenlightWait ends runs that many clients wait for, and prints how long their answers take.
func BenchmarkGreenlightWait(b *testing.B) {
	for b.Loop() {
		measureWaiters(b)
	}
}

// TestWaitingClients measures the same, and fails if the answers take too long.
func TestWaitingClients(t *testing.T) {
	tier.Nightly(t, "it is a flood of clients, which must all come within one wait, and measures times")
	if p99 := measureWaiters(t); p99 >= time.Second {
		t.Errorf("p99 of 1,000 clients is %s, want below 1s", p99)
	}
}

// measureWaiters returns the p99 of 1,000 clients, from the end of their run to its answer.
func measureWaiters(t testing.TB) time.Duration {
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("long", runs("sleep 600"))
	m := runManager(t, c, options{})
	var p99 []time.Duration
	for _, clients := range []int{1000, maxWaiting} {
		before := m.process.RSSMiB()
		suite := tm.run(m, notification{"branch": fmt.Sprint(clients), "sha": sha()})
		w := tm.startWaiters(m, suite, clients)
		w.awaitAll(t, m)
		grown := m.process.RSSMiB() - before
		if clients == maxWaiting {
			tm.checkFull(t, m, suite)
		}
		took := w.since(t, tm.end(suite))
		p99 = append(p99, took[len(took)*99/100])
		figure(t, "GREENLIGHT_WAIT clients=%d p50_ms=%d p99_ms=%d max_ms=%d memory_mib=%d", clients,
			took[len(took)/2].Milliseconds(), took[len(took)*99/100].Milliseconds(), took[len(took)-1].Milliseconds(), grown)
	}
	return p99[0]
}

// TestStopAnswersWaiters stops a manager that clients wait on: they are answered, and it ends.
func TestStopAnswersWaiters(t *testing.T) {
	tier.Nightly(t, "it measures how long an end takes")
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("long", runs("sleep 600"))
	m := runManager(t, c, options{})
	w := tm.startWaiters(m, tm.run(m, notification{"branch": "main", "sha": sha()}), 50)
	w.awaitAll(t, m)
	began := time.Now()
	m.stop()
	w.answers.Wait()
	story(t, "50 waiting clients were answered, and the manager ended, within %s", time.Since(began).Round(time.Millisecond))
	for _, err := range w.errors {
		if !strings.Contains(err.Error(), `200 OK: {"greenlight":false`) {
			t.Errorf("a waiting client got another answer: %v", err)
		}
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}

// checkFull adds one client too many, and checks that notifications still work.
func (tm *team) checkFull(t testing.TB, m *manager, suite string) {
	a, err := send(http.MethodGet, m.url+greenlightPath+suite+"?wait=50", tm.key, nil)
	if err != nil || a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("one waiter too many: status %d, Retry-After %q, %v", a.status, a.header.Get("Retry-After"), err)
	}
	tm.notify(m, notification{"branch": "meanwhile", "sha": sha()})
}

// end makes a run pass as its status says, at a time that is known to the microsecond.
func (tm *team) end(suite string) time.Time {
	tm.t.Helper()
	for {
		s := tm.suite(suite)
		condition := v1alpha1.Passed("Ended by the test.")
		condition.LastTransitionTime = metav1.Now()
		s.Status.Conditions = []metav1.Condition{condition}
		s.Status.CompletionTime = &condition.LastTransitionTime
		ended := time.Now()
		if err := tm.Status().Update(tm.t.Context(), s); err == nil {
			return ended
		}
	}
}

// waiters are clients that wait for a run, each on a connection of its own.
type waiters struct {
	count   int
	answers sync.WaitGroup
	mu      sync.Mutex
	known   []time.Time
	errors  []error
}

func (tm *team) startWaiters(m *manager, suite string, count int) *waiters {
	w := &waiters{count: count}
	transport := &http.Transport{MaxIdleConnsPerHost: -1}
	for range count {
		w.answers.Go(func() {
			err := waitOnce(transport, m.url+greenlightPath+suite+"?wait=55", tm.key)
			now := time.Now()
			w.mu.Lock()
			defer w.mu.Unlock()
			w.known = append(w.known, now)
			if err != nil {
				w.errors = append(w.errors, err)
			}
		})
	}
	return w
}

func waitOnce(transport http.RoundTripper, url, key string) error {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && !strings.Contains(string(body), `"runStage":"completed"`) {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}

// awaitAll returns when the manager says that all of them wait. One that was answered already never will.
func (w *waiters) awaitAll(t testing.TB, m *manager) {
	t.Helper()
	poll.Until(t, fmt.Sprintf("%d clients wait", w.count), func() string {
		waiting := m.metric(t, "postflight_http_requests_waiting")
		if waiting == fmt.Sprint(w.count) {
			return ""
		}
		if answered, first := w.answered(); answered > 0 {
			t.Fatalf("%d of %d clients were answered before all waited, when %s did: %v", answered, w.count, waiting, first)
		}
		return "they are " + waiting
	})
}

// answered counts the clients that have an answer, and returns why the first of them that failed does not have the end of the run.
func (w *waiters) answered() (count int, first error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.errors) > 0 {
		first = w.errors[0]
	}
	return len(w.known), first
}

// since returns how long after the end each of them was answered, sorted.
func (w *waiters) since(t testing.TB, ended time.Time) []time.Duration {
	t.Helper()
	w.answers.Wait()
	for _, err := range w.errors[:min(len(w.errors), 3)] {
		t.Errorf("%d of %d got another answer: %v", len(w.errors), w.count, err)
	}
	took := make([]time.Duration, len(w.known))
	for i, known := range w.known {
		took[i] = known.Sub(ended)
	}
	slices.Sort(took)
	return took
}

// metric reads a gauge, as it is printed.
func (m *manager) metric(t testing.TB, name string) string {
	t.Helper()
	address := ""
	for _, arg := range m.args {
		if after, ok := strings.CutPrefix(arg, "--metrics-bind-address="); ok {
			address = after
		}
	}
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
