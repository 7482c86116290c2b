package api_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestConnectionsWithoutAKey: the answer to a request without a valid key is the last on its connection.
func TestConnectionsWithoutAKey(t *testing.T) {
	suspended := apitest.Team(apitest.Namespace)
	suspended.Spec.Suspended = true
	cases := map[string]struct {
		request *http.Request
		status  int
		team    *v1alpha1.Team
		closes  bool
	}{
		"a good key":             {request: apitest.Ask("a", ""), status: 200},
		"a good key, a wrong id": {request: apitest.Ask("b", ""), status: 404},
		"no key":                 {request: httptest.NewRequest(http.MethodGet, apitest.GreenlightPath+"a", nil), status: 401, closes: true},
		"a suspended team":       {request: apitest.Ask("a", ""), status: 403, team: suspended, closes: true},
		"an unknown path":        {request: httptest.NewRequest(http.MethodGet, "/", nil), status: 404, closes: true},
		"a wrong method":         {request: httptest.NewRequest(http.MethodPut, apitest.DeploySuccessPath, nil), status: 405, closes: true},
		"the description":        {request: httptest.NewRequest(http.MethodGet, "/openapi.yaml", nil), status: 200, closes: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := apitest.Acme(apitest.ARun("a", 0, v1alpha1.Passed("")))
			if tc.team != nil {
				objects[0] = tc.team
			}
			w := httptest.NewRecorder()
			apitest.Start(t, apitest.Setup{Objects: objects}).ServeHTTP(w, tc.request)
			if got := w.Header().Get("Connection") == "close"; w.Code != tc.status || got != tc.closes {
				t.Errorf("status %d, closes: %t; want %d, %t", w.Code, got, tc.status, tc.closes)
			}
		})
	}
}

// TestLinksIgnoreTheHostHeader: otherwise, anyone who can choose it could make a pipeline print a link to their page.
func TestLinksIgnoreTheHostHeader(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("a", 0, v1alpha1.Failed("Exit code 1.")))})
	r := apitest.Ask("a", "")
	r.Host = "evil.example.com"
	r.Header.Set("X-Forwarded-Host", "evil.example.com")
	w := h.Exchange(r)
	got := apitest.Decode[httpapi.Greenlight](t, w)
	if want := "/runs/acme/a"; got.RootRunURL != want || got.BlockingBugURLs[0] != want || strings.Contains(w.Body.String(), "evil") {
		t.Errorf("links of %s, want %s", w.Body, want)
	}
}

func TestLongURLDoesNotWait(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("a", 0), apitest.ARun("b", 0, v1alpha1.Passed("")))})
	long := "&x=" + strings.Repeat("x", limits.MaxWaitingURL)
	for id, want := range map[string]int{"a": http.StatusBadRequest, "b": http.StatusOK} {
		if w := h.Exchange(apitest.Ask(id, "?wait=5"+long)); w.Code != want {
			t.Errorf("%s: status %d, want %d: %s", id, w.Code, want, w.Body)
		}
	}
}

// TestWaitingKeepsNothing: a request that waits does not keep its headers.
func TestWaitingKeepsNothing(t *testing.T) {
	tier.All(t, "the heap that it measures differs with what the other tests leave")
	const clients, each = 200, 14 << 10
	small, large := heapOfWaiting(t, clients, 0), heapOfWaiting(t, clients, each)
	perRequest := (large - small) / clients
	t.Logf("WAITING header_bytes=%d heap_bytes_each=%d more_than_without=%d", each, large/clients, perRequest)
	if perRequest > each/4 { // other tests leave a KiB or two to the collector
		t.Errorf("%d bytes of each request that waits are kept, of %d bytes of headers", perRequest, each)
	}
}

// heapOfWaiting is how much the heap grows by so many requests that wait, in bytes.
func heapOfWaiting(t *testing.T, clients, bytes int) int {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.ARun("a", 0)),
		Config: func(c *api.Config) { c.Clock = clock.RealClock{} }})
	server := httptest.NewUnstartedServer(h.API)
	h.Limits.Apply(server.Config, apitest.Budget)
	server.Start()
	defer server.Close()
	defer h.Drain()
	before := apitest.Heap()
	for range clients {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET %sa?wait=50 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n", apitest.GreenlightPath, apitest.GoodKey)
		for i := range bytes / 100 {
			fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("x", 90))
		}
		fmt.Fprint(c, "\r\n")
	}
	poll.Until(t, fmt.Sprintf("%d requests wait", clients), func() string {
		if n := h.Topics.Runs.Waiting.InUse(); n < clients {
			return fmt.Sprintf("%d do", n)
		}
		return ""
	})
	return apitest.Heap() - before
}
