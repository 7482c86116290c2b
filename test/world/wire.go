package controllers_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// clockwork is a real clock that the test can move forward, and stop.
type clockwork struct {
	mu      sync.Mutex
	ahead   time.Duration
	stopped time.Time // zero: it runs
}

var _ clock.PassiveClock = &clockwork{}

func (c *clockwork) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped.IsZero() {
		return c.stopped
	}
	return time.Now().Add(c.ahead)
}

// stop makes it the same time until moveOn, so that no pause of the manager ends early because the machine is slow.
func (c *clockwork) stop() {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = now
}

func (c *clockwork) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *clockwork) moveOn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
	if !c.stopped.IsZero() {
		c.stopped = c.stopped.Add(d)
	}
}

// wire counts the requests of the manager to the API server. It leaves out watches, which a manager begins when it starts, and
// those about other namespaces: other tests use the same cluster.
type wire struct {
	namespace string

	mu   sync.Mutex
	sent map[string]int // by method, resource and subresource, such as "PATCH suites/status"
	lost map[string]int // those of sent that got no answer in time
	all  int

	refused string // part of the URL of requests that are not sent; empty: none
}

// refuse makes requests fail whose URL has a text.
func (x *wire) refuse(part string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refused = part
}

func (x *wire) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if x.takes(r) {
			return nil, errors.New("refused")
		}
		answer, err := next.RoundTrip(r)
		if err != nil {
			x.loses(r)
		}
		return answer, err
	})
}

func (x *wire) loses(r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lost == nil {
		x.lost = map[string]int{}
	}
	x.lost[r.Method+" "+resourceOf(r.URL.Path)]++
}

// takes counts a request, and reports whether it is refused.
func (x *wire) takes(r *http.Request) (refused bool) {
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

func (x *wire) count(request string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sent[request]
}

func (x *wire) countLost(request string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lost[request]
}

// perSecond counts the requests of the manager for a while in which nothing changes.
func (x *wire) perSecond() float64 {
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

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
