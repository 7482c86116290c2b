package replicas

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/postflight-dev/postflight/test/freeport"
)

// proxy stands between managers and the API server. What passes has the rights of the manager.
type proxy struct {
	t       testing.TB
	address string
	handler http.Handler

	refuse atomic.Pointer[http.HandlerFunc] // answers requests for Suites, in place of the API server

	every  atomic.Int64 // of that many creates of a Suite the last one's answer is lost; 0: none is
	writes atomic.Int64 // creates of Suites that passed
	lost   atomic.Int64 // answers to them that were lost

	expired atomic.Int64 // watches that the API server ended since they were too old
	lags    atomic.Bool  // watches report nothing meanwhile

	mu     sync.Mutex
	server *http.Server
}

func newProxy(t testing.TB, config *rest.Config) *proxy {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, address: freeport.Address(t)}
	pass := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1, // for watches
		ModifyResponse: p.passBack,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:       quiet,
	}
	p.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse := p.refuse.Load(); refuse != nil && strings.Contains(r.URL.Path, "/suites") {
			(*refuse)(w, r)
			return
		}
		pass.ServeHTTP(w, r)
	})
	p.up()
	t.Cleanup(p.down)
	return p
}

func (p *proxy) passBack(r *http.Response) error {
	if r.Request.URL.Query().Get("watch") != "" {
		r.Body = &watched{r.Body, p}
	}
	return p.loseSome(r)
}

// watched is a watch, of which it counts the end that says that it is too old. It may be held up.
type watched struct {
	io.ReadCloser
	p *proxy
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if bytes.Contains(b[:n], []byte(`"code":410`)) {
		w.p.expired.Add(1)
	}
	for w.p.lags.Load() {
		time.Sleep(20 * time.Millisecond)
	}
	return n, err
}

// loseSome makes an error of an answer, which cuts the client's connection: the write has happened.
func (p *proxy) loseSome(r *http.Response) error {
	if r.Request.Method != http.MethodPost || !strings.HasSuffix(r.Request.URL.Path, "/suites") {
		return nil
	}
	if n, every := p.writes.Add(1), p.every.Load(); every == 0 || n%every != 0 {
		return nil
	}
	p.lost.Add(1)
	return fmt.Errorf("lost")
}

// up listens; down refuses connections, and cuts those that there are.
func (p *proxy) up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Error(err)
		return
	}
	p.server = &http.Server{Handler: p.handler, ErrorLog: quiet}
	go func(s *http.Server) { _ = s.Serve(listener) }(p.server)
}

func (p *proxy) down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.server.Close()
}

// kubeconfig is the path of one that leads through the proxy.
func (p *proxy) kubeconfig() string {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: proxy
clusters: [{name: proxy, cluster: {server: "http://%s"}}]
contexts: [{name: proxy, context: {cluster: proxy, user: none}}]
users: [{name: none, user: {}}]
`, p.address)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}
