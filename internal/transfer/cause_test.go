package transfer_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/transfer"
)

// TestCauseOf asks real servers.
func TestCauseOf(t *testing.T) {
	handle := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/silent":
			<-r.Context().Done()
		case "/cut":
			panic(http.ErrAbortHandler)
		}
	}
	up, closed, untrusted := httptest.NewServer(http.HandlerFunc(handle)), httptest.NewServer(nil), httptest.NewTLSServer(nil)
	closed.Close()
	t.Cleanup(up.Close)
	t.Cleanup(untrusted.Close)
	for name, tc := range map[string]struct {
		url  string
		want transfer.Cause
	}{
		"refused":      {closed.URL, transfer.Refused},
		"unknown host": {"http://host.invalid", transfer.UnknownHost},
		"untrusted":    {untrusted.URL, transfer.Untrusted},
		"silent":       {up.URL + "/silent", transfer.Silent},
		"cut":          {up.URL + "/cut", transfer.Cut},
		"no URL":       {"gopher://" + strings.TrimPrefix(up.URL, "http://"), transfer.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, tc.url+"?signature=secret", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(r)
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
