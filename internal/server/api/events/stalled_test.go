package events_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apitest"
)

// stalledBody has some bytes, after which nothing comes until it ends.
type stalledBody struct {
	left   int
	waits  sync.Once
	waited chan struct{} // closed once all bytes were read
	ends   sync.Once
	end    chan struct{}
	err    error
}

func newStalledBody(bytes int) *stalledBody {
	return &stalledBody{left: bytes, waited: make(chan struct{}), end: make(chan struct{})}
}

func (b *stalledBody) Read(p []byte) (int, error) {
	if b.left > 0 {
		n := min(b.left, len(p))
		b.left -= n
		return n, nil
	}
	b.waits.Do(func() { close(b.waited) })
	<-b.end
	return 0, b.err
}

func (b *stalledBody) Close() error { return nil }

func (b *stalledBody) cutOff() { b.endWith(os.ErrDeadlineExceeded) }

func (b *stalledBody) complete() { b.endWith(io.EOF) }

func (b *stalledBody) endWith(err error) {
	b.ends.Do(func() {
		b.err = err
		close(b.end)
	})
}

// connection is one of a stalled body.
type connection struct {
	*httptest.ResponseRecorder
	body *stalledBody
}

func (c connection) SetReadDeadline(t time.Time) error {
	if t.Before(time.Now()) {
		c.body.cutOff()
	}
	return nil
}

// stalledEvents are requests whose bodies never come whole.
type stalledEvents struct {
	u        *hub
	bodies   []*stalledBody
	requests sync.WaitGroup
	mu       sync.Mutex
	answers  map[int]int // how many have a status
}

// send returns once the request is answered, or as much is read as was sent.
func (s *stalledEvents) send(path string, bytes int) {
	body := newStalledBody(bytes)
	s.bodies = append(s.bodies, body)
	answered := make(chan struct{})
	s.requests.Go(func() {
		defer close(answered)
		w := connection{httptest.NewRecorder(), body}
		s.u.ServeHTTP(w, deliver("deployment_status", nil, func(r *http.Request) { r.URL.Path, r.Body, r.ContentLength = path, body, -1 }))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answers[w.Code]++
	})
	select {
	case <-body.waited:
	case <-answered:
	}
}

func (s *stalledEvents) answered() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, answers := range s.answers {
		n += answers
	}
	return n
}

// end returns how many requests had which answer, after it has cut off those that have none.
func (s *stalledEvents) end() map[int]int {
	for _, body := range s.bodies {
		body.cutOff()
	}
	s.requests.Wait()
	return s.answers
}

func (u *hub) nothingIsRead() {
	u.T.Helper()
	for _, b := range u.Topics.Events.Budgets() {
		if bytes, bodies, namespaces := b.State(); bytes != 0 || bodies != 0 || namespaces != 0 {
			u.T.Errorf("%d bytes of %d namespaces and %d bodies are not given back", bytes, namespaces, bodies)
		}
	}
}

func proven(s *v1alpha1.EventSource) {
	s.Status.LastEventTime = &metav1.Time{Time: apitest.Noon.Add(-time.Hour)}
}

// sourcesOf are EventSources of a team, with their Secret.
func sourcesOf(name string, sources int, change ...func(*v1alpha1.EventSource)) []client.Object {
	secret := eventSecretOf(eventSecret)
	secret.Namespace = name
	objects := []client.Object{apitest.Team(name), secret}
	for n := range sources {
		s := source(append(change, func(s *v1alpha1.EventSource) { s.Namespace, s.Name = name, fmt.Sprint("github", n) })...)
		s.UID = clientUID(fmt.Sprintf("uid-%s-%d", name, n))
		objects = append(objects, s)
	}
	return objects
}

// TestStalledEvents: bodies of strangers that never come whole take a bounded amount of memory, and stop no event that is signed: neither
// one of another source or team, nor of the same source. No body is read for a source that cannot verify it.
func TestStalledEvents(t *testing.T) {
	const many, size = 40, 400_000
	withoutSecret := func(s *v1alpha1.EventSource) { s.Spec.Secret.Name = "missing" }
	paths := func(namespaces, sources int) (all []string) {
		for n := range namespaces {
			for i := range sources {
				all = append(all, fmt.Sprintf("/api/events/team%d/github%d", n, i))
			}
		}
		return all
	}
	teams := func(namespaces, sources int, change ...func(*v1alpha1.EventSource)) (all []client.Object) {
		for n := range namespaces {
			all = append(all, sourcesOf(fmt.Sprint("team", n), sources, change...)...)
		}
		return all
	}
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		paths   []string
		each    int // requests to each path
		want    map[int]int
	}{
		"sources that do not exist": {reason: "they cost nothing", paths: paths(4, 1), each: 8, want: map[int]int{404: 32}},
		"sources without a Secret": {"their events cannot be verified", teams(1, 4, withoutSecret), paths(1, 4), 8,
			map[int]int{404: 32}},
		"sources of a team":                           {"it has its share", teams(1, 4), paths(1, 4), 16, nil},
		"those of many teams":                         {"each has its share", teams(many, 2), paths(many, 2), 2, nil},
		"those of many teams that sent events lately": {"each has its share of the reserve", teams(many, 2, proven), paths(many, 2), 2, nil},
		"the source itself":                           {"the oldest body is cut off", nil, []string{sourcePath}, 64, nil},
		"another source of the team":                  {"sources have shares, too", nil, []string{"/api/events/acme/another"}, 64, nil},
		"the App":                                     {"everybody knows its path", nil, []string{appPath}, 64, nil},
		"everything": {"the bounds hold together", append(teams(many/2, 2, proven), sourcesOf("new", 2)...),
			append(paths(many/2, 2), "/api/events/new/github0", "/api/events/new/github1", sourcePath, appPath), 8, nil},
		"a flood of small ones":          {"their number is bounded by their memory", teams(1, 1, proven), paths(1, 1), 600, nil},
		"a flood of the first byte only": {"a body takes a chunk at first", nil, []string{sourcePath, appPath}, 600, nil},
	} {
		for _, lately := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lately %v", name, lately), func(t *testing.T) {
				change := func(s *v1alpha1.EventSource) {
					if lately {
						proven(s)
					}
				}
				another := func(s *v1alpha1.EventSource) { s.Name = "another" }
				objects := []client.Object{source(change), source(change, another), eventSecretOf(eventSecret), apitest.Trigger("smoke")}
				for _, o := range tc.objects {
					objects = append(objects, o.DeepCopyObject().(client.Object))
				}
				u := startHub(t, objects...)
				bytes := size
				if tc.each > 100 {
					bytes = 1
				}
				s := &stalledEvents{u: u, answers: map[int]int{}}
				for range tc.each {
					for _, path := range tc.paths {
						s.send(path, bytes)
					}
				}
				for _, b := range u.Topics.Events.Budgets() {
					if bytes, _, _ := b.State(); bytes > u.Limits.UnverifiedBytes {
						t.Errorf("%d bytes are read, of %d", bytes, u.Limits.UnverifiedBytes)
					}
				}
				body := payload(t, "deployment_status")
				for range 4 {
					if w := u.Exchange(deliver("deployment_status", body)); w.Code != http.StatusOK {
						t.Errorf("%s: %d %s", tc.reason, w.Code, w.Body)
					}
				}
				if w := u.Exchange(deliver("deployment_status", body, toApp(body))); w.Code != http.StatusOK {
					t.Errorf("%s: the App: %d %s", tc.reason, w.Code, w.Body)
				}
				got := s.end()
				if tc.want != nil && fmt.Sprint(got) != fmt.Sprint(tc.want) {
					t.Errorf("%s: the answers are %v, want %v", tc.reason, got, tc.want)
				}
				u.nothingIsRead()
			})
		}
	}
}
