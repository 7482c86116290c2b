package world

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// Clock is a real clock that the test can move forward, and stop.
type Clock struct {
	mu      sync.Mutex
	ahead   time.Duration
	stopped time.Time // zero: it runs
}

var _ clock.PassiveClock = &Clock{}

// Now is the time as the test has set it.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped.IsZero() {
		return c.stopped
	}
	return time.Now().Add(c.ahead)
}

// Stop makes it the same time until MoveOn, so that no pause of the manager ends early because the machine is slow.
func (c *Clock) Stop() {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = now
}

// Since is how long a time is ago.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// MoveOn moves the clock forward.
func (c *Clock) MoveOn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
	if !c.stopped.IsZero() {
		c.stopped = c.stopped.Add(d)
	}
}

// Wire counts, refuses and delays what the manager asks the API server for. Its counts leave out watches, which a manager begins when it
// starts, and requests about other namespaces: other tests use the same cluster.
type Wire struct {
	namespace string

	mu   sync.Mutex
	sent map[string]int // by method, resource and subresource, such as "PATCH suites/status"
	lost map[string]int // those of sent that got no answer in time
	all  int

	refused string // part of the URL of requests that are not sent; empty: none

	delayed map[string]chan struct{} // by resource, until when its watches report nothing
}

// Delay keeps back what watches of a resource report, until the returned function is called.
func (x *Wire) Delay(resource string) (end func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.delayed == nil {
		x.delayed = map[string]chan struct{}{}
	}
	over := make(chan struct{})
	x.delayed[resource] = over
	return sync.OnceFunc(func() { close(over) })
}

func (x *Wire) await(resource string) {
	x.mu.Lock()
	over := x.delayed[resource]
	x.mu.Unlock()
	if over != nil {
		<-over
	}
}

// watched is the answer to a watch.
type watched struct {
	io.ReadCloser
	wire     *Wire
	resource string
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.wire.await(w.resource)
	return n, err
}

// Refuse makes requests fail whose URL has a text.
func (x *Wire) Refuse(part string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refused = part
}

func (x *Wire) wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if x.takes(r) {
			return nil, errors.New("refused")
		}
		answer, err := next.RoundTrip(r)
		if err != nil {
			x.loses(r)
			return answer, err
		}
		if r.URL.Query().Has("watch") {
			answer.Body = watched{answer.Body, x, resourceOf(r.URL.Path)}
		}
		return answer, nil
	})
}

func (x *Wire) loses(r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lost == nil {
		x.lost = map[string]int{}
	}
	x.lost[r.Method+" "+resourceOf(r.URL.Path)]++
}

// takes counts a request, and reports whether it is refused.
func (x *Wire) takes(r *http.Request) (refused bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, rest, namespaced := strings.Cut(r.URL.Path, "/namespaces/")
	if watches := r.URL.Query().Has("watch"); !watches && (!namespaced || strings.HasPrefix(rest, x.namespace+"/")) {
		if x.sent == nil {
			x.sent = map[string]int{}
		}
		x.sent[r.Method+" "+resourceOf(r.URL.Path)]++
		x.all++
	}
	return x.refused != "" && strings.Contains(r.URL.String(), x.refused)
}

// resourceOf is the resource, and the subresource, in the path of a request about namespaced objects.
func resourceOf(path string) string {
	_, rest, _ := strings.Cut(path, "/namespaces/")
	parts := strings.Split(rest, "/") // the namespace, the resource, the name, the subresource
	switch {
	case len(parts) < 2:
		return path
	case len(parts) > 3:
		return parts[1] + "/" + parts[3]
	default:
		return parts[1]
	}
}

// Count is how many requests such as "PATCH suites/status" were sent.
func (x *Wire) Count(request string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sent[request]
}

// CountLost is how many of them got no answer in time.
func (x *Wire) CountLost(request string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lost[request]
}

// PerSecond counts the requests of the manager for a while in which nothing changes.
func (x *Wire) PerSecond() float64 {
	const while = 3 * time.Second
	count := func() int {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.all
	}
	before := count()
	time.Sleep(while)
	return float64(count()-before) / while.Seconds()
}

// Requests counts requests, by method and resource.
type Requests map[string]int

// Add counts more of a request.
func (r Requests) Add(request string, n int) { r[request] += n }

// Within fails if a run costs more than so many writes and reads, and prints what it costs.
func (r Requests) Within(t *testing.T, what string, writes, reads int) {
	t.Helper()
	is, text := [2]int{}, ""
	for _, request := range slices.Sorted(maps.Keys(r)) {
		if r[request] == 0 || strings.Contains(request, "/teams/") { // of this test, or of another one
			continue
		}
		text += fmt.Sprintf(" %s=%d", strings.ReplaceAll(request, " ", "_"), r[request])
		if strings.HasPrefix(request, "GET ") {
			is[1] += r[request]
		} else {
			is[0] += r[request]
		}
	}
	fmt.Printf("REQUESTS run=%s writes=%d reads=%d%s\n", what, is[0], is[1], text)
	if is[0] > writes || is[1] > reads {
		t.Errorf("a run that %s costs %d writes and %d reads, want at most %d and %d:%s", what, is[0], is[1], writes, reads, text)
	}
}

// Snapshot is what was sent until now.
func (x *Wire) Snapshot() Requests {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.sent)
}

// Since is what was sent after a snapshot.
func (x *Wire) Since(before Requests) Requests {
	now := x.Snapshot()
	for request, n := range before {
		now[request] -= n
	}
	return now
}

// RoundTripperFunc is a RoundTripper.
type RoundTripperFunc func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
