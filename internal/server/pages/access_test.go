package pages_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/test/tier"
)

const failedRun = "/runs/shop/smoke-4cplqekpnk1gtdjr"

func TestWhoSeesWhat(t *testing.T) {
	public := samples()
	public[0].(*v1alpha1.Team).Spec.PublicPages = true
	private, open := newWorld(t, samples()), newWorld(t, public)
	private.logs.write(sampleLog())
	open.logs.write(sampleLog())
	paths := []string{"/runs/shop", failedRun, failedRun + "/log", failedRun + "/artifacts", failedRun + "/variables", failedRun + "/attempts",
		failedRun + "/log/text", failedRun +
			"/log/live", "/triggers/shop", "/triggers/shop/checkout", "/environments/shop", "/board/shop", "/tests/shop", "/insights/shop"}
	missing := []string{"/runs/shop/none", "/triggers/shop/none", "/runs/nowhere", "/runs/nowhere/none"}
	cases := map[string]struct {
		reason string
		h      *world
		key    string
		paths  []string
		want   int
	}{
		"The team":                  {"It sees its own.", private, readKey, paths, http.StatusOK},
		"Another team":              {"It learns nothing.", private, otherKey, paths, http.StatusNotFound},
		"Nobody":                    {"They may sign in.", private, "", append(paths, missing...), http.StatusSeeOther},
		"Nobody, of a public team":  {"Everybody sees it.", open, "", paths, http.StatusOK},
		"Another, of a public team": {"Everybody sees it.", open, otherKey, paths, http.StatusOK},
		"What does not exist":       {"It is like what belongs to another team.", private, readKey, missing, http.StatusNotFound},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := tc.h.browser(t, tc.key)
			for _, path := range tc.paths {
				if strings.HasSuffix(path, "/live") && tc.want == http.StatusOK {
					continue // it does not end
				}
				got := b.get(path)
				if got.code != tc.want {
					t.Errorf("%s\n%s: got %d, want %d", tc.reason, path, got.code, tc.want)
				}
				if tc.want != http.StatusOK && strings.Contains(got.body, "checkout ›") {
					t.Errorf("%s shows the run", path)
				}
			}
		})
	}
}

// TestNotFoundTellsNothing: the page for another team's run is that for one that does not exist.
func TestNotFoundTellsNothing(t *testing.T) {
	b := newWorld(t, samples()).browser(t, otherKey)
	if diff := cmp.Diff(b.get("/runs/shop/none").body, b.get(failedRun).body); diff != "" {
		t.Error(diff)
	}
}

func TestRevokedKeyEndsTheSession(t *testing.T) {
	tier.AtMost(t, "the end of the live page", time.Second, func() time.Duration { return revokeWhileLive(t) })
}

// revokeWhileLive returns how long a page stays live after the key of its reader was revoked.
func revokeWhileLive(t *testing.T) time.Duration {
	t.Helper()
	h := newWorld(t, samples())
	b := h.browser(t, readKey)
	stream := openStream(t, h, b, "/runs/shop")
	if event, err := stream.next(); event != "page" || err != nil {
		t.Fatalf("%q, %v", event, err)
	}
	h.auth.revoke(readKey)
	revoked := time.Now()
	if got := b.get("/runs/shop"); got.code != http.StatusSeeOther {
		t.Errorf("a page after the key was revoked: %d", got.code)
	}
	if event, err := stream.next(); event != "gone" || err != nil {
		t.Errorf("the live page: %q, %v, want gone", event, err)
	}
	took := time.Since(revoked)
	if h.Limits.Recheck > time.Second/2 {
		t.Errorf("a live page checks every %s whether its reader may still read it, too rarely to end within a second", h.Limits.Recheck)
	}
	return took
}

func TestSessions(t *testing.T) {
	h := newWorld(t, samples())
	b := h.browser(t, readKey)
	if c := b.cookie; !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Secure || time.Until(c.Expires) > 12*time.Hour {
		t.Errorf("the cookie is %+v", c)
	}
	decoded, _ := base64.RawURLEncoding.DecodeString(b.cookie.Value)
	if strings.Contains(b.cookie.Value+string(decoded), readKey) {
		t.Error("the cookie can be read")
	}
	forged := *b.cookie
	forged.Value = strings.ToLower(forged.Value)
	for name, cookie := range map[string]*http.Cookie{"forged": &forged, "empty": {Name: forged.Name},
		"other": {Name: forged.Name, Value: "x"}} {
		other := h.browser(t, "")
		other.cookie = cookie
		if got := other.get("/runs/shop"); got.code != http.StatusSeeOther {
			t.Errorf("a %s cookie: %d", name, got.code)
		}
	}
	out := b.post("/sign-out", "")
	if len(out.cookies) != 1 || out.cookies[0].MaxAge >= 0 {
		t.Errorf("after signing out, the cookies are %v", out.cookies)
	}
	if got := h.browser(t, "").post("/sign-in", "key=wrong"); got.code != http.StatusUnauthorized || len(got.cookies) != 0 ||
		!strings.Contains(got.body, "not accepted") {
		t.Errorf("a wrong key: %d", got.code)
	}
}

func TestSessionExpires(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	h := newWorld(t, samples(), func(c *pages.Config) { c.Clock = now })
	b := h.browser(t, readKey)
	now.SetTime(now.Now().Add(h.Limits.SessionFor - time.Second))
	if got := b.get("/runs/shop"); got.code != http.StatusOK {
		t.Errorf("a second before it expires: %d", got.code)
	}
	now.SetTime(now.Now().Add(time.Second))
	if got := b.get("/runs/shop"); got.code != http.StatusSeeOther {
		t.Errorf("an expired session: %d", got.code)
	}
}

// TestSecureCookie: behind TLS, the cookie is never sent without it.
func TestSecureCookie(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.PublicURL = "https://localhost/ci" })
	if c := h.browser(t, readKey).cookie; !c.Secure || c.Path != "/ci/" {
		t.Errorf("the cookie is %+v", c)
	}
}

func TestSignInGoesOn(t *testing.T) {
	h := newWorld(t, samples())
	cases := map[string]string{
		"/runs/shop?state=Failed": "/runs/shop?state=Failed",
		"":                        "/runs",
		"https://evil.example":    "/runs",
		"//evil.example":          "/runs",
		"/\\evil.example":         "/runs",
		"javascript:alert(1)":     "/runs",
		"/../another-app":         "/runs",
		"/%2e%2e/another-app":     "/runs",
		"/runs/../..//evil":       "/runs",
	}
	for next, want := range cases {
		got := h.browser(t, "").post("/sign-in", "key="+strings.ReplaceAll(readKey, " ", "+")+"&next="+url.QueryEscape(next))
		if got.code != http.StatusSeeOther || got.header.Get("Location") != want {
			t.Errorf("next=%q: %d to %q, want %q", next, got.code, got.header.Get("Location"), want)
		}
	}
}

func TestActions(t *testing.T) {
	running := "/runs/shop/checkout-3f9c2k7q5x0a"
	cases := map[string]struct {
		reason string
		key    string
		path   string
		header http.Header
		want   int
		done   []string
	}{
		"Cancel": {"It is recorded by whom.", actKey, running + "/cancel", nil, http.StatusSeeOther,
			[]string{"cancel checkout-3f9c2k7q5x0a by laptop of Anna"}},
		"Rerun": {"It is recorded by whom.", actKey, failedRun + "/rerun", nil, http.StatusSeeOther,
			[]string{"rerun smoke-4cplqekpnk1gtdjr by laptop of Anna"}},
		"Failed tests": {"It is recorded by whom.", actKey, failedRun + "/rerun-failed", nil, http.StatusSeeOther,
			[]string{"rerun failed tests of smoke-4cplqekpnk1gtdjr by laptop of Anna"}},
		"By a reader": {"A key only reads, unless the team says otherwise.", readKey, running + "/cancel", nil, http.StatusForbidden, nil},
		"By nobody":   {"They may sign in.", "", running + "/cancel", nil, http.StatusSeeOther, nil},
		"By a rival":  {"They learn nothing.", otherKey, running + "/cancel", nil, http.StatusNotFound, nil},
		"From a site": {"A page of somebody else acts as the reader.", actKey, running + "/cancel",
			http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden, nil},
		"Another origin": {"So does one in an old browser.", actKey, running + "/cancel", http.Header{"Origin": {"https://evil.example"}},
			http.StatusForbidden, nil},
		"Another port": {"A page of the same site is another's as well.", actKey, running + "/cancel",
			http.Header{"Sec-Fetch-Site": {"same-site"}}, http.StatusForbidden, nil},
		"No origin":   {"A sandboxed page has none.", actKey, running + "/rerun", http.Header{"Origin": {"null"}}, http.StatusForbidden, nil},
		"No such run": {"There is nothing to cancel.", actKey, "/runs/shop/none/cancel", nil, http.StatusNotFound, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newWorld(t, samples())
			got := h.browser(t, tc.key).do(http.MethodPost, tc.path, "", tc.header)
			if got.code != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, got.code, tc.want)
			}
			if diff := cmp.Diff(tc.done, h.actions.all()); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAllTeams: people see the teams that they may see, and their menu leads there if these are several.
func TestAllTeams(t *testing.T) {
	h := newWorld(t, samples(), sampleShared)
	for key, want := range map[string]struct{ shop, rival bool }{bothKey: {true, true}, readKey: {shop: true}, otherKey: {rival: true}} {
		body := h.browser(t, key).get("/teams").body
		if shop, rival := strings.Contains(body, `id="team-shop"`), strings.Contains(body, `id="team-rival"`); shop != want.shop ||
			rival != want.rival {
			t.Errorf("%s sees shop: %t, rival: %t, want %+v", key, shop, rival, want)
		}
		if leads := strings.Contains(body, `href="/teams"`); leads != (want.shop && want.rival) {
			t.Errorf("%s: the menu leads to all teams: %t", key, leads)
		}
	}
	if got := h.browser(t, "").get("/teams"); got.code != http.StatusSeeOther {
		t.Errorf("nobody: %d, want %d", got.code, http.StatusSeeOther)
	}
	body := h.browser(t, bothKey).get("/teams").body
	for _, want := range []string{"postflight-7j4w8", "for 6 days", "reachable", "shop/ci in 5 days"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if !strings.Contains(body, "1 Trigger of shop does not work, and 4 fail. Nothing fails in the other team.") ||
		strings.Index(body, "team-shop") > strings.Index(body, "team-rival") {
		t.Errorf("what fails does not come first:\n%s", body)
	}
}

// TestButtons: people who may not act see no buttons, but the command for a terminal.
func TestButtons(t *testing.T) {
	h := newWorld(t, samples())
	for key, want := range map[string]bool{actKey: true, readKey: false} {
		body := h.browser(t, key).get(failedRun).body
		if !strings.Contains(body, "postflight runs rerun smoke-4cplqekpnk1gtdjr") {
			t.Errorf("with %s, the page does not show the command", key)
		}
		if got := strings.Contains(body, "Run again"); got != want {
			t.Errorf("%s: a button: %v, want %v", key, got, want)
		}
	}
}

// TestFailedTestsButton: only a run of which nothing but tests failed has it.
func TestFailedTestsButton(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Suite)
		want   bool
	}{
		"tests failed": {func(s *v1alpha1.Suite) { s.Status.Results.OnlyTestsFailed = true }, true},
		"a crash, too": {func(s *v1alpha1.Suite) { s.Status.Results.OnlyTestsFailed = false }, false},
		"no commit": {func(s *v1alpha1.Suite) {
			s.Status.Results.OnlyTestsFailed, s.Spec.Deployment.SHA = true, ""
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := samples()
			for _, o := range all {
				if s, ok := o.(*v1alpha1.Suite); ok && failedRun == "/runs/shop/"+s.Name {
					tc.change(s)
				}
			}
			body := newWorld(t, all).browser(t, actKey).get(failedRun).body
			if got := strings.Contains(body, failedRun+"/rerun-failed") && strings.Contains(body, "Rerun failed tests"); got != tc.want {
				t.Errorf("a button: %t", got)
			}
		})
	}
}

// TestPageOfFailedTests says together with which run they count.
func TestPageOfFailedTests(t *testing.T) {
	all := samples()
	for _, o := range all {
		if s, ok := o.(*v1alpha1.Suite); ok && failedRun == "/runs/shop/"+s.Name {
			s.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: "smoke-1", UID: "4b1c"}
			s.Status.Conditions = []metav1.Condition{v1alpha1.Passed("3 failed tests of smoke-1 passed; the other 117 passed there. The run passed in 12s.")}
			s.Status.Results = &v1alpha1.TestResults{Tests: 3, Passed: 3}
		}
	}
	body := newWorld(t, all).browser(t, actKey).get(failedRun).body
	for _, want := range []string{`id="only-failed"`, `<a href="/runs/shop/smoke-1"`,
		"3 failed tests of smoke-1 passed; the other 117 passed there."} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestRefusedAction(t *testing.T) {
	h := newWorld(t, samples())
	h.actions.err = &dispatch.Error{Kind: dispatch.Rejected, Message: "A newer deployment came later."}
	for _, button := range []string{"/rerun", "/rerun-failed"} {
		if got := h.browser(t, actKey).post(failedRun+button, ""); got.code != http.StatusConflict ||
			!strings.Contains(got.body, "A newer deployment came later.") {
			t.Errorf("%s: %d: %s", button, got.code, got.body)
		}
	}
}

func TestHosts(t *testing.T) {
	named := newWorld(t, samples(), func(c *pages.Config) { c.PublicURL, c.Hosts = "https://ci.example.com", []string{"Other.example.com"} })
	open := newWorld(t, samples())
	cases := map[string]struct {
		h    *world
		host string
		want int
	}{
		"Its name":          {named, "ci.example.com", http.StatusOK},
		"Its name and port": {named, "CI.example.com:8443", http.StatusOK},
		"Another name":      {named, "other.example.com", http.StatusOK},
		"This machine":      {named, "localhost:8080", http.StatusOK},
		"Its address":       {named, "[::1]:8080", http.StatusOK},
		"Somebody's name":   {named, "evil.example", http.StatusMisdirectedRequest},
		"No names":          {open, "anything.example", http.StatusOK},
	}
	for name, tc := range cases {
		if got := tc.h.browser(t, "").do(http.MethodGet, "/", "", http.Header{"Host": {tc.host}}); got.code != tc.want {
			t.Errorf("%s: got %d, want %d", name, got.code, tc.want)
		}
	}
}

func TestSuspendedTeam(t *testing.T) {
	objects := samples()
	objects[0].(*v1alpha1.Team).Spec = v1alpha1.TeamSpec{PublicPages: true, Suspended: true}
	if got := newWorld(t, objects).browser(t, "").get("/runs/shop"); got.code != http.StatusSeeOther {
		t.Errorf("the public pages of a suspended team: %d", got.code)
	}
}

// TestNewRunIsThereAtOnce: an answer may name a run before the cache has it.
func TestNewRunIsThereAtOnce(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.Cache = emptyFor{c.Cache} })
	if got := h.browser(t, readKey).get(failedRun); got.code != http.StatusOK {
		t.Errorf("a run that the cache lacks: %d", got.code)
	}
}

// emptyFor is a cache without Suites.
type emptyFor struct{ client.Reader }

func (c emptyFor) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(*v1alpha1.Suite); ok {
		return notFound(key.Name)
	}
	return c.Reader.Get(ctx, key, o, options...)
}
