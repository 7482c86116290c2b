package signin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/kube/podlogs"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/server/pages/overview"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

// noActions are the actions of pages that only show.
type noActions struct{}

func (noActions) Cancel(context.Context, dispatch.Command, string) (*v1alpha1.Suite, error) {
	return nil, errors.ErrUnsupported
}

func (noActions) Rerun(context.Context, dispatch.Command, string) (*v1alpha1.Suite, bool, error) {
	return nil, false, errors.ErrUnsupported
}

func (noActions) Start(context.Context, dispatch.Command, string, string) (*v1alpha1.Suite, bool, error) {
	return nil, false, errors.ErrUnsupported
}

// advancingClock stands still, however slow the machine is, until a test moves it. Its timers are real.
type advancingClock struct {
	clock.RealClock
	began time.Time
	ahead *atomic.Int64
}

func newClock() advancingClock { return advancingClock{began: time.Now(), ahead: &atomic.Int64{}} }

func (c advancingClock) Now() time.Time                  { return c.began.Add(time.Duration(c.ahead.Load())) }
func (c advancingClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// servePages serves the pages of the teams shop and rival, to people whom the configuration lets in.
func servePages(t *testing.T, config string, clock advancingClock) *httptest.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sign-in.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := signin.NewSource(file, func(*signin.Config) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	cache := fakeclient.Builder(t).WithObjects(build.Team("shop", ""), build.Team("rival", "")).Build()
	sessions := signin.NewSessions(cache, cache, "s", clock)
	server := httptest.NewUnstartedServer(nil)
	keys := &auth.Keys{
		Reader: cache, Staleness: func() time.Duration { return 0 }, Used: func(*v1alpha1.APIKey) {}, Clock: clock,
	}
	reader, err := runs.New(runs.Config{Cache: cache, Live: cache, PodLogs: &podlogs.Client{}, Limits: runs.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := pages.New(pages.Config{
		Cache: cache, Runs: reader, SendingLogs: reader.Sending,
		Authenticator: &signin.People{Keys: keys, Source: source, Sessions: sessions, Cache: cache, Clock: clock},
		Provider:      signin.Provider{Source: source, Sessions: sessions}, Actions: noActions{},
		SealingKey: func(context.Context) ([]byte, error) { return bytes.Repeat([]byte("k"), 32), nil },
		Config: overview.Config{Explain: func(context.Context, *v1alpha1.Team, *notification.Notification) (iter.Seq[match.Explanation], error) {
			return nil, errors.ErrUnsupported
		}, Verdicts: &verdicts.Reader{Cache: cache, Now: clock.Now}, Starter: noActions{}},
		Authenticated: func(context.Context, string) {}, PublicURL: "http://" + server.Listener.Addr().String() + "/ci",
		OpenAPI: api.OpenAPI, Limits: site.DefaultLimits(), Log: logr.Discard(), Audit: slog.New(slog.DiscardHandler),
		Clock: clock, Steady: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = pages
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// get follows redirects, and returns the last status, URL and body.
func get(t *testing.T, c *http.Client, address string, header http.Header) (int, *url.URL, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Request.URL, string(body)
}

func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

const oidcConfig = `
oidc: {issuer: %q, clientID: postflight, recheck: 1s}
groups:
  - {group: shop-devs, team: shop, act: true}
  - {group: everyone, team: gone}
`

func TestSignInWithOIDC(t *testing.T) {
	provider := newIdentityProvider(t, "everyone", "shop-devs")
	now := newClock()
	pages := servePages(t, fmt.Sprintf(oidcConfig, provider.URL), now)
	b := newBrowser(t)

	code, at, body := get(t, b, pages.URL+"/ci/runs/shop?state=Failed", nil)
	if code != http.StatusOK || at.Path != "/ci/sign-in" || !strings.Contains(body, "Sign in with 127.0.0.1") {
		t.Fatalf("the page for signing in: %d at %s", code, at)
	}
	code, at, body = get(t, b, pages.URL+"/ci/sign-in/provider?next="+url.QueryEscape("/runs/shop?state=Failed"), nil)
	if code != http.StatusOK || at.RequestURI() != "/ci/runs/shop?state=Failed" || !strings.Contains(body, "anna@example.com") {
		t.Fatalf("after the provider: %d at %s", code, at)
	}
	if code, _, _ := get(t, b, pages.URL+"/ci/runs/rival", nil); code != http.StatusNotFound {
		t.Errorf("another team: %d", code)
	}

	var before int
	provider.set(func() { before = provider.asked })
	for range 5 {
		get(t, b, pages.URL+"/ci/runs/shop", nil)
	}
	provider.set(func() {
		if provider.asked > before+1 {
			t.Errorf("the provider was asked %d times for 5 pages", provider.asked-before)
		}
		provider.groups = []string{"everyone"}
	})
	now.ahead.Add(int64(time.Second))
	if _, at, _ := get(t, b, pages.URL+"/ci/runs/shop", nil); at.Path != "/ci/sign-in" {
		t.Errorf("a second after the group was lost: %s", at)
	}

	provider.set(func() { provider.groups = []string{"shop-devs"} })
	now.ahead.Add(int64(time.Second))
	if _, at, _ := get(t, b, pages.URL+"/ci/runs/shop", nil); at.Path != "/ci/runs/shop" {
		t.Errorf("with the group again: %s", at)
	}
	provider.set(func() { provider.revoked = true })
	now.ahead.Add(int64(time.Second))
	if _, at, _ := get(t, b, pages.URL+"/ci/runs/shop", nil); at.Path != "/ci/sign-in" {
		t.Errorf("after the provider ended the session: %s", at)
	}
}

func TestSignInWithOIDCIsRefused(t *testing.T) {
	cases := map[string]struct {
		reason string
		spoil  func(*identityProvider)
		path   string
		want   int
	}{
		"No group": {"Nobody granted them a team.", func(p *identityProvider) { p.groups = nil }, "/sign-in/provider",
			http.StatusForbidden},
		"Another client": {"The token is not for us.", func(p *identityProvider) { p.audience = "another" }, "/sign-in/provider",
			http.StatusUnauthorized},
		"Forged answer": {"It belongs to no attempt.", func(*identityProvider) {}, "/sign-in/callback?code=x&state=y", http.StatusBadRequest},
		"Another nonce": {"The token was issued for another attempt.", func(p *identityProvider) { p.nonce = "another" }, "/sign-in/provider",
			http.StatusUnauthorized},
		"Another state": {"Somebody else began the attempt.", func(p *identityProvider) { p.state = "another" }, "/sign-in/provider",
			http.StatusUnauthorized},
		"Expired": {"The token is an old one.", func(p *identityProvider) { p.lifetime = -time.Minute }, "/sign-in/provider",
			http.StatusUnauthorized},
		"Wrong key": {"Somebody else signed it.", func(p *identityProvider) { p.keys.PublicKeys = nil }, "/sign-in/provider",
			http.StatusUnauthorized},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			provider := newIdentityProvider(t, "shop-devs")
			provider.set(func() { tc.spoil(provider) })
			pages := servePages(t, fmt.Sprintf(oidcConfig, provider.URL), newClock())
			b := newBrowser(t)
			if code, at, _ := get(t, b, pages.URL+"/ci"+tc.path, nil); code != tc.want {
				t.Errorf("%s: %d at %s, want %d", tc.reason, code, at, tc.want)
			}
			if _, at, _ := get(t, b, pages.URL+"/ci/runs/shop", nil); at.Path != "/ci/sign-in" {
				t.Errorf("%s: there is a session", tc.reason)
			}
		})
	}
}
