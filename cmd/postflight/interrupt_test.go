package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/gate"
	"github.com/postflight-dev/postflight/cmd/postflight/upload"
)

func TestInterrupted(t *testing.T) {
	quit := errors.New("interrupt signal received")
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(quit)
	late, done := context.WithTimeout(t.Context(), 0)
	defer done()
	request := fmt.Errorf("the server cannot be reached: %w", context.Canceled)
	cases := map[string]struct {
		reason string
		ctx    context.Context
		err    error
		want   string
		code   int
	}{
		"no error":             {ctx: canceled, want: "<nil>"},
		"a request":            {ctx: canceled, err: request, want: "interrupted.", code: -1},
		"with the cause":       {reason: "net/http returns the cause instead of the error of the context", ctx: canceled, err: fmt.Errorf("x: %w", quit), want: "interrupted.", code: -1},
		"with a code":          {ctx: canceled, err: cli.ExitTroubleError(request), want: "interrupted.", code: cli.ExitTrouble},
		"another error":        {reason: "it had come before", ctx: canceled, err: cli.Exitf(cli.ExitFailed, "failed"), want: "failed", code: cli.ExitFailed},
		"no time left":         {ctx: late, err: context.DeadlineExceeded, want: "context deadline exceeded", code: -1},
		"an interrupt of none": {reason: "something else ended the request", ctx: t.Context(), err: request, want: request.Error(), code: -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := cli.Interrupted(tc.ctx, tc.err, "."); fmt.Sprint(got) != tc.want || codeOf(got) != tc.code {
				t.Errorf("%s: %v with code %d, want %q with %d", tc.reason, got, codeOf(got), tc.want, tc.code)
			}
		})
	}
}

// After an interrupted notification, the error says that runs may exist.
func TestNotifyInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that, the server does not notice that the client is gone
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	conn, err := client.New(server.URL, "k")
	if err != nil {
		t.Fatal(err)
	}
	c, _, _ := newTestConsole()
	err = (&gate.NotifyOptions{Server: testServer(c, conn)}).Run(ctx)
	if text := fmt.Sprint(err); codeOf(err) != cli.ExitTrouble || !strings.HasPrefix(text, "interrupted. ") || !strings.Contains(text, "postflight runs list") {
		t.Errorf("%v", err)
	}
}

func TestHashingIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, _, _ := newTestConsole()
	u := &upload.Options{Server: testServer(c, signs(t, "http://127.0.0.1:1")), File: fileOf(t, 1<<40), Attempts: 1} // hours of it
	if err := u.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A line between lines that are redrawn would tear them apart.
func TestAside(t *testing.T) {
	for _, live := range []bool{true, false} {
		c, _, log := newTestConsole()
		c.Live = live
		c.Aside("before")
		p := gate.StartProgress(c, nil)
		c.Aside("meanwhile")
		p.Stop()
		c.Aside("after")
		want := "before\nmeanwhile\nafter\n"
		if live {
			want = "before\nafter\n"
		}
		if got := log.String(); got != want {
			t.Errorf("live %v: %q, want %q", live, got, want)
		}
	}
}
