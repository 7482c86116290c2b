package events_test

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

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/server/api/events"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestStalledEventOnAConnection: the sender of a body that was cut off learns that, on a real connection.
func TestStalledEventOnAConnection(t *testing.T) {
	u := startHub(t, source(), eventSecretOf(eventSecret), apitest.Trigger("smoke"))
	u.Topics.Events.Budgets()[0].SetSize(5 * events.EventChunk)
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
	if _, err := io.WriteString(conn, head+strings.Repeat(" ", 3*events.EventChunk)); err != nil {
		t.Fatal(err)
	}
	poll.True(t, "the body takes memory", func() bool {
		bytes, _, _ := u.Topics.Events.Budgets()[0].State()
		return bytes == 4*events.EventChunk
	})
	body := append(payload(t, "deployment_status"), bytes.Repeat([]byte(" "), events.EventChunk)...)
	if w := u.Exchange(deliver("deployment_status", body)); w.Code != http.StatusOK {
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
	return interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
		opts ...client.GetOption) error {
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
			w := u.Exchange(deliver("deployment_status", body, apitest.Path(to)))
			if got := apitest.Decode[httpapi.Problem](t, w); w.Code != http.StatusNotFound || got.Detail != events.NoEvents {
				t.Fatalf("%s: %d %s", to, w.Code, w.Body)
			}
		}
	}
	if reads.of[apitest.Namespace] != 1 || len(reads.of) != 1 {
		t.Errorf("reads of Secrets: %v", reads.of)
	}
}

// TestForgedEventsDuringARead: complete bodies that wait for the Secret of their source are cut off like those that stall.
func TestForgedEventsDuringARead(t *testing.T) {
	const forgedPath = "/api/events/other/github0"
	reads := &secretReads{of: map[string]int{}, delayed: "other", started: make(chan struct{}), until: make(chan struct{})}
	u := startHubWith(t, reads.faults(), append(sourcesOf("other", 1), source(), eventSecretOf(eventSecret), apitest.Trigger("smoke"))...)
	body := payload(t, "deployment_status")
	if w := u.Exchange(deliver("deployment_status", body, apitest.Path(forgedPath))); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	_ = u.Clock.Sleep(t.Context(), 6*time.Second) // after which a forged event has the Secret read again
	s := &stalledEvents{u: u, answers: map[int]int{}}
	for range 40 {
		s.send(forgedPath, 400_000)
	}
	forged := make(chan int)
	go func() {
		forged <- u.Exchange(deliver("deployment_status", []byte("{}"), apitest.Path(forgedPath),
			func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") })).Code
	}()
	<-reads.started
	for _, body := range s.bodies {
		body.complete()
	}
	for range 4 {
		if w := u.Exchange(deliver("deployment_status", body)); w.Code != http.StatusOK {
			t.Errorf("beside forged events that wait: %d %s", w.Code, w.Body)
		}
	}
	large := slices.Concat(body, bytes.Repeat([]byte(" "), 400_000))
	if w := u.Exchange(deliver("deployment_status", large)); w.Code != http.StatusOK {
		t.Errorf("a large one: %d %s", w.Code, w.Body)
	}
	poll.True(t, "each body that was cut off is answered, whatever the API server does", func() bool {
		_, bodies, _ := u.Topics.Events.Budgets()[0].State()
		return s.answered() == 40-(bodies-1) // one is the forged event, which waits for the API server
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
