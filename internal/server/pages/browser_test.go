package pages_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// under makes the pages reachable under a path, as behind a proxy.
func under(path string) option {
	return func(c *pages.Config) { c.PublicURL = "http://localhost" + path }
}

// quick sends changes at once.
func quick(c *pages.Config) {
	c.Limits.Interval, c.Limits.Recheck = 10*time.Millisecond, 50*time.Millisecond
}

// calm fails if something happened that must not.
func (b *tab) calm() {
	b.t.Helper()
	if diff := cmp.Diff([]string(nil), b.complaints()); diff != "" {
		b.t.Errorf("in the browser: %s", diff)
	}
}

func TestWatchARun(t *testing.T) {
	for name, s := range map[string]screen{"on a desk": desktop, "on a phone at night": phoneBy} {
		t.Run(name, func(t *testing.T) {
			if s != desktop {
				tier.All(t, "one screen proves what it does")
			}
			h := newWorld(t, emptyTeams(), quick, under("/tools/ci"))
			b := h.open(t, s, readKey)
			b.visit("/runs/shop")
			b.await(`document.body.innerText.includes("three steps away")`)
			r := run{id: "smoke-1", trigger: "smoke", environment: "staging", branch: "main", sha: commit("b776998c"),
				condition: v1alpha1.Queued("Waiting for a slot.")}
			h.set(t, r.suite())
			b.await(`document.querySelector("#run-smoke-1 .icon.queued")`)
			b.leave(`document.querySelector("#run-smoke-1 .cover").click()`)
			b.await(`document.querySelector("h1").innerText.includes("Queued")`)

			r.condition, r.took = v1alpha1.Running("The tests are running."), time.Second
			h.set(t, r.suite())
			b.await(`document.querySelector("h1").innerText.includes("Running")`)
			r.condition = v1alpha1.Passed("12 tests passed. The run passed in 1s.")
			r.results = passed(12)
			h.set(t, r.suite())
			b.await(`document.querySelector("h1").innerText.includes("Passed") && document.title.startsWith("Passed: smoke on staging")`)
			b.await(`document.querySelector("link[rel=icon]").href.includes("state-passed") && document.querySelector("#why").innerText.includes("12 tests passed.")`)
			b.calm()
		})
	}
}

// TestConnectAgain: a server that refuses a live page for a while does not end it, as a browser alone would. A reader who may
// not see it any more gets the page that says so.
func TestConnectAgain(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	cases := map[string]struct {
		reason string
		status int
		after  string
	}{
		"busy": {
			reason: "The page goes on when the server does.",
			status: http.StatusServiceUnavailable,
			after:  `document.querySelector("[data-live]")?.innerText === "Live"`,
		},
		"signed out": {
			reason: "The stream had ended before it could tell.",
			status: http.StatusUnauthorized,
			after:  `location.pathname === "/sign-in"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			auth := &unsure{status: tc.status}
			h := newWorld(t, samples(), func(c *pages.Config) {
				auth.Authenticator, c.Authenticator = c.Authenticator, auth
				c.Limits.Recheck, c.Limits.StreamFor = time.Hour, time.Second
			})
			b := h.open(t, desktop, readKey)
			b.visit("/runs/shop")
			b.await(`document.querySelector("[data-live]")?.innerText === "Live"`)
			auth.away.Store(true)
			b.await(`document.querySelector("[data-live]")?.innerText !== "Live"`)
			poll.True(t, "the stream is refused, and the page asks why", func() bool { return auth.refused.Load() >= 2 })
			auth.away.Store(tc.status == http.StatusUnauthorized)
			b.await(tc.after)
		})
	}
}

func TestFollowALog(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	h := newWorld(t, samples(), quick)
	h.logs.write("\x1b[32mfirst\x1b[0m line\n")
	b := h.open(t, desktop, readKey)
	b.visit("/runs/shop/checkout-3f9c2k7q5x0a/log")
	b.await(`document.querySelector("#L1 .t-2")?.innerText === "first"`)
	for i := range 3 {
		h.logs.write(fmt.Sprintf("line %d\n", i+2))
		b.await(fmt.Sprintf(`document.querySelector("#L%d")?.innerText.includes("line %d")`, i+2, i+2))
	}
	b.calm()
}

// TestOpenALargeLog opens 16 MiB from the archive, at their end and at any line, and searches them.
func TestOpenALargeLog(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	h := newWorld(t, samples())
	const lines = 155_000
	old := anOldRun("archived-1")
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "\x1b[36m2026-11-21T09:30:05Z\x1b[0m line %06d of a long log, with some words in each line of it, as they are\n", i+1)
	}
	if old.log = text.String(); len(old.log) < 15<<20 || len(old.log) > 16<<20 {
		t.Fatalf("the log has %d bytes", len(old.log))
	}
	h.store(t, old)
	b := h.open(t, desktop, readKey)
	b.visit("/runs/shop/archived-1")
	began := time.Now()
	b.leave(`document.querySelector('.tabs a[href$="/log"]').click()`)
	b.await(fmt.Sprintf(`document.querySelector("#L%d")`, lines))
	opened := time.Since(began)
	began = time.Now()
	if got := h.browser(t, readKey).get("/runs/shop/archived-1/log/text"); got.body != old.log {
		t.Errorf("the download has %d bytes", len(got.body))
	}
	raw := time.Since(began)
	t.Logf("LOG_FROM_ARCHIVE bytes=%d open_ms=%.0f download_ms=%.0f", len(old.log), ms(opened), ms(raw))
	if opened > 20*raw {
		t.Errorf("to open the log takes %s, and to download it %s", opened, raw)
	}
	b.script(`document.querySelector("[data-older]").click()`)
	b.await(fmt.Sprintf(`document.querySelector("#L%d") && document.querySelector("#L%d")`, lines-1500, lines))
	b.visit("/runs/shop/archived-1/log#L77777")
	b.await(`document.querySelector("#L77777.chosen")?.innerText.includes("line 077777")`)
	b.leave(`document.querySelector("[name=q]").value = "LINE 123456"; document.querySelector(".log-tools").requestSubmit()`)
	b.await(`document.querySelector("mark")?.innerText === "line 123456"`)
	b.leave(`document.querySelector(".number").click()`)
	b.await(`document.querySelector("#L123456.chosen")`)
	b.calm()
}

// TestArchivedRunInTheBrowser: from the list to a run that only the archive has, its failed test and its files.
func TestArchivedRunInTheBrowser(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	h := newWorld(t, samples(), under("/ci"))
	old := anOldRun("archived-1")
	old.log, old.files = sampleLog(), sampleFiles()
	h.store(t, old)
	b := h.open(t, desktop, readKey)
	b.visit("/runs/shop?trigger=smoke")
	if eval[bool](b, `!!document.querySelector("#run-archived-1")`) {
		t.Error("the live list asks the store")
	}
	b.leave(`document.querySelector("[name=archive]").click()`)
	if got := eval[string](b, `location.search`); got != "?archive=1&trigger=smoke" && got != "?trigger=smoke&archive=1" {
		t.Errorf("the filter in the URL is %q", got)
	}
	b.leave(`document.querySelector("#run-archived-1 .cover").click()`)
	b.await(`document.querySelector("h1").innerText.includes("archived") && document.querySelector(".previews img")?.naturalWidth === 640`)
	b.leave(`[...document.querySelectorAll(".failures a")].find(a => a.href.includes("saved")).click()`)
	b.await(`document.querySelector(".line.chosen")?.innerText.includes("pays with a saved card")`)
	b.visit("/runs/shop/archived-1#log")
	b.await(`location.pathname.endsWith("/archived-1/log") && document.querySelector("#L90")`)
	b.visit("/runs/shop/archived-1#results")
	b.await(`document.querySelector("#results .failures")`)
	b.calm()
}

func TestFilterRuns(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	h := newWorld(t, samples(), under("/ci"))
	b := h.open(t, desktop, readKey)
	b.visit("/runs/shop")
	b.leave(`const s = document.querySelector("[name=state]"); s.value = "Failed"; s.dispatchEvent(new Event("change", {bubbles: true}))`)
	if got := eval[string](b, `location.search`); got != "?state=Failed" {
		t.Errorf("the filter in the URL is %q", got)
	}
	b.await(`document.querySelectorAll(".row").length === document.querySelectorAll(".row .icon.failed").length`)
	b.leave(`document.querySelector("a.look").click()`)
	b.await(`document.querySelector("#run-smoke-4cplqekpnk1gtdjr") && !document.querySelector("#run-checkout-old04")`)
	b.leave(`document.querySelector("[name=q]").value = "device"; document.querySelector("#filter").requestSubmit()`)
	if got := eval[string](b, `location.search`); got != "?q=device&state=look" {
		t.Errorf("the filter in the URL is %q", got)
	}
	b.visit("/runs/shop")
	b.script(`document.dispatchEvent(new KeyboardEvent("keydown", {key: "j", bubbles: true})); document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "j", bubbles: true}))`)
	b.await(`document.activeElement.closest("#run-mobile-77aa")`)
	b.calm()
}

func TestAct(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	h := newWorld(t, samples())
	b := h.open(t, desktop, actKey)
	b.visit("/runs/shop/checkout-3f9c2k7q5x0a")
	b.script(`document.querySelector("#cancel summary").click()`)
	b.leave(`document.querySelector("#cancel .danger").click()`)
	b.visit(failedRun)
	b.leave(`document.querySelector('form[action$="/rerun"] button').click()`)
	want := []string{"cancel checkout-3f9c2k7q5x0a by laptop of Anna", "rerun smoke-4cplqekpnk1gtdjr by laptop of Anna"}
	if diff := cmp.Diff(want, h.actions.all()); diff != "" {
		t.Error(diff)
	}
	b.visit("/triggers/shop/checkout")
	b.leave(`document.querySelector("[name=branch]").value = "feature/x"; document.querySelector("#explain-form").requestSubmit()`)
	b.await(`document.querySelector(".explanation").innerText.includes("It would run.")`)
	b.visit("/")
	b.script(`document.querySelector(".menu summary").click()`)
	b.leave(`document.querySelector('form[action$="/sign-out"] button').click()`)
	b.await(`document.querySelector('a[href$="/sign-in"]')`)
	b.calm()
}

// TestOtherChanges: a page shows changes of a Trigger and of an Environment, too.
func TestOtherChanges(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	h := newWorld(t, samples(), quick)
	b := h.open(t, desktop, readKey)
	b.visit("/triggers/shop")
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "contract", Namespace: team},
		Spec: v1alpha1.TriggerSpec{Environment: "staging"}}
	if err := h.client.Create(t.Context(), trigger); err != nil {
		t.Fatal(err)
	}
	h.Changed(team)
	b.await(`document.querySelector("#trigger-contract")`)
	b.calm()
}

// TestWithoutScripts: everything is there by reloading.
// TestUnfoldedTableStays: a day's table that somebody has unfolded stays so while the page changes.
func TestUnfoldedTableStays(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	h := newWorld(t, samples(), quick)
	b := h.open(t, desktop, readKey)
	b.visit("/environments/shop/staging")
	b.script(`document.querySelector("#day-table summary").click()`)
	h.set(t, run{id: "smoke-next", trigger: "smoke", environment: "staging", condition: v1alpha1.Queued("It waits.")}.suite())
	b.await(`document.querySelector("#run-smoke-next") && document.querySelector('#day-table a[href$="smoke-next"]')`)
	if !eval[bool](b, `document.querySelector("#day-table").open`) {
		t.Error("the table was folded")
	}
	b.calm()
}

func TestWithoutScripts(t *testing.T) {
	h := newWorld(t, samples(), sampleTests)
	h.logs.write(sampleLog())
	b := h.browser(t, readKey)
	for path, want := range map[string]string{"/runs/shop": "Running for", failedRun + "/log": "pays with a saved card",
		failedRun:        "2 of 120 tests failed",
		"/insights/shop": "95th percentile", "/tests/shop": "failed in 31 of 214 runs", showTest(failingTest): "Fails since <time"} {
		if got := b.get(path); !strings.Contains(got.body, want) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
}

// TestNarrow: nothing is wider than a phone.
func TestNarrow(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	h := newWorld(t, samples(), sampleTests)
	h.logs.write(sampleLog() + strings.Repeat("long", 1000) + "\n")
	h.artifacts.files = sampleFiles()
	b := h.open(t, phone, actKey)
	for _, path := range allPages {
		b.visit(path)
		if width := eval[int](b, `document.documentElement.scrollWidth`); width > 390 {
			t.Errorf("%s is %d pixels wide", path, width)
		}
	}
}
