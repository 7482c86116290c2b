package pages_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/pages"
)

// fileLinks are those on the page of a run's files.
func (b *browser) fileLinks() []string {
	b.t.Helper()
	var links []string
	for _, l := range regexp.MustCompile(`<li><a class="mono" href="(/files/[^"]+)"`).FindAllStringSubmatch(b.get(failedRun+"/artifacts").body, -1) {
		links = append(links, l[1])
	}
	if len(links) == 0 {
		b.t.Fatal("there are no files")
	}
	return links
}

// TestNoWayAroundLimits: what is costly has a limit of its own, whatever a client says that it accepts.
func TestNoWayAroundLimits(t *testing.T) {
	h := filled(t, func(c *pages.Config) { c.Limits.Sending, c.Limits.Reading = 0, 0 })
	b := h.browser(t, readKey)
	link := b.fileLinks()[0]
	for _, accept := range []string{"*/*", "text/event-stream"} {
		for path, want := range map[string]int{
			link: http.StatusServiceUnavailable, failedRun + "/log/text": http.StatusServiceUnavailable,
			failedRun + "/log/test?name=x": http.StatusServiceUnavailable, failedRun + "/log": http.StatusOK,
		} {
			code, _ := b.head(http.MethodGet, path, http.Header{"Accept": {accept}})
			if code != want {
				t.Errorf("%s as %s: %d, want %d", path, accept, code, want)
			}
		}
	}
	if got := b.get(failedRun + "/log"); !strings.Contains(got.body, "Too many people read logs") {
		t.Error("a log is read beyond the limit")
	}
}

// TestUnfinishedForms: forms that never come take nobody's place.
func TestUnfinishedForms(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.Limits.Rendering = 9 })
	var all sync.WaitGroup
	defer all.Wait()
	never := make(chan struct{})
	defer close(never)
	for range 20 {
		waits := make(chan struct{}, 1)
		all.Go(func() {
			r := httptest.NewRequest(http.MethodPost, h.url+"/sign-in", unfinished{waits, never})
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			h.ServeHTTP(httptest.NewRecorder(), r)
			close(waits)
		})
		<-waits
	}
	h.browser(t, readKey)
}

// unfinished is a body of which nothing comes.
type unfinished struct{ waits, never chan struct{} }

func (u unfinished) Read([]byte) (int, error) {
	u.waits <- struct{}{}
	<-u.never
	return 0, io.ErrUnexpectedEOF
}

// TestSlowReadersOfFiles: those of a team, who come without a cookie from a report, are in the way of no other.
func TestSlowReadersOfFiles(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.Limits.Sending = 9 })
	h.artifacts.files = map[string][]byte{"large.bin": make([]byte, 64<<20)}
	link := h.browser(t, readKey).fileLinks()[0]
	stranger := h.browser(t, "")
	open := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+link, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := stranger.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp.StatusCode
	}
	for range 8 {
		if code := open(); code != http.StatusOK {
			t.Fatalf("a slow reader: %d", code)
		}
	}
	if code := open(); code != http.StatusServiceUnavailable {
		t.Errorf("one too many: %d", code)
	}
	if got := stranger.get("/files/another/pod-x/file.png"); got.code != http.StatusNotFound {
		t.Errorf("somebody else: %d, want 404", got.code)
	}
}

// TestVisitorsCannotExplain: that takes the turns of the team's notifications.
func TestVisitorsCannotExplain(t *testing.T) {
	public := samples()
	public[0].(*v1alpha1.Team).Spec.PublicPages = true
	h := newWorld(t, public)
	for key, want := range map[string]string{"": "Sign in to find out.", readKey: "It would run."} {
		if got := h.browser(t, key).get("/triggers/shop/checkout?explain=1&branch=main"); got.code != http.StatusOK ||
			!strings.Contains(got.body, want) {
			t.Errorf("with the key %q: %d, without %q", key, got.code, want)
		}
	}
}

// TestManyRanges: a request for many parts of a file is one request to the store.
func TestManyRanges(t *testing.T) {
	h := filled(t)
	b := h.browser(t, readKey)
	link := b.fileLinks()[0]
	for ranges, want := range map[string]int{"bytes=0-0": http.StatusPartialContent, "bytes=0-0,2-2,4-4": http.StatusOK} {
		if code, _ := b.head(http.MethodGet, link, http.Header{"Range": {ranges}}); code != want {
			t.Errorf("%s: %d, want %d", ranges, code, want)
		}
	}
}

// TestGrantsStayOutOfTheLog: whoever reads the log of the manager can open no file with it.
func TestGrantsStayOutOfTheLog(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	h := filled(t, under("/ci"), func(c *pages.Config) {
		c.Log = funcr.New(func(_, args string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, args)
		}, funcr.Options{})
	})
	b := h.browser(t, readKey)
	links := regexp.MustCompile(`href="(/ci/files/([^/"]+)/[^"]+)"`).FindStringSubmatch(b.get(failedRun + "/artifacts").body)
	if links == nil {
		t.Fatal("there are no files")
	}
	h.loseStore(t)
	if got := b.get(links[1]); got.code != http.StatusServiceUnavailable {
		t.Fatalf("without the store: %d", got.code)
	}
	mu.Lock()
	defer mu.Unlock()
	log := strings.Join(lines, "\n")
	if !strings.Contains(log, "/files/***/pod-") || strings.Contains(log, links[2]) {
		t.Errorf("the log: %s", log)
	}
}
