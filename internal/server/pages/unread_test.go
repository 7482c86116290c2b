package pages_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/pages"
)

// maxAtOnce is what a browser that does not read may keep in memory: the part of a log, and what surrounds it.
const maxAtOnce = 640 << 10

// denseColours is a log that grows to many times its size as HTML: each letter has a style and has to be escaped.
func denseColours(lines int) string {
	return strings.Repeat(strings.Repeat("\x1b[1;3;4;97;107m<\x1b[2;3;4;31;41m&", 40)+"\n", lines)
}

// TestFollowedColours: what is sent at once of a log is bounded by what it becomes.
func TestFollowedColours(t *testing.T) {
	h := newWorld(t, samples())
	h.logs.write(denseColours(300))
	stream := openStream(t, h, h.browser(t, readKey), "/runs/shop/checkout-3f9c2k7q5x0a/log/live")
	for seen := 0; seen < 300; {
		_, data, err := stream.read()
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 64<<10 {
			t.Fatalf("%d KiB at once", len(data)>>10)
		}
		seen += strings.Count(data, "</li>")
	}
}

// TestLogOfColours: so is a page, which leads to the lines before and after it without a gap.
func TestLogOfColours(t *testing.T) {
	const lines = 1500
	h := newWorld(t, samples())
	h.logs.write(denseColours(lines))
	b := h.browser(t, readKey)
	number := regexp.MustCompile(`id="L(\d+)"`)
	next := lines
	for path := failedRun + "/log"; path != ""; {
		got := b.get(path)
		if len(got.body) > maxAtOnce {
			t.Fatalf("%s has %d KiB", path, len(got.body)>>10)
		}
		shown := number.FindAllStringSubmatch(got.body, -1)
		if len(shown) == 0 || shown[len(shown)-1][1] != fmt.Sprint(next) {
			t.Fatalf("%s has %d lines, want some up to %d", path, len(shown), next)
		}
		next -= len(shown)
		path = ""
		if _, older, ok := strings.Cut(got.body, `data-older href="?`); ok {
			older, _, _ = strings.Cut(older, `"`)
			path = failedRun + "/log?" + strings.ReplaceAll(older, "&amp;", "&")
		}
	}
	if next != 0 {
		t.Errorf("the lines up to %d are on no page", next)
	}
}

// TestUnreadPages: what a team's browsers do not read is bounded, and in the way of no other team.
func TestUnreadPages(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.Limits.Unsent = 200 << 10 })
	shop := h.browser(t, readKey)
	var all sync.WaitGroup
	defer all.Wait()
	read := make(chan struct{})
	defer close(read)
	refused := 0
	for range 30 {
		w := &unread{ResponseRecorder: httptest.NewRecorder(), began: make(chan struct{}), read: read}
		r := httptest.NewRequest(http.MethodGet, h.url+"/runs/shop", nil)
		r.AddCookie(shop.cookie)
		ended := make(chan struct{})
		all.Go(func() {
			defer close(ended)
			h.ServeHTTP(w, r)
		})
		select {
		case <-w.began:
		case <-ended:
			if refused++; w.Code != http.StatusServiceUnavailable || w.Header().Get("Refresh") == "" {
				t.Fatalf("a page that nobody waits for: %d", w.Code)
			}
		}
	}
	if refused == 0 || refused == 30 {
		t.Errorf("%d of 30 pages were refused", refused)
	}
	if got := h.browser(t, otherKey).get("/runs/rival"); got.code != http.StatusOK {
		t.Errorf("another team: %d", got.code)
	}
}

// unread is a browser that reads a page, but not a refusal, only when it is told to.
type unread struct {
	*httptest.ResponseRecorder
	began, read chan struct{}
}

func (u *unread) Write(p []byte) (int, error) {
	if u.Code == http.StatusOK {
		close(u.began)
		<-u.read
	}
	return u.ResponseRecorder.Write(p)
}

// TestLogsAreSentByOneLimit: whoever follows a log on a page takes the place of somebody who follows one with the API.
func TestLogsAreSentByOneLimit(t *testing.T) {
	places := fairness.NewTeamLimiter(2)
	h := newWorld(t, samples(), func(c *pages.Config) { c.SendingLogs = places })
	h.logs.write("one line\n")
	b := h.browser(t, readKey)
	const live = "/runs/shop/checkout-3f9c2k7q5x0a/log/live"
	openStream(t, h, b, live)
	if places.InUse() != 1 {
		t.Errorf("%d places are taken", places.InUse())
	}
	for places.TryAcquire(team) {
	}
	if code, _ := b.head(http.MethodGet, live, http.Header{"Accept": {"text/event-stream"}}); code != http.StatusServiceUnavailable {
		t.Errorf("without a place: %d", code)
	}
}
