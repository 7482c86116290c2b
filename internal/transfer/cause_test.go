package transfer_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/transfer"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestCauseOf asks real servers.
func TestCauseOf(t *testing.T) {
	handle := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/silent":
			<-r.Context().Done()
		case "/redirect":
			w.Header().Set("Location", "http://[::1/?"+r.URL.RawQuery)
			w.WriteHeader(http.StatusFound)
		case "/cut":
			panic(http.ErrAbortHandler)
		}
	}
	up, closed, untrusted := httptest.NewServer(http.HandlerFunc(handle)), httptest.NewServer(nil), httptest.NewTLSServer(nil)
	closed.Close()
	t.Cleanup(up.Close)
	t.Cleanup(untrusted.Close)
	dialer := &net.Dialer{}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "host.invalid:") { // whatever the resolver of this machine says
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "host.invalid", IsNotFound: true}}
		}
		return dialer.DialContext(ctx, network, address)
	}}}
	t.Cleanup(client.CloseIdleConnections)
	for name, tc := range map[string]struct {
		url  string
		want transfer.Cause
	}{
		"refused":      {closed.URL, transfer.Refused},
		"unknown host": {"http://host.invalid", transfer.UnknownHost},
		"untrusted":    {untrusted.URL, transfer.Untrusted},
		"silent":       {up.URL + "/silent", transfer.Silent},
		"cut":          {up.URL + "/cut", transfer.Cut},
		"redirect":     {up.URL + "/redirect", transfer.Unknown},
		"no URL":       {"gopher://" + strings.TrimPrefix(up.URL, "http://"), transfer.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			limit := poll.Limit
			if tc.want == transfer.Silent {
				limit = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, tc.url+"?signature=secret", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(r)
			if err == nil {
				response.Body.Close()
				t.Fatal("it answered")
			}
			if got := transfer.CauseOf(err); got != tc.want {
				t.Errorf("the cause of %v is %d, want %d", err, got, tc.want)
			}
			if text := transfer.WithoutURL(err).Error(); strings.Contains(text, "secret") {
				t.Errorf("the URL shows: %s", text)
			}
		})
	}
	if err := errors.New("x"); !errors.Is(transfer.WithoutURL(err), err) {
		t.Error("another error is changed")
	}
}
