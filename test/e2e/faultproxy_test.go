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

// faultProxy is a proxy between a manager and the API server. It can refuse a request, lose the answer,
// or let the test kill the manager just before or just after a request.
type faultProxy struct {
	t          testing.TB
	kubeconfig string
	closed     atomic.Bool // for rules that apply only at times

	mu    sync.Mutex
	rules []refusal
	trap  *trap
	cuts  func(*http.Request) bool // the answers to these requests are lost
	next  http.RoundTripper
}

// refusal is a status that the proxy returns in place of the API server.
type refusal struct {
	match  func(*http.Request) bool
	status int
}

// trap is a request at which the test kills the manager.
type trap struct {
	request func(r *http.Request, body string) bool
	after   bool // kill after the API server has handled the request, before its answer
	sprung  chan struct{}
	once    sync.Once
}

var (
	errTrapped = errors.New("the manager is being killed")
	errCut     = errors.New("the answer of the API server is lost")
)

// newFaultProxy starts a proxy, and writes a kubeconfig for it with the manager's own rights.
func newFaultProxy(t testing.TB, c *cluster) *faultProxy {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.dir, "manager.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	d := &faultProxy{t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
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
	// Clients of the proxy have the rights of the manager, so they need this token.
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
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // killed clients are expected
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	content := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: proxy,
clusters: [{name: proxy, cluster: {server: "%s", certificate-authority-data: "%s"}}],
users: [{name: proxy, user: {token: "%s"}}],
contexts: [{name: proxy, context: {cluster: proxy, user: proxy}}]}`, server.URL, certificate(server), token)
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
func (d *faultProxy) refuse(status int, match func(*http.Request) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rules = append(d.rules, refusal{match, status})
}

// set sets a trap for the next matching request.
func (d *faultProxy) set(after bool, request func(r *http.Request, body string) bool) *trap {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trap = &trap{request: request, after: after, sprung: make(chan struct{})}
	return d.trap
}

// clear removes the trap.
func (d *faultProxy) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trap = nil
}

// RoundTrip forwards a request, unless a rule or the trap applies.
func (d *faultProxy) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	rules, trap, cuts := d.rules, d.trap, d.cuts
	d.mu.Unlock()
	for _, rule := range rules {
		if rule.match(r) {
			return &http.Response{StatusCode: rule.status, Request: r, Header: http.Header{}, Body: http.NoBody}, nil
		}
	}
	if cuts != nil && cuts(r) {
		return nil, d.doAndForget(r)
	}
	if trap == nil || r.Method == http.MethodGet {
		return d.next.RoundTrip(r)
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if !trap.request(r, string(body)) {
		return d.next.RoundTrip(r)
	}
	return nil, d.spring(trap, r)
}

// spring notifies the test, and holds the request until the manager is dead, with all others that match
// the trap.
func (d *faultProxy) spring(trap *trap, r *http.Request) error {
	if trap.after {
		if err := d.doAndForget(r); !errors.Is(err, errCut) {
			return err
		}
	}
	trap.once.Do(func() { close(trap.sprung) })
	<-r.Context().Done()
	return errTrapped
}

// doAndForget forwards a request and drops its answer.
func (d *faultProxy) doAndForget(r *http.Request) error {
	resp, err := d.next.RoundTrip(r)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return errCut
}
