package pages_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/tier"
)

func TestArtifacts(t *testing.T) {
	h := newWorld(t, samples())
	h.artifacts.files = sampleFiles()
	b := h.browser(t, readKey)
	links := regexp.MustCompile(`href="(/files/[^"]+)"`).FindAllStringSubmatch(b.get(failedRun+"/artifacts").body, -1)
	byName := map[string]string{}
	for _, l := range links {
		byName[l[1][strings.LastIndex(l[1], "/")+1:]] = l[1]
	}
	stranger := h.browser(t, "") // a sandboxed page sends no cookie
	cases := map[string]struct{ contentType, disposition string }{
		"index.html":                 {"text/html; charset=utf-8", ""},
		"pays-with-a-saved-card.png": {"image/png", ""},
		"trace.zip":                  {"application/octet-stream", "attachment; filename=trace.zip"},
		"results.xml":                {"text/plain; charset=utf-8", ""},
	}
	for name, want := range cases {
		got := stranger.get(byName[name])
		if got.code != http.StatusOK || got.header.Get("Content-Type") != want.contentType ||
			got.header.Get("Content-Disposition") != want.disposition {
			t.Errorf("%s: %d, %v", name, got.code, got.header)
		}
		policy := got.header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "sandbox allow-scripts ") || strings.Contains(policy, "allow-same-origin") ||
			strings.Contains(policy, "allow-top-navigation") {
			t.Errorf("%s may do %q", name, policy)
		}
	}
	if got := stranger.get(byName["index.html"] + "?download=1"); got.header.Get("Content-Disposition") != "attachment; filename=index.html" {
		t.Errorf("to download a page: %v", got.header)
	}
	framed := stranger.do(http.MethodGet, byName["index.html"], "", http.Header{"Sec-Fetch-Dest": {"document"}})
	if !strings.Contains(framed.body,
		`<iframe class="report" sandbox="allow-scripts allow-popups allow-downloads" src="`+byName["index.html"]) {
		t.Errorf("a page of its own: %s", framed.body)
	}
	forged := strings.Replace(byName["index.html"], "/files/", "/files/A", 1)
	for _, path := range []string{forged, strings.Replace(byName["index.html"], "index.html", "none.html", 1)} {
		if got := stranger.get(path); got.code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.code)
		}
	}
	h.auth.revoke(readKey)
	if got := stranger.get(byName["index.html"]); got.code != http.StatusNotFound {
		t.Errorf("a file after the key was revoked: %d", got.code)
	}
}

// TestLargeLog: of 16 MiB, the end, any part and any word is found, and all of it can be downloaded. The gate has 4.
func TestLargeLog(t *testing.T) {
	h := newWorld(t, samples())
	size, middle := 16<<20, 100_000
	if tier.Gate() {
		size, middle = 4<<20, 30_000
	}
	var log strings.Builder
	lines := 0
	for log.Len() < size {
		lines++
		fmt.Fprintf(&log, "\x1b[32m2026-11-21T09:30:05Z\x1b[0m line %d of a log that is rather long, as they are\n", lines)
	}
	h.logs.write(log.String())
	b := h.browser(t, readKey)
	cases := map[string]struct{ query, want string }{
		"end":    {"", fmt.Sprintf(`id="L%d"`, lines)},
		"middle": {fmt.Sprintf("?from=%d", middle), fmt.Sprintf(`id="L%d"`, middle)},
		"search": {fmt.Sprintf("?q=LINE+%d+of", middle+2345), fmt.Sprintf(`#L%d`, middle+2345)},
	}
	for name, tc := range cases {
		began := time.Now()
		if got := b.get(failedRun + "/log" + tc.query); got.code != http.StatusOK || !strings.Contains(got.body, tc.want) {
			t.Errorf("%s: %d", name, got.code)
		}
		t.Logf("LARGE_LOG part=%s lines=%d ms=%.0f", name, lines, ms(time.Since(began)))
	}
	if got := b.get(failedRun + "/log/text"); got.body != log.String() ||
		!strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the download has %d bytes", len(got.body))
	}
	if got := b.get(failedRun + "/log/text?log=another/tests"); got.code != http.StatusNotFound {
		t.Errorf("a log that is gone, beside one that is left: %d, want 404", got.code)
	}
	packed := b.do(http.MethodGet, failedRun+"/log/text", "", http.Header{"Accept-Encoding": {"gzip"}})
	if packed.header.Get("Content-Encoding") != "gzip" || len(packed.body) > log.Len()/4 {
		t.Errorf("for browsers, it has %d bytes", len(packed.body))
	}
}

func TestFollow(t *testing.T) {
	h := newWorld(t, samples())
	h.logs.write("first\nsecond\n")
	b := h.browser(t, readKey)
	stream := openStream(t, h, b, "/runs/shop/checkout-3f9c2k7q5x0a/log/live?after=1")
	for _, want := range []string{`id=\"L2\"`, `id=\"L3\"`} {
		_, data, err := stream.read()
		data = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(data)
		if err != nil || !strings.Contains(data, want) || strings.Contains(data, "first") {
			t.Errorf("got %q, %v; want %s", data, err, want)
		}
		h.logs.write("third\n")
	}
}
