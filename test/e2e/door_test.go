package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// door stands between a manager and the API server: it understands requests, and can refuse one, or
// let the test kill the manager just before one is done or just after.
type door struct {
	t          testing.TB
	kubeconfig string
	closed     atomic.Bool // for rules that come and go

	mu    sync.Mutex
	rules []refusal
	trap  *trap
	cuts  func(*http.Request) bool // the answers to these are lost
	next  http.RoundTripper
}

// refusal is a status that requests get which the API server never sees.
type refusal struct {
	of     func(*http.Request) bool
	status int
}

// trap is a request at which the manager is to be killed.
type trap struct {
	request func(r *http.Request, body string) bool
	after   bool // the API server has done it, and the manager does not hear of it
	sprung  chan struct{}
	once    sync.Once
}

var (
	errTrapped = errors.New("the manager is being killed")
	errCut     = errors.New("the answer of the API server is lost")
)

// newDoor makes a door and a kubeconfig that leads through it, with the manager's own rights.
func newDoor(t testing.TB, c *cluster) *door {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.dir, "manager.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	d.next = &http.Transport{TLSClientConfig: tlsConfig, MaxIdleConnsPerHost: 100,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	// Whoever comes through has the manager's rights, so that it has to know this token.
	token := random(20)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Authorization") },
		Transport:     d,
		FlushInterval: -1, // watches
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "not for you", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // killed clients are what it is for
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	content := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: door,
clusters: [{name: door, cluster: {server: "%s", certificate-authority-data: "%s"}}],
users: [{name: door, user: {token: "%s"}}],
contexts: [{name: door, context: {cluster: door, user: door}}]}`, server.URL, certificate(server), token)
	if err := os.WriteFile(d.kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

func certificate(server *httptest.Server) string {
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return base64.StdEncoding.EncodeToString(block)
}

// refuse answers requests itself.
func (d *door) refuse(status int, of func(*http.Request) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rules = append(d.rules, refusal{of, status})
}

// set makes the next matching request spring the trap.
func (d *door) set(after bool, request func(r *http.Request, body string) bool) *trap {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trap = &trap{request: request, after: after, sprung: make(chan struct{})}
	return d.trap
}

// clear lets everything through again.
func (d *door) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trap = nil
}

// RoundTrip does what a request asks for, unless a rule or the trap says otherwise.
func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	rules, trap, cuts := d.rules, d.trap, d.cuts
	d.mu.Unlock()
	for _, rule := range rules {
		if rule.of(r) {
			return &http.Response{StatusCode: rule.status, Request: r, Header: http.Header{}, Body: http.NoBody}, nil
		}
	}
	if cuts != nil && cuts(r) {
		return nil, d.doAndForget(r)
	}
	if trap == nil || r.Method == http.MethodGet {
		return d.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !trap.request(r, string(body)) {
		return d.next.RoundTrip(r)
	}
	return nil, d.spring(trap, r)
}

// spring tells the test, and keeps the manager from hearing an answer until it is dead. Other requests
// of the trap's kind share its fate: the manager is dead to the world from here on.
func (d *door) spring(trap *trap, r *http.Request) error {
	if trap.after {
		if err := d.doAndForget(r); !errors.Is(err, errCut) {
			return err
		}
	}
	trap.once.Do(func() { close(trap.sprung) })
	<-r.Context().Done()
	return errTrapped
}

// doAndForget does what a request asks for, and cuts the connection in place of the answer.
func (d *door) doAndForget(r *http.Request) error {
	resp, err := d.next.RoundTrip(r)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return errCut
}
