// Package codehost fakes GitHub and GitLab for tests. The fakes refuse every request that the descriptions of their APIs
// do not allow, answer as described, keep what is written as the real ones do, enforce their limits, and fail on demand.
package codehost

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Write is a check that was written and accepted.
type Write struct {
	Repository, SHA, Name string
	State                 string // as the host names it; of a completed check run, its conclusion
	Description           string
	URL                   string // of the run's page
	At                    time.Time

	Body map[string]any
	id   int64
}

// Host is a fake.
type Host struct {
	*httptest.Server
	t      testing.TB
	router routers.Router

	PerMinute, PerHour int // writes that are accepted; beyond, the answer is that of the secondary limit

	mu       sync.Mutex
	token    string
	fault    *Fault
	failed   int      // requests because of the fault
	requests []string // method and path, also of refused ones
	seen     map[string]bool
	writes   []Write
	checks   []*checkRun
	statuses []*status
	nextID   int64
	beside
	approvals
}

func start(
	t testing.TB, description []byte, routes map[string]http.HandlerFunc, more ...map[string]func(*Host, http.ResponseWriter, *http.Request),
) *Host {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(description)
	if err == nil {
		err = document.Validate(context.Background())
	}
	if err != nil {
		t.Fatalf("read the description: %v", err)
	}
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{t: t, router: router, PerMinute: 80, PerHour: 500, token: "t0ken", seen: map[string]bool{}}
	mux := http.NewServeMux()
	for pattern, handler := range routes {
		mux.HandleFunc(pattern, handler)
	}
	for _, routes := range more {
		for pattern, handler := range routes {
			mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
				if !h.forbids(w, r) {
					handler(h, w, r)
				}
			})
		}
	}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serve(mux, w, r) }))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h
}

// Token is the one that the host accepts.
func (h *Host) Token() string { return h.token }

// Fail makes the host fail from now on; nil ends that.
func (h *Host) Fail(f *Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault, h.failed = f, 0
}

// Writes are what the host accepted, in order.
func (h *Host) Writes() []Write {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.writes)
}

// States are those of the writes about a commit, in order.
func (h *Host) States(sha string) (states []string) {
	for _, w := range h.Writes() {
		if w.SHA == sha {
			states = append(states, w.State)
		}
	}
	return states
}

// Requests are all that arrived, as method and path.
func (h *Host) Requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// Saw reports whether a text was in the header of any request.
func (h *Host) Saw(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for value := range h.seen {
		if strings.Contains(value, text) {
			return true
		}
	}
	return false
}

// limited reports whether a write is beyond the limits. The lock is held.
func (h *Host) limited(w http.ResponseWriter) bool {
	within := func(window time.Duration) (n int) {
		for _, write := range h.writes {
			if time.Since(write.At) < window {
				n++
			}
		}
		return n
	}
	if within(time.Minute) < h.PerMinute && within(time.Hour) < h.PerHour {
		return false
	}
	w.Header().Set("Retry-After", "60")
	answer(w, http.StatusForbidden, map[string]any{
		"message":           "You have exceeded a secondary rate limit.",
		"documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits",
	})
	return true
}

func (h *Host) add(w Write) {
	w.At = time.Now()
	h.writes = append(h.writes, w)
}

func (h *Host) id() int64 {
	h.nextID++
	return h.nextID
}

func read(r *http.Request) map[string]any {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	return body
}

func text(body map[string]any, member string) string {
	value, _ := body[member].(string)
	return value
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"message": message})
}

func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// page is the part of a list that a request asks for; both hosts count pages from 1.
func page[T any](r *http.Request, list []T, perPage int) []T {
	number := func(name string, value int) int {
		if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
			return n
		}
		return value
	}
	perPage = number("per_page", perPage)
	from := min(len(list), (number("page", 1)-1)*perPage)
	return list[from:min(len(list), from+perPage)]
}
