package api

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/test/poll"
)

// TestBodyBudget: who loses a body if there is no memory for another one.
func TestBodyBudget(t *testing.T) {
	type step struct {
		name string // of a body, whose letter is its source
		take int64
		want string // what is cut off, or the name if it is refused
	}
	for name, tc := range map[string]struct {
		reason string
		steps  []step
	}{
		"a lone source":            {"it may take all", []step{{"a/x1", 60, ""}, {"a/x2", 40, ""}}},
		"the oldest":               {"new ones are complete sooner than those that stall", []step{{"a/x1", 50, ""}, {"a/x2", 50, ""}, {"a/x3", 10, "a/x1"}}},
		"another namespace":        {"it has its share", []step{{"a/x1", 50, ""}, {"a/x2", 50, ""}, {"b/x1", 10, "a/x1"}}},
		"the one that takes most":  {"a share is not for hoarding", []step{{"b/x1", 10, ""}, {"a/x1", 50, ""}, {"c/x1", 40, ""}, {"d/x1", 10, "a/x1"}}},
		"another source":           {"one source does not cut off the others of its namespace", []step{{"a/y1", 20, ""}, {"a/x1", 40, ""}, {"a/x2", 40, ""}, {"a/y2", 10, "a/x1"}}},
		"many small ones":          {"one that wants more than its share is refused", []step{{"a/x1", 50, ""}, {"b/x1", 50, ""}, {"b/x1", 10, "b/x1"}}},
		"one that grows":           {"it is the only one of its source", []step{{"a/x1", 90, ""}, {"a/x1", 20, "a/x1"}}},
		"one that nothing can end": {"its sender is known", []step{{"a/x1", 90, ""}, {"a/x1", 0, "keep"}, {"b/x1", 20, "b/x1"}}},
		"without a namespace":      {"the App has its share", []step{{"a/x1", 50, ""}, {"a/x2", 50, ""}, {"/1", 30, "a/x1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			b, bodies, cut := newBodyBudget(100), map[string]*bodyRead{}, ""
			for _, st := range tc.steps {
				body := bodies[st.name]
				if body == nil {
					namespace, source, _ := strings.Cut(st.name, "/")
					body = b.begin(bodyOwner{namespace, source[:1]}, func() { cut = st.name })
					bodies[st.name] = body
				}
				if st.want == "keep" {
					body.keep()
					continue
				}
				if cut = ""; !body.take(st.take) {
					cut = st.name
				}
				if cut != st.want || b.all > b.size {
					t.Errorf("%s: %s takes %d: %q was cut off, want %q; %d are taken", tc.reason, st.name, st.take, cut, st.want, b.all)
				}
			}
			for _, body := range bodies {
				body.release()
				body.release()
			}
			if b.all != 0 || len(b.namespaces) != 0 || len(b.arriving) != 0 {
				t.Errorf("%d bytes, %d namespaces and %d bodies are left", b.all, len(b.namespaces), len(b.arriving))
			}
		})
	}
}

// TestStalledEventOnAConnection: the sender of a body that was cut off learns that, on a real connection.
func TestStalledEventOnAConnection(t *testing.T) {
	u := startHub(t, source(), eventSecretOf(eventSecret), trigger("smoke"))
	u.unverified.size = 5 * eventChunk
	server := httptest.NewServer(u.API)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(poll.Limit)); err != nil {
		t.Fatal(err)
	}
	head := "POST " + sourcePath + " HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
	if _, err := io.WriteString(conn, head+strings.Repeat(" ", 3*eventChunk)); err != nil {
		t.Fatal(err)
	}
	poll.True(t, "the body takes memory", func() bool {
		u.unverified.mu.Lock()
		defer u.unverified.mu.Unlock()
		return u.unverified.all == 4*eventChunk
	})
	body := append(payload(t, "deployment_status"), bytes.Repeat([]byte(" "), eventChunk)...)
	if w := u.exchange(deliver("deployment_status", body)); w.Code != http.StatusOK {
		t.Errorf("beside a stalled one: %d %s", w.Code, w.Body)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the stalled one: %d", answer.StatusCode)
	}
}

// secretReads counts the reads of Secrets by namespace, and delays those of one after the first until they may continue.
type secretReads struct {
	delayed        string
	started, until chan struct{}

	mu sync.Mutex
	of map[string]int
}

func (s *secretReads) faults() interceptor.Funcs {
	return interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, ok := o.(*corev1.Secret); ok && s.count(key.Namespace) > 1 && key.Namespace == s.delayed {
			close(s.started)
			<-s.until
		}
		return c.Get(ctx, key, o, opts...)
	}}
}

func (s *secretReads) count(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[namespace]++
	return s.of[namespace]
}

// TestSecretsBeforeBodies: that no body is read for a source without a Secret costs the API server no request per connection.
func TestSecretsBeforeBodies(t *testing.T) {
	reads := &secretReads{of: map[string]int{}}
	u := startHubWith(t, reads.faults(), source())
	body := payload(t, "deployment_status")
	for range 100 {
		for _, to := range []string{sourcePath, "/api/events/acme/none", "/api/events/none/github"} {
			w := u.exchange(deliver("deployment_status", body, path(to)))
			if got := decode[problem](t, w); w.Code != http.StatusNotFound || got.Detail != errNoEvents.message {
				t.Fatalf("%s: %d %s", to, w.Code, w.Body)
			}
		}
	}
	if reads.of[namespace] != 1 || len(reads.of) != 1 {
		t.Errorf("reads of Secrets: %v", reads.of)
	}
}

// TestForgedEventsDuringARead: complete bodies that wait for the Secret of their source are cut off like those that stall.
func TestForgedEventsDuringARead(t *testing.T) {
	const forgedPath = "/api/events/other/github0"
	reads := &secretReads{of: map[string]int{}, delayed: "other", started: make(chan struct{}), until: make(chan struct{})}
	u := startHubWith(t, reads.faults(), append(sourcesOf("other", 1), source(), eventSecretOf(eventSecret), trigger("smoke"))...)
	body := payload(t, "deployment_status")
	if w := u.exchange(deliver("deployment_status", body, path(forgedPath))); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	_ = u.clock.Sleep(t.Context(), 6*time.Second) // after which a forged event has the Secret read again
	s := &stalledEvents{u: u, answers: map[int]int{}}
	for range 40 {
		s.send(forgedPath, 400_000)
	}
	forged := make(chan int)
	go func() {
		forged <- u.exchange(deliver("deployment_status", []byte("{}"), path(forgedPath), func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") })).Code
	}()
	<-reads.started
	for _, body := range s.bodies {
		body.complete()
	}
	for range 4 {
		if w := u.exchange(deliver("deployment_status", body)); w.Code != http.StatusOK {
			t.Errorf("beside forged events that wait: %d %s", w.Code, w.Body)
		}
	}
	large := slices.Concat(body, bytes.Repeat([]byte(" "), 400_000))
	if w := u.exchange(deliver("deployment_status", large)); w.Code != http.StatusOK {
		t.Errorf("a large one: %d %s", w.Code, w.Body)
	}
	poll.True(t, "each body that was cut off is answered, whatever the API server does", func() bool {
		u.unverified.mu.Lock()
		defer u.unverified.mu.Unlock()
		return s.answered() == 40-(len(u.unverified.arriving)-1) // one is the forged event, which waits for the API server
	})
	close(reads.until)
	if code := <-forged; code != http.StatusUnauthorized {
		t.Errorf("the forged event: %d", code)
	}
	if got := s.end(); got[http.StatusServiceUnavailable] == 0 || got[http.StatusServiceUnavailable]+got[http.StatusUnauthorized] != 40 {
		t.Errorf("the answers are %v", got)
	}
	u.nothingIsRead()
}
