package pages_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/test/poll"
)

func notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: "postflight.dev", Resource: "suites"}, name)
}

// eventReader reads server-sent events.
type eventReader struct {
	body io.ReadCloser
	in   *bufio.Reader
}

func openStream(t testing.TB, h *world, b *browser, path string) *eventReader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), poll.Limit)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.AddCookie(b.cookie)
	resp, err := b.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Fatalf("%s is no stream: %d", path, resp.StatusCode)
	}
	return &eventReader{resp.Body, bufio.NewReader(resp.Body)}
}

// next is the name of the next event.
func (r *eventReader) next() (string, error) {
	name, _, err := r.read()
	return name, err
}

func (r *eventReader) read() (name, data string, err error) {
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		if value, ok := strings.CutPrefix(line, "event: "); ok {
			name = strings.TrimSpace(value)
		}
		if value, ok := strings.CutPrefix(line, "data: "); ok {
			return name, value, nil
		}
	}
}

func TestPagesAnswer(t *testing.T) {
	h := newWorld(t, samples())
	h.logs.write(sampleLog())
	h.artifacts.files = sampleFiles()
	b := h.browser(t, actKey)
	for name, path := range allPages {
		got := b.get(path)
		want := http.StatusOK
		if name == "not-found" {
			want = http.StatusNotFound
		}
		if got.code != want || !strings.HasSuffix(strings.TrimSpace(got.body), "</html>") {
			t.Errorf("%s: %d, %d bytes", path, got.code, len(got.body))
		}
		if strings.Contains(got.body, "ZgotmplZ") || strings.Contains(got.body, "&lt;no value") {
			t.Errorf("%s has a hole", path)
		}
		for _, header := range []string{"Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"} {
			if got.header.Get(header) == "" {
				t.Errorf("%s lacks %s", path, header)
			}
		}
	}
}

// TestStrictPolicy: pages load their own files only, and have nothing inline, so the policy needs no exception.
func TestStrictPolicy(t *testing.T) {
	h := newWorld(t, samples())
	b := h.browser(t, actKey)
	inline := regexp.MustCompile(`<script[^>]*>[^<]|<style|\sstyle=|\son[a-z]+=|(?:src|href)="(?:https?:)?//[^"]*\.(?:js|css)`)
	for _, path := range allPages {
		got := b.get(path)
		if found := inline.FindString(got.body); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		policy := got.header.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s has the policy %q", path, policy)
		}
	}
}

// TestBasePath: with or without the prefix, a page answers, and all its links have it.
func TestBasePath(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.PublicURL = "http://localhost/tools/ci" })
	b := h.browser(t, actKey)
	links := regexp.MustCompile(`(?:href|src|action)="(/[^"]*)"`)
	for _, path := range allPages {
		with, without := b.get("/tools/ci"+path), b.get(path)
		if with.code != without.code {
			t.Errorf("%s: %d with the base path, %d without", path, with.code, without.code)
		}
		for _, link := range links.FindAllStringSubmatch(with.body, -1) {
			if !strings.HasPrefix(link[1], "/tools/ci/") {
				t.Errorf("%s has the link %s", path, link[1])
			}
		}
	}
	if got := b.get("/tools/ci/runs"); got.header.Get("Location") != "/tools/ci/runs/shop" {
		t.Errorf("/runs leads to %q", got.header.Get("Location"))
	}
}

func TestAssets(t *testing.T) {
	h := newWorld(t, samples())
	b := h.browser(t, "")
	page := b.get("/")
	assets := regexp.MustCompile(`"(/assets/[^"]+)"`).FindAllStringSubmatch(page.body, -1)
	if len(assets) < 5 {
		t.Fatalf("only %d assets", len(assets))
	}
	total := 0
	for _, asset := range append(assets,
		[]string{"", "/assets/" + regexp.MustCompile(`/assets/(.*/state-failed.svg)`).FindStringSubmatch(h.browser(t,
			readKey).get(failedRun).body)[1]}) {
		got := b.do(http.MethodGet, asset[1], "", http.Header{"Accept-Encoding": {"gzip"}})
		if got.code != http.StatusOK || got.header.Get("Content-Encoding") != "gzip" ||
			!strings.Contains(got.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d, %v", asset[1], got.code, got.header)
		}
		total += len(got.body)
	}
	old := b.get("/assets/000000000000/postflight.css")
	if old.code != http.StatusOK || strings.Contains(old.header.Get("Cache-Control"), "immutable") {
		t.Errorf("a file of another version: %d, %s", old.code, old.header.Get("Cache-Control"))
	}
	list := h.browser(t, readKey).do(http.MethodGet, "/runs/shop", "", http.Header{"Accept-Encoding": {"gzip"}})
	t.Logf("the first page is %d bytes, and loads %d more", len(list.body), total)
	if len(list.body)+total > 100<<10 {
		t.Errorf("the first page takes %d bytes", len(list.body)+total)
	}
}

func TestPaging(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.Limits.PageRuns = 7 })
	b := h.browser(t, readKey)
	row, older := regexp.MustCompile(`id="run-([^"]+)"`), regexp.MustCompile(`rel="next" href="([^"]+)"`)
	seen := map[string]int{}
	path := "/runs/shop?trigger=checkout"
	for pages := 1; ; pages++ {
		got := b.get(path)
		for _, m := range row.FindAllStringSubmatch(got.body, -1) {
			seen[m[1]]++
		}
		next := older.FindStringSubmatch(got.body)
		if next == nil {
			if pages != 7 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		path = "/runs/shop" + strings.ReplaceAll(next[1], "&amp;", "&")
	}
	if len(seen) != 43 {
		t.Errorf("%d runs were seen, want 43", len(seen))
	}
	for id, n := range seen {
		if n > 1 {
			t.Errorf("%s was listed %d times", id, n)
		}
	}
}

// TestLive: whoever watches a run sees it end, and a page that did not change is not sent again.
func TestLive(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.Limits.Interval, c.Limits.Recheck = 10*time.Millisecond, 20*time.Millisecond })
	b := h.browser(t, readKey)
	stream := openStream(t, h, b, failedRun)
	events := make(chan string, 10)
	go func() {
		defer close(events)
		for {
			_, data, err := stream.read()
			if err != nil {
				return
			}
			events <- data
		}
	}()
	if first := <-events; !strings.Contains(first, "Failed: smoke on production") {
		t.Fatalf("the first version is %s", first)
	}
	for _, id := range []string{"unrelated-1", "unrelated-2"} { // what the first would change is sent before the second is looked at
		listed := h.reader.listed.Load()
		h.set(t, run{id: id, trigger: "other", environment: "staging", condition: v1alpha1.Queued("")}.suite())
		poll.True(t, "the page is rendered again", func() bool { return h.reader.listed.Load() > listed })
	}
	h.set(t, run{id: "smoke-4cplqekpnk1gtdjr", trigger: "smoke", environment: "production", ago: time.Minute,
		condition: v1alpha1.Passed("All is well.")}.suite())
	if data := <-events; !strings.Contains(data, "Passed: smoke on production") || !strings.Contains(data, "All is well.") {
		t.Errorf("the new version is %s", data)
	}
	h.Drain()
	if _, open := <-events; open {
		t.Error("the live page goes on while the server stops")
	}
}

// TestSettled: a run that ended long ago is not followed, and a page that has followed it to its end stays.
func TestSettled(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.Limits.Interval, c.Limits.Recheck = 10*time.Millisecond, 20*time.Millisecond })
	b := h.browser(t, readKey)
	const ended = "/runs/shop/load-9ttt"
	if got := b.get(ended); strings.Contains(got.body, "<live-page>") || !strings.Contains(b.get(failedRun).body, "<live-page>") {
		t.Error("want a live page of the run that has just ended, and of no other")
	}
	if code, _ := b.head(http.MethodGet, ended, http.Header{"Accept": {"text/event-stream"}}); code != http.StatusNotFound {
		t.Errorf("its live page is %d, want 404", code)
	}
	stream := openStream(t, h, b, failedRun)
	if _, _, err := stream.read(); err != nil {
		t.Fatal(err)
	}
	h.set(t, run{id: "smoke-4cplqekpnk1gtdjr", trigger: "smoke", environment: "production", ago: time.Hour,
		condition: v1alpha1.Passed("All is well.")}.suite())
	var events []string
	for {
		event, _, err := stream.read()
		if err != nil {
			break
		}
		events = append(events, event)
	}
	if want := []string{"page", "settled"}; !slices.Equal(events, want) {
		t.Errorf("the events are %q, want %q", events, want)
	}
}

func TestLimits(t *testing.T) {
	h := newWorld(t, samples(), func(c *pages.Config) { c.Limits.Streaming = 9 })
	b := h.browser(t, readKey)
	for range 8 {
		openStream(t, h, b, "/runs/shop")
	}
	got := b.do(http.MethodGet, "/runs/shop", "", http.Header{"Accept": {"text/event-stream"}})
	if got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || got.header.Get("Refresh") != "" {
		t.Errorf("a ninth live page of 9 for a team: %d", got.code)
	}
	if got := b.get("/runs/shop"); got.code != http.StatusOK {
		t.Errorf("a page beside them: %d", got.code)
	}
}

func TestExplainForm(t *testing.T) {
	cart := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "cart", Namespace: "shop", UID: "cart", Generation: 1},
		Spec: v1alpha1.TriggerSpec{Environment: "staging", Match: v1alpha1.TriggerMatch{Services: []string{"cart"}}}}
	b := newWorld(t, append(samples(), cart)).browser(t, readKey)
	cases := map[string]struct{ query, want string }{
		"Service":   {"/triggers/shop/cart?explain=1&service=cart", "It would run."},
		"Kept":      {"/triggers/shop/cart?explain=1&service=search", `name="service" value="search"`},
		"Matches":   {"/triggers/shop/checkout?explain=1&branch=main", "It would run."},
		"Does not":  {"/triggers/shop/checkout?explain=1&branch=other", "It would not run."},
		"Variables": {"/triggers/shop/load?explain=1&branch=release/4&variables=region%3Deu", "It would run."},
		"Wrong":     {"/triggers/shop/checkout?explain=1&url=nonsense", "deployment_url"},
	}
	for name, tc := range cases {
		if got := b.get(tc.query); got.code != http.StatusOK || !strings.Contains(got.body, tc.want) {
			t.Errorf("%s: %d, without %q", name, got.code, tc.want)
		}
	}
}

// TestOpenGraph: a link that is pasted in a chat shows the state, and why.
func TestOpenGraph(t *testing.T) {
	objects := samples()
	objects[0].(*v1alpha1.Team).Spec.PublicPages = true
	h := newWorld(t, objects, func(c *pages.Config) { c.PublicURL = "https://localhost/ci" })
	got := h.browser(t, "").get(failedRun).body
	for _, want := range []string{
		`<meta property="og:title" content="Failed: smoke on production">`,
		`<meta property="og:description" content="2 of 120 tests failed, 1 of them new, the first: checkout › pays with a saved card.">`,
		`<meta property="og:url" content="https://localhost/ci/runs/shop/smoke-4cplqekpnk1gtdjr">`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
