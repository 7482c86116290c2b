package pages_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// longLines is a log of lines that are almost as long as one is read.
func longLines(n int) string {
	var log strings.Builder
	for i := range n {
		fmt.Fprintf(&log, "line %d %s\n", i+1, strings.Repeat("x", 60<<10))
	}
	return log.String()
}

// TestLogOfLongLines: a page has as much of it as fits into memory many times over, and leads to the rest.
func TestLogOfLongLines(t *testing.T) {
	lines := 200
	if tier.Gate() {
		lines = 100
	}
	h := newWorld(t, samples())
	h.logs.write(longLines(lines))
	b := h.browser(t, readKey)
	number := regexp.MustCompile(`id="L(\d+)"`)
	seen := map[string]bool{}
	for path := failedRun + "/log?from=1"; path != ""; {
		got := b.get(path)
		shown := number.FindAllStringSubmatch(got.body, -1)
		if len(shown) == 0 || len(shown) > 70 {
			t.Fatalf("%s has %d lines", path, len(shown))
		}
		for _, l := range shown {
			seen[l[1]] = true
		}
		path = ""
		if _, newer, ok := strings.Cut(got.body, `data-newer href="`); ok { // a regular expression takes seconds
			newer, _, _ = strings.Cut(newer, `"`)
			path = failedRun + "/log" + html.UnescapeString(newer)
		}
	}
	if len(seen) != lines {
		t.Errorf("%d of %d lines are on a page", len(seen), lines)
	}
	end, last, old := b.get(failedRun+"/log").body, fmt.Sprintf(`id="L%d"`, lines), fmt.Sprintf(`id="L%d"`, lines/4)
	if !strings.Contains(end, last) || strings.Contains(end, old) || !strings.Contains(end, "data-older") {
		t.Error("the page lacks the end, has too much, or leads to no older lines")
	}
}

// TestFollowLongLines: they come one after another, and few at once.
func TestFollowLongLines(t *testing.T) {
	const lines = 100
	h := newWorld(t, samples())
	h.logs.write(longLines(lines))
	stream := openStream(t, h, h.browser(t, readKey), "/runs/shop/checkout-3f9c2k7q5x0a/log/live")
	for next := 1; next <= lines; {
		_, data, err := stream.read()
		numbers := regexp.MustCompile(`id=\\"L(\d+)\\"`).FindAllStringSubmatch(data, -1)
		if err != nil || len(numbers) == 0 || len(data) > 64<<10 {
			t.Fatalf("%d lines and %d bytes at once: %v", len(numbers), len(data), err)
		}
		for _, n := range numbers {
			if n[1] != fmt.Sprint(next) {
				t.Fatalf("line %s comes in the place of %d", n[1], next)
			}
			next++
		}
	}
}

// TestLivePageReadsItsLogOnce: however often a run changes.
func TestLivePageReadsItsLogOnce(t *testing.T) {
	h := newWorld(t, samples(), quick)
	h.logs.write(sampleLog())
	const id = "watched"
	r := run{id: id, trigger: "smoke", environment: "staging", branch: "main", condition: v1alpha1.Running("The tests are running.")}
	h.set(t, r.suite())
	stream := openStream(t, h, h.browser(t, readKey), "/runs/shop/"+id+"/log")
	if event, data, err := stream.read(); event != "page" || !strings.Contains(data, "117 passed") {
		t.Fatalf("%q, %v; want a page with the log", event, err)
	}
	asked := h.logs.asked.Load()
	for i := range 3 {
		r.branch = fmt.Sprintf("changed/%d", i)
		h.set(t, r.suite())
		if event, data, err := stream.read(); event != "page" || !strings.Contains(data, r.branch) || !strings.Contains(data, "log-view") {
			t.Fatalf("%q after a change, %v; want a page", event, err)
		}
	}
	if got := h.logs.asked.Load(); got != asked {
		t.Errorf("the log was asked for %d times more", got-asked)
	}
}
