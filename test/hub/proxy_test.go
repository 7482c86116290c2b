package hub

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands between the hub and the cluster. What passes has the credentials of the hub.
type proxy struct {
	url string

	closed atomic.Bool // no request reaches the cluster, as if it was not there

	// Of that many requests the last one is concerned; 0: none is.
	loses, repeats, delays atomic.Int64

	passed, refused, lost, repeated, delayed atomic.Int64
}

// delay is longer than most answers take, so that those of later requests overtake it.
const delay = 100 * time.Millisecond

var errLost = errors.New("the answer was lost")

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = to.Host
		},
		Transport:      &repeating{p, transport},
		FlushInterval:  -1, // for logs
		ModifyResponse: p.passBack,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.closed.Load() {
			p.refused.Add(1)
			panic(http.ErrAbortHandler)
		}
		pass.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(transport.CloseIdleConnections)
	p.url = server.URL
	return p
}

func last(n int64, of *atomic.Int64) bool { return of.Load() > 0 && n%of.Load() == 0 }

// passBack loses an answer: the request was done.
func (p *proxy) passBack(resp *http.Response) error {
	n := p.passed.Add(1)
	if last(n, &p.delays) {
		p.delayed.Add(1)
		time.Sleep(delay)
	}
	if last(n, &p.loses) || p.closed.Load() {
		p.lost.Add(1)
		return errLost
	}
	return nil
}

// repeating sends some requests twice, and answers what the second one is answered.
type repeating struct {
	p    *proxy
	next http.RoundTripper
}

func (r *repeating) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil || !last(r.p.passed.Load()+1, &r.p.repeats) {
		return r.next.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	r.p.repeated.Add(1)
	first := request.Clone(request.Context())
	first.Body = io.NopCloser(bytes.NewReader(body))
	if resp, err := r.next.RoundTrip(first); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return r.next.RoundTrip(request)
}
