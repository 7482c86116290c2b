package handon_test

import (
	"context"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/spoke"
	"github.com/postflight-dev/postflight/test/apitest"
)

// hubOf is a hub whose Team has prod-NAME in each of the clusters, of which some are hostile.
func hubOf(t *testing.T, change func(*limits.Limits), clusters map[string]http.HandlerFunc) *apitest.World {
	t.Helper()
	objects := apitest.Acme()
	urls := map[string]string{}
	for name, handler := range clusters {
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		urls[name] = s.URL
		objects = append(objects, environment("prod-"+name, name))
	}
	clients := spoke.New(spoke.Config{
		Cluster: func(_ context.Context, name string) (*v1alpha1.Cluster, error) {
			return &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{URL: urls[name], Teams: []string{"acme"}}}, nil
		},
		Token: func(context.Context, string) (string, error) { return "token-hub", nil },
		Hub:   "hub", HTTP: func(*x509.CertPool) *http.Client { return outbound.Streaming(nil) },
	})
	return apitest.Start(t, apitest.Setup{Objects: objects, Limits: change, Config: func(c *api.Config) { c.Clusters = clients }})
}

const ofEU = "/api/v0/environments/prod-eu"

// TestHostileAnswers: a cluster that was taken over, or what is in its place, reaches neither the browsers of the hub's users nor its cookies.
func TestHostileAnswers(t *testing.T) {
	answer := func(status int, media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	cases := map[string]struct {
		reason string
		answer http.HandlerFunc
		status int
		code   string
	}{
		"a page":    {"a browser would run its scripts as those of the hub", answer(200, "text/html", "<script>"), 503, "cluster_unavailable"},
		"a picture": {"so it would with these", answer(200, "image/svg+xml", "<script>"), 503, "cluster_unavailable"},
		"a script":  {"or load it", answer(200, "text/javascript", "alert(1)"), 503, "cluster_unavailable"},
		"no type":   {"browsers would guess", answer(200, "", "<script>"), 503, "cluster_unavailable"},
		"a proxy":   {"its page is no answer", answer(502, "application/json", "<script>"), 503, "cluster_unavailable"},
		"redirect": {"it would lead clients with their keys elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example.com", http.StatusTemporaryRedirect)
		}, 424, "cluster_refused"},
		"not let in":   {"the key of the sender is good, so 401 would mislead", answer(401, "application/problem+json", "{}"), 424, "cluster_refused"},
		"hangs up":     {"without an answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 503, "cluster_unavailable"},
		"long headers": {"64 KiB are read", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Vary", strings.Repeat("x", 100<<10)) }, 503, "cluster_unavailable"},
		"informational": {"switching protocols would be a tunnel", func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		}, 503, "cluster_unavailable"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := hubOf(t, nil, map[string]http.HandlerFunc{"eu": tc.answer})
			w := h.Exchange(apitest.Keyed(http.MethodGet, ofEU, ""))
			problem := apitest.Decode[httpapi.Problem](t, w)
			if w.Code != tc.status || problem.FailureCode != tc.code || strings.Contains(w.Body.String(), "script") {
				t.Errorf("%s: %d %s", tc.reason, w.Code, w.Body)
			}
			apitest.CheckProblem(t, problem, w)
		})
	}
}

func hijack(w http.ResponseWriter, answer string) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_, _ = io.WriteString(c, answer)
		_ = c.Close()
	}
}

// TestHeadersOfClusters: of a good answer, only headers of the API are passed on.
func TestHeadersOfClusters(t *testing.T) {
	h := hubOf(t, nil, map[string]http.HandlerFunc{"eu": func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Retry-After": "10", "Set-Cookie": "postflight_session=evil", "Location": "https://evil.example.com",
			"Strict-Transport-Security": "max-age=0", "Access-Control-Allow-Origin": "*", "Clear-Site-Data": `"*"`, "X-Request-Id": "evil",
			"Cache-Control": "public, max-age=31536000", "Refresh": "0; url=https://evil.example.com", "Www-Authenticate": "Basic",
		} {
			w.Header().Set(name, value)
		}
		_, _ = io.WriteString(w, `{"name":"prod-eu"}`)
	}})
	h.Validate = false // the answer lacks most
	r := apitest.Keyed(http.MethodGet, ofEU, "")
	r.Header.Set("X-Request-Id", "mine")
	w := h.Exchange(r)
	want := http.Header{
		"Content-Type": {"application/json"}, "Retry-After": {"10"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"},
		"X-Request-Id": {"mine"},
	}
	if diff := cmp.Diff(want, w.Header()); diff != "" || w.Code != http.StatusOK {
		t.Errorf("%d:\n%s", w.Code, diff)
	}
}

// TestCredentialsStayAtTheHub: a cluster gets the question, and nothing else of the sender.
func TestCredentialsStayAtTheHub(t *testing.T) {
	var got *http.Request
	h := hubOf(t, nil, map[string]http.HandlerFunc{"eu": func(_ http.ResponseWriter, r *http.Request) { got = r }})
	r := apitest.Keyed(http.MethodGet, ofEU, "")
	for name, value := range map[string]string{
		"Cookie": "postflight_session=mine", "X-Forwarded-For": "10.1.2.3", "Forwarded": "for=10.1.2.3", "X-Auth-Request-Email": "ann@example.com",
		"Proxy-Authorization": "Basic mine", "Accept": "application/json", "Referer": "https://ci.example.com", "X-Anything": "mine",
	} {
		r.Header.Set(name, value)
	}
	h.Exchange(r)
	for name, values := range got.Header {
		switch name {
		case "Accept", "Accept-Encoding", "Authorization", "Postflight-Delegation", "Postflight-Team", "User-Agent", "X-Request-Id":
		default:
			t.Errorf("the cluster sees %s: %q", name, values)
		}
	}
	if credential := got.Header.Get("Authorization"); credential != "Bearer token-hub" {
		t.Errorf("the cluster sees the credential %q", credential)
	}
}

// TestPathsOfClusters: a name that is a path reaches no other route of the cluster, nor of a proxy, which would resolve it.
func TestPathsOfClusters(t *testing.T) {
	got := map[string]bool{}
	h := hubOf(t, nil, map[string]http.HandlerFunc{"eu": func(w http.ResponseWriter, r *http.Request) {
		got[r.RequestURI] = true
		w.WriteHeader(http.StatusNotFound)
	}})
	for _, name := range []string{"prod-eu-x%2F..%2F..%2Fruns", "prod-eu-%252e%252e%252fruns", "prod-eu-x%2F%2E%2E", "prod-eu-x%3Fa%3Db%23c", "prod-eu-%5C..%5Cruns",
		"prod-eu-0123456789abcdef"} {
		h.Exchange(apitest.Keyed(http.MethodGet, "/api/v0/environments/"+name, ""))
	}
	want := map[string]bool{"/api/v0/environments/prod-eu-0123456789abcdef": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the cluster is asked for:\n%s", diff)
	}
}

// TestSlowClusterTakesNoSlots: it has at most its share of the requests that are passed on, and the others answer as before.
func TestSlowClusterTakesNoSlots(t *testing.T) {
	const all, share = 9, 8
	arrived, leave := make(chan struct{}, all), make(chan struct{})
	h := hubOf(t, func(l *limits.Limits) { l.HandedOn = all }, map[string]http.HandlerFunc{
		"eu": func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-leave },
		"us": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{}`)
		},
	})
	h.Validate = false
	ended := make(chan int, share)
	for range share {
		go func() { ended <- h.Exchange(apitest.Keyed(http.MethodGet, ofEU, "")).Code }()
		<-arrived
	}
	if w := h.Exchange(apitest.Keyed(http.MethodGet, ofEU, "")); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "overloaded") {
		t.Errorf("one more for the slow cluster: %d %s", w.Code, w.Body)
	}
	if w := h.Exchange(apitest.Keyed(http.MethodGet, "/api/v0/environments/prod-us", "")); w.Code != http.StatusOK {
		t.Errorf("another cluster: %d %s", w.Code, w.Body)
	}
	close(leave)
	for range share {
		<-ended
	}
}

// TestAnswersThatBreakOff: the sender must not take a part for the whole, so its connection breaks off, too.
func TestAnswersThatBreakOff(t *testing.T) {
	h := hubOf(t, nil, map[string]http.HandlerFunc{"eu": func(w http.ResponseWriter, _ *http.Request) {
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"name\":")
	}})
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	r := apitest.Keyed(http.MethodGet, ofEU, "")
	out, err := http.NewRequestWithContext(t.Context(), r.Method, s.URL+r.URL.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	out.Header = r.Header
	resp, err := s.Client().Do(out)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%d %s is a whole answer", resp.StatusCode, text)
	}
}
