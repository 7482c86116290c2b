package pages_test

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/test/poll"
)

// unsure is an Authenticator that cannot look anything up at times.
type unsure struct {
	site.Authenticator
	away    atomic.Bool
	refused atomic.Int32
	status  int // 503 if it is 0
}

func (u *unsure) Access(ctx context.Context, id signin.Identity) (signin.Access, error) {
	if u.away.Load() {
		u.refused.Add(1)
		return signin.Access{}, statusError(cmp.Or(u.status, http.StatusServiceUnavailable))
	}
	return u.Authenticator.Access(ctx, id)
}

var asStream = http.Header{"Accept": {"text/event-stream"}}

// TestOutage: while nobody can say who may read a page, open ones go on for a while, and no other is shown.
func TestOutage(t *testing.T) {
	for name, patient := range map[string]bool{"a short one": true, "a long one": false} {
		t.Run(name, func(t *testing.T) {
			auth, now := &unsure{}, clocktesting.NewFakePassiveClock(time.Now())
			h := newWorld(t, samples(), func(c *pages.Config) {
				auth.Authenticator, c.Authenticator, c.Clock = c.Authenticator, auth, now
				c.Limits.Interval, c.Limits.Recheck = 0, 10*time.Millisecond
			})
			b := h.browser(t, readKey)
			stream := openStream(t, h, b, "/runs/shop")
			if event, err := stream.next(); event != "page" || err != nil {
				t.Fatalf("%q, %v", event, err)
			}
			auth.away.Store(true)
			if got := b.get("/runs/shop"); got.code != http.StatusServiceUnavailable || got.header.Get("Refresh") == "" {
				t.Errorf("a page in the outage: %d, want 503, and to be loaded again", got.code)
			}
			rechecked(t, auth)
			if !patient {
				now.SetTime(now.Now().Add(h.Limits.UnconfirmedFor))
				if event, err := stream.next(); event != "gone" || err != nil {
					t.Errorf("%q, %v, want gone", event, err)
				}
				return
			}
			now.SetTime(now.Now().Add(h.Limits.UnconfirmedFor - time.Second))
			rechecked(t, auth)
			auth.away.Store(false)
			r := run{id: "smoke-new", trigger: "smoke", environment: "staging", branch: "main", sha: commit("b776998c"),
				condition: v1alpha1.Queued("Waiting.")}
			h.set(t, r.suite())
			for data := ""; !strings.Contains(data, r.id); {
				var event string
				var err error
				if event, data, err = stream.read(); event != "page" || err != nil {
					t.Fatalf("after the outage: %q, %v, want page", event, err)
				}
			}
		})
	}
}

// rechecked waits until the rights of a reader were looked up, twice, so that one began after the call.
func rechecked(t *testing.T, auth *unsure) {
	t.Helper()
	before := auth.refused.Load()
	poll.True(t, "the rights are looked up again", func() bool { return auth.refused.Load() >= before+2 })
}

// TestSuspendedWhileReading: a suspended team is no outage. Open pages end, and whoever wants to can sign out.
func TestSuspendedWhileReading(t *testing.T) {
	auth := &unsure{status: http.StatusForbidden}
	h := newWorld(t, samples(), quick, func(c *pages.Config) {
		auth.Authenticator, c.Authenticator = c.Authenticator, auth
		c.Limits.UnconfirmedFor = time.Hour // an outage would end the page after the test
	})
	b := h.browser(t, readKey)
	stream := openStream(t, h, b, "/runs/shop")
	if event, err := stream.next(); event != "page" || err != nil {
		t.Fatalf("%q, %v", event, err)
	}
	auth.away.Store(true)
	if event, err := stream.next(); event != "gone" || err != nil {
		t.Errorf("%q, %v, want gone", event, err)
	}
	for path, want := range map[string]int{"/runs/shop": http.StatusForbidden, "/sign-in": http.StatusOK} {
		if got := b.get(path); got.code != want {
			t.Errorf("%s: %d, want %d", path, got.code, want)
		}
	}
	if got := b.post("/sign-out", ""); got.code != http.StatusSeeOther || len(got.cookies) != 1 {
		t.Errorf("to sign out: %d", got.code)
	}
}

// TestProxiedFiles: nobody says what became of somebody whom a proxy has authenticated, so their links do not last.
func TestProxiedFiles(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	h := newWorld(t, samples(), func(c *pages.Config) { c.Clock = now })
	h.artifacts.files = sampleFiles()
	stranger := h.browser(t, "")
	page := stranger.do(http.MethodGet, failedRun+"/artifacts", "", http.Header{"X-Key": {readKey}})
	link := regexp.MustCompile(`href="(/files/[^"]+)"`).FindStringSubmatch(page.body)
	if link == nil {
		t.Fatalf("no link: %d", page.code)
	}
	if got := stranger.get(link[1]); got.code != http.StatusOK {
		t.Errorf("the link: %d", got.code)
	}
	now.SetTime(now.Now().Add(h.Limits.ProxiedFilesFor))
	if got := stranger.get(link[1]); got.code != http.StatusNotFound {
		t.Errorf("the link later: %d", got.code)
	}
}

// TestProxiedStream: a proxy says who somebody is only when they connect, so that they have to connect again soon.
func TestProxiedStream(t *testing.T) {
	header := asStream.Clone()
	header.Set("X-Key", readKey)
	for _, path := range []string{"/runs/shop", "/runs/shop/checkout-3f9c2k7q5x0a/log/live"} {
		var got answer
		// A busy machine sends nothing in a short time.
		for most := 200 * time.Millisecond; most < poll.Limit && !strings.Contains(got.body, "event: "); most *= 8 {
			h := newWorld(t, samples(), func(c *pages.Config) { c.Limits.ProxiedFor = most })
			h.logs.write("a line\n")
			got = h.browser(t, "").do(http.MethodGet, path, "", header)
		}
		if got.code != http.StatusOK || strings.Contains(got.body, "event: gone") || !strings.Contains(got.body, "event: ") {
			t.Errorf("%s: %d, %q", path, got.code, got.body)
		}
	}
}
