package runs_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/poll"
)

// serveLogs serves the log of the run r, which a node hands out by open, over real connections.
func serveLogs(t *testing.T, deadline time.Duration, state func(*v1alpha1.Suite), limits func(*limits.Limits),
	open func(context.Context) (io.ReadCloser, error)) (*apitest.World, string) {
	t.Helper()
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(stored("r", 0, state), podOf("p", 1)), Limits: limits,
		Config: func(c *api.Config) { c.Runs.PodLogs = apitest.FakeNode{"p/test": open} }})
	server := httptest.NewUnstartedServer(h.API)
	server.Config.WriteTimeout = deadline
	server.Start()
	t.Cleanup(server.Close)
	return h, server.URL + apitest.RunsPath + "/r/logs"
}

type closer struct {
	io.Reader
	close func() error
}

func (c closer) Close() error { return c.close() }

func hasEnded(*v1alpha1.Suite) {}

func isRunning(s *v1alpha1.Suite) { s.Status.Conditions[0] = v1alpha1.Running("Tests.") }

func tryFetch(t *testing.T, url string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+apitest.GoodKey)
	resp, err := http.DefaultClient.Do(r)
	if err == nil {
		t.Cleanup(func() { resp.Body.Close() })
	}
	return resp, err
}

func fetch(t *testing.T, url string) *http.Response {
	t.Helper()
	resp, err := tryFetch(t, url)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// TestSteadyReader: the deadline of the server moves on while bytes flow, so that an answer may take longer. A machine that
// is busy for longer than a deadline gets a longer one.
func TestSteadyReader(t *testing.T) {
	for deadline := 100 * time.Millisecond; ; deadline *= 2 {
		err := readSteadily(t, deadline)
		if err == nil {
			return
		}
		if deadline > 10*time.Second {
			t.Fatal(err)
		}
	}
}

// readSteadily reads an answer that takes four times as long as the deadline.
func readSteadily(t *testing.T, deadline time.Duration) error {
	t.Helper()
	const chunks, chunk = 40, 1 << 10
	_, url := serveLogs(t, deadline, hasEnded, nil, func(context.Context) (io.ReadCloser, error) {
		n := 0
		return io.NopCloser(readerFunc(func(p []byte) (int, error) {
			if n++; n > chunks {
				return 0, io.EOF
			}
			time.Sleep(deadline / 10)
			return copy(p, strings.Repeat("x", chunk)), nil
		})), nil
	})
	resp, err := tryFetch(t, url)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) != chunks*chunk {
		return fmt.Errorf("%d bytes, %w, want %d", len(body), err, chunks*chunk)
	}
	return nil
}

// TestSlowReader: a client that does not read holds neither a slot nor a connection to a node.
func TestSlowReader(t *testing.T) {
	closed := make(chan struct{})
	h, url := serveLogs(t, 0, hasEnded, func(l *limits.Limits) { l.LogWrite = 50 * time.Millisecond },
		func(context.Context) (io.ReadCloser, error) {
			return closer{readerFunc(func(p []byte) (int, error) { return len(p), nil }), func() error { close(closed); return nil }}, nil
		})
	_, _ = tryFetch(t, url) // reads the headers only, if they come in time
	select {
	case <-closed:
	case <-time.After(poll.Limit):
		t.Fatal("the log is still open")
	}
	poll.True(t, "the slot is free", func() bool { return h.Runs.Sending.InUse() == 0 })
}

// TestManyFollowers: a team alone gets 200 at once; the others are turned away, and another team gets in.
func TestManyFollowers(t *testing.T) {
	h, url := serveLogs(t, 0, isRunning, nil, func(ctx context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("line\n"), readerFunc(func([]byte) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}))), nil
	})
	before := apitest.Heap()
	const all = 220
	codes := map[int]int{}
	for range all {
		resp := fetch(t, url+"?follow=true")
		codes[resp.StatusCode]++
		if resp.StatusCode == http.StatusOK {
			if _, err := io.ReadFull(resp.Body, make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if codes[http.StatusOK] != 200 || codes[http.StatusServiceUnavailable] != all-200 {
		t.Errorf("status codes %v, want 200 answers", codes)
	}
	if !h.Runs.Sending.TryAcquire("other") {
		t.Error("there is no room for another team")
	}
	t.Logf("a follower takes %d KiB of the heap, with its client", (apitest.Heap()-before)/200>>10)
	if n := h.Server.InFlight.InUse(); n != 0 {
		t.Errorf("%d are among those in flight", n)
	}
}
