package report_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/postflight-dev/postflight/test/world"
)

// link is the way of one manager to the API server, which can be cut, and come back without its watches.
type link struct {
	mu      sync.Mutex
	changed *sync.Cond
	stalled bool           // watches deliver nothing
	cut     bool           // requests fail, too
	reads   map[string]int // of Suites by name, while stalled and not cut
}

var errCut = errors.New("the link is cut")

func newLink(config *rest.Config) *link {
	l := &link{reads: map[string]int{}}
	l.changed = sync.NewCond(&l.mu)
	config.Wrap(l.wrap)
	return l
}

func (l *link) set(stalled, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalled, l.cut = stalled, cut
	l.changed.Broadcast()
}

// read reports whether the manager has read a Suite since the link is back without its watches.
func (l *link) read(suite string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads[suite] > 0
}

func (l *link) wrap(next http.RoundTripper) http.RoundTripper {
	return world.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if l.refuses(r) {
			return nil, errCut
		}
		answer, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Get("watch") != "" {
			answer.Body = &stallingBody{answer.Body, l}
		}
		return answer, err
	})
}

func (l *link) refuses(r *http.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return true
	}
	if _, suite, ok := strings.Cut(r.URL.Path, "/suites/"); ok && l.stalled && r.Method == http.MethodGet {
		l.reads[suite]++
	}
	return false
}

type stallingBody struct {
	io.ReadCloser
	link *link
}

func (b *stallingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.link.mu.Lock()
	defer b.link.mu.Unlock()
	for b.link.stalled {
		b.link.changed.Wait()
	}
	return n, err
}
