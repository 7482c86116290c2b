package pages_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/server/pages"
)

// place is where a route leads with the samples.
type place struct {
	pattern, method, path string
}

// namesTeam reports whether the path belongs to a team.
func (p place) namesTeam() bool { return strings.Contains(p.pattern, "{namespace}") }

// goesOn reports whether the answer has no end.
func (p place) goesOn() bool { return strings.HasSuffix(p.path, "/live") }

var wildcard = regexp.MustCompile(`\{([a-z]+)(\.\.\.)?\}`)

// places are all routes, with names that exist.
func places(t *testing.T, h *world) []place {
	t.Helper()
	b := h.browser(t, readKey)
	file := regexp.MustCompile(`/files/([^/"]+)/(pod-[^/"]+)/([^"]+\.png)`).FindStringSubmatch(b.get(failedRun + "/artifacts").body)
	asset := regexp.MustCompile(`/assets/([^/"]+)/([^"]+\.css)`).FindStringSubmatch(b.get("/").body)
	if file == nil || asset == nil {
		t.Fatal("the pages name no file, or no asset")
	}
	names := map[string]string{"namespace": team, "grant": file[1], "pod": file[2], "path": file[3], "hash": asset[1], "name": asset[2],
		"sha": commit("57a1e0ff")}
	var all []place
	for _, pattern := range h.Routes() {
		method, path, hasMethod := strings.Cut(pattern, " ")
		if !hasMethod {
			method, path = http.MethodGet, pattern
		}
		names["id"] = strings.TrimPrefix(failedRun, "/runs/shop/")
		if strings.HasPrefix(path, "/triggers/") {
			names["id"] = "checkout"
		}
		if strings.HasPrefix(path, "/environments/") {
			names["id"] = "production"
		}
		path = wildcard.ReplaceAllStringFunc(strings.ReplaceAll(path, "{$}", ""), func(w string) string {
			return names[wildcard.FindStringSubmatch(w)[1]]
		})
		all = append(all, place{pattern, method, path})
	}
	if len(all) < 25 {
		t.Fatalf("%d routes", len(all))
	}
	return all
}

// head returns the status and the headers of an answer, which may have no end.
func (b *browser) head(method, path string, header http.Header) (int, http.Header) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, b.h.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Host = header.Get("Host")
	if b.cookie != nil {
		req.AddCookie(b.cookie)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header
}

func filled(t *testing.T, options ...option) *world {
	t.Helper()
	h := newWorld(t, samples(), append([]option{sampleTests}, options...)...)
	h.logs.write(sampleLog())
	h.artifacts.files = sampleFiles()
	return h
}

// TestHeadersOfEveryRoute: whoever asks for whatever, and however it ends, a browser is told what the answer may do.
func TestHeadersOfEveryRoute(t *testing.T) {
	h := filled(t, func(c *pages.Config) { c.Hosts = []string{"ci.example.com"} })
	asks := map[string]struct {
		key    string
		method string // instead of that of the route
		header http.Header
	}{
		"a reader":         {key: readKey},
		"a stream":         {key: readKey, header: http.Header{"Accept": {"text/event-stream"}}},
		"somebody who may": {key: actKey},
		"another team":     {key: otherKey},
		"nobody":           {},
		"another method":   {key: readKey, method: http.MethodDelete},
		"another host":     {key: readKey, header: http.Header{"Host": {"evil.example"}}},
		"another site":     {key: actKey, header: http.Header{"Sec-Fetch-Site": {"cross-site"}}},
		"another range":    {key: readKey, header: http.Header{"Range": {"bytes=9999999-"}}},
	}
	all := places(t, h)
	for name, ask := range asks {
		b := h.browser(t, ask.key)
		for _, p := range append(all, place{"", "GET", "/assets/none/none"}, place{"", "GET", "/files/none/none/none"},
			place{"", "GET", "//runs"}, place{"", "GET", "/runs/shop/"}) {
			method := p.method
			if ask.method != "" {
				method = ask.method
			}
			code, got := b.head(method, p.path, ask.header)
			checkHeaders(t, name+": "+method+" "+p.path, code, got)
		}
	}
}

// checkHeaders knows that a file runs in an origin of its own, from which it must be able to load others, and in a frame
// of the pages.
func checkHeaders(t *testing.T, what string, code int, got http.Header) {
	t.Helper()
	want := map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	}
	policy := got.Get("Content-Security-Policy")
	isFile, framedBy := strings.HasPrefix(policy, "sandbox "), "'none'"
	if isFile {
		want["Cross-Origin-Resource-Policy"], want["X-Frame-Options"], framedBy = "cross-origin", "SAMEORIGIN", "'self'"
	}
	for name, value := range want {
		if len(got.Values(name)) != 1 || got.Get(name) != value {
			t.Errorf("%s: %d with %s %q, want %q", what, code, name, got.Values(name), value)
		}
	}
	if !strings.Contains(policy, "frame-ancestors "+framedBy) || !strings.Contains(policy, "base-uri 'none'") ||
		strings.Contains(policy, "allow-same-origin") {
		t.Errorf("%s: %d with the policy %q", what, code, policy)
	}
	if !isFile && (strings.Contains(policy, "unsafe") || !strings.HasPrefix(policy, "default-src 'none';")) {
		t.Errorf("%s: %d with the policy %q", what, code, policy)
	}
	if isFile && !strings.Contains(what, "/files/") {
		t.Errorf("%s: %d with the policy of a file", what, code)
	}
	if keeps := isFile || strings.Contains(what, "/assets/"); got.Get("Cache-Control") != "no-store" && !keeps {
		t.Errorf("%s: %d with Cache-Control %q", what, code, got.Get("Cache-Control"))
	}
	if code != http.StatusOK && strings.Contains(got.Get("Cache-Control"), "immutable") {
		t.Errorf("%s: browsers keep an error: %d", what, code)
	}
}

// TestOtherTeamsFindNothing: each route of a team, in each form, is not there for another team, and nothing happens.
func TestOtherTeamsFindNothing(t *testing.T) {
	h := filled(t)
	rival, nobody := h.browser(t, otherKey), h.browser(t, "")
	for _, p := range places(t, h) {
		if !p.namesTeam() {
			continue
		}
		for name, header := range map[string]http.Header{
			"once": {}, "live": {"Accept": {"text/event-stream"}}, "as JSON": {"Accept": {"application/json"}},
			"under another name": {"X-Key-Of": {readKey}},
		} {
			if code, _ := rival.head(p.method, p.path, header); code != http.StatusNotFound {
				t.Errorf("another team, %s: %s %s is %d, want 404", name, p.method, p.path, code)
			}
			if code, _ := nobody.head(p.method, p.path, header); code != http.StatusSeeOther {
				t.Errorf("nobody, %s: %s %s is %d, want 303", name, p.method, p.path, code)
			}
		}
	}
	if done := h.actions.all(); len(done) > 0 {
		t.Errorf("somebody did %v", done)
	}
}

// TestFileLinks: a link to a file opens it as long as the one who got it may see the run, and no other.
func TestFileLinks(t *testing.T) {
	h := filled(t)
	var link string
	for _, p := range places(t, h) {
		if strings.HasPrefix(p.path, "/files/") {
			link = p.path
		}
	}
	nobody := h.browser(t, "") // as from a report, in an origin of its own
	if code, _ := nobody.head(http.MethodGet, link, nil); code != http.StatusOK {
		t.Fatalf("the link: %d", code)
	}
	parts := strings.SplitN(link, "/", 5)
	for name, path := range map[string]string{
		"a forged grant":  "/files/" + strings.ToUpper(parts[2]) + "/" + parts[3] + "/" + parts[4],
		"half a grant":    "/files/" + parts[2][:len(parts[2])/2] + "/" + parts[3] + "/" + parts[4],
		"another file":    "/files/" + parts[2] + "/" + parts[3] + "/none.png",
		"outside the run": "/files/" + parts[2] + "/" + parts[3] + "/..%2f..%2fsecret.png",
	} {
		if code, _ := nobody.head(http.MethodGet, path, nil); code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", name, code)
		}
	}
	h.auth.revoke(readKey)
	if code, _ := nobody.head(http.MethodGet, link, nil); code != http.StatusNotFound {
		t.Errorf("after the key was revoked: %d, want 404", code)
	}
}

// TestRoutesAct: nothing but a POST changes anything, and only four routes do.
func TestRoutesAct(t *testing.T) {
	h := filled(t)
	b := h.browser(t, actKey)
	for _, p := range places(t, h) {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
			if !p.goesOn() || method != http.MethodGet {
				b.head(method, p.path, nil)
			}
		}
	}
	if done := h.actions.all(); len(done) > 0 {
		t.Errorf("without a POST: %v", done)
	}
	for _, p := range places(t, h) {
		if p.method == http.MethodPost && p.path != "/sign-out" {
			b.head(p.method, p.path, nil)
		}
	}
	run := strings.TrimPrefix(failedRun, "/runs/shop/")
	if diff := cmp.Diff([]string{"rerun smoke-5sta by laptop of Anna",
		"cancel " + run + " by laptop of Anna", "rerun " + run + " by laptop of Anna",
		"rerun failed tests of " + run + " by laptop of Anna"}, h.actions.all()); diff != "" {
		t.Error(diff)
	}
}
