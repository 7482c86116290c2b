package pages_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/server/pages/overview"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

const (
	team     = "shop"
	otherKey = "key of the rival team"
	readKey  = "key that only reads"
	bothKey  = "group that sees both teams"
	actKey   = "key that may act"
)

// world serves the pages of a team over HTTP, from objects in memory.
type world struct {
	*pages.UI
	url       string
	client    client.Client
	auth      *keys
	actions   *actions
	reader    *reader
	logs      *logs
	artifacts *artifacts
	triggers  *match.Index
}

// testLog is that of a test. The log of a benchmark would be part of its result.
func testLog(t testing.TB) logr.Logger {
	if test, ok := t.(*testing.T); ok {
		return testr.New(test)
	}
	return logr.Discard()
}

type option func(*pages.Config)

func newWorld(t testing.TB, objects []client.Object, options ...option) *world {
	t.Helper()
	h := &world{client: fakeclient.Builder(t).WithObjects(objects...).Build(), actions: &actions{}, logs: &logs{}, artifacts: &artifacts{},
		triggers: &match.Index{}}
	stored, err := runs.New(runs.Config{Cache: h.client, Live: h.client, PodLogs: noPods{}, Limits: runs.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	h.reader = &reader{Reader: stored, logs: h.logs, files: h.artifacts}
	h.auth = &keys{client: h.client, revoked: map[string]bool{}}
	server := httptest.NewUnstartedServer(nil)
	h.url = "http://" + server.Listener.Addr().String()
	c := pages.Config{
		Cache: h.client, Authenticator: h.auth, Actions: h.actions, Runs: h.reader, SendingLogs: stored.Sending,
		SealingKey:    func(context.Context) ([]byte, error) { return bytes.Repeat([]byte("k"), 32), nil },
		Authenticated: func(context.Context, string) {},
		Config: overview.Config{Explain: func(_ context.Context, team *v1alpha1.Team,
			n *notification.Notification) (iter.Seq[match.Explanation], error) {
			return h.triggers.Explain(team.NamespaceName(), n, func() bool { return false }), nil
		},
			Verdicts: &verdicts.Reader{Cache: h.client, Now: time.Now}, Starter: h.actions,
			Sites: codehost.Sites{v1alpha1.GitHub: "https://github.com/", v1alpha1.GitLab: "https://gitlab.example.com/"}},
		OpenAPI: api.OpenAPI, Limits: site.DefaultLimits(), Log: testLog(t), Audit: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
		Steady: clock.RealClock{},
	}
	for _, o := range options {
		o(&c)
	}
	if h.UI, err = pages.New(c); err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = h.UI
	for _, o := range objects {
		switch o := o.(type) {
		case *v1alpha1.Suite:
			h.SuiteChanged(nil, o)
		case *v1alpha1.Trigger:
			h.triggers.Set(o)
		}
	}
	server.Start()
	t.Cleanup(func() {
		h.Drain()
		server.Close()
	})
	return h
}

// SuiteChanged is what the watch of the cache reports.
func (h *world) SuiteChanged(before, after *v1alpha1.Suite) {
	h.reader.SuiteChanged(before, after)
	h.Changed(cmp.Or(after, before).Namespace)
}

// set changes a run, as the cache would see it.
func (h *world) set(t testing.TB, s *v1alpha1.Suite) {
	t.Helper()
	was := &v1alpha1.Suite{}
	err := h.client.Get(t.Context(), client.ObjectKeyFromObject(s), was)
	switch {
	case apierrors.IsNotFound(err):
		was, err = nil, h.client.Create(t.Context(), s)
	case err == nil:
		s.ResourceVersion = was.ResourceVersion
		err = h.client.Update(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.SuiteChanged(was, s.DeepCopy())
}

// browser is an HTTP client that may have signed in.
func (h *world) browser(t testing.TB, key string) *browser {
	t.Helper()
	b := &browser{h: h, t: t,
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if key != "" {
		resp := b.post("/sign-in", "key="+strings.ReplaceAll(key, " ", "+"))
		for _, c := range resp.cookies {
			b.cookie = c
		}
		if b.cookie == nil {
			t.Fatalf("no session: %d", resp.code)
		}
	}
	return b
}

type browser struct {
	h      *world
	t      testing.TB
	client *http.Client
	cookie *http.Cookie
}

type answer struct {
	code    int
	body    string
	header  http.Header
	cookies []*http.Cookie
}

func (b *browser) get(path string) answer { return b.do(http.MethodGet, path, "", nil) }

func (b *browser) post(path, form string) answer {
	return b.do(http.MethodPost, path, form, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
}

func (b *browser) do(method, path, body string, header http.Header) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.h.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
		if name == "Host" {
			req.Host = values[0]
		}
	}
	if b.cookie != nil {
		req.AddCookie(b.cookie)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{resp.StatusCode, string(content), resp.Header, resp.Cookies()}
}

// keys accept three keys.
type keys struct {
	client  client.Client
	mu      sync.Mutex
	revoked map[string]bool
}

func (k *keys) revoke(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revoked[key] = true
}

type statusError int

func (e statusError) Error() string   { return http.StatusText(int(e)) }
func (e statusError) HTTPStatus() int { return int(e) }

func (k *keys) SignIn(ctx context.Context, key string) (signin.Identity, error) {
	data, err := json.Marshal(key)
	if err != nil {
		return signin.Identity{}, err
	}
	id := signin.Identity{Kind: "key", Data: data}
	_, err = k.Access(ctx, id)
	return id, err
}

func (k *keys) FromProxy(r *http.Request) (signin.Identity, bool) {
	data, err := json.Marshal(r.Header.Get("X-Key"))
	return signin.Identity{Data: data}, err == nil && r.Header.Get("X-Key") != ""
}

func (k *keys) Access(ctx context.Context, id signin.Identity) (signin.Access, error) {
	var key string
	if err := json.Unmarshal(id.Data, &key); err != nil {
		return signin.Access{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	names := map[string][]string{readKey: {team}, actKey: {team}, otherKey: {"rival"}, bothKey: {team, "rival"}}[key]
	if len(names) == 0 || k.revoked[key] {
		return signin.Access{}, statusError(http.StatusUnauthorized)
	}
	access := signin.Access{Name: "laptop of Anna", Key: map[string]string{actKey: "shop/act"}[key]}
	for _, name := range names {
		t := &v1alpha1.Team{}
		if err := k.client.Get(ctx, client.ObjectKey{Name: name}, t); err != nil {
			return signin.Access{}, err
		}
		access.Teams = append(access.Teams, signin.TeamAccess{Team: t, Act: key == actKey})
	}
	return access, nil
}

// actions record what was asked for.
type actions struct {
	mu   sync.Mutex
	done []string
	err  error
}

func (a *actions) Cancel(_ context.Context, c dispatch.Command, id string) (*v1alpha1.Suite, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = append(a.done, "cancel "+id+" by "+c.By)
	return nil, a.err
}

func (a *actions) Rerun(_ context.Context, c dispatch.Command, id string) (*v1alpha1.Suite, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	verb := "rerun "
	if c.OnlyFailed {
		verb = "rerun failed tests of "
	}
	a.done = append(a.done, verb+id+" by "+c.By)
	return &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: id}}, true, a.err
}

func (a *actions) Start(_ context.Context, c dispatch.Command, trigger, tested string) (*v1alpha1.Suite, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = append(a.done, "start "+trigger+" of "+tested+" by "+c.By)
	return &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: trigger + "-1"}}, true, a.err
}

func (a *actions) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.done)
}

// base is the base path of the pages.
func (h *world) base() string {
	u, err := url.Parse(h.PublicURL)
	if err != nil {
		return ""
	}
	return u.Path
}
