package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/ui"
)

// under makes the pages reachable under a path, as behind a proxy.
func under(path string) option {
	return func(c *ui.Config) { c.PublicURL = "http://localhost" + path }
}

// quick sends changes at once.
func quick(c *ui.Config) {
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
			h := newHarness(t, emptyTeams(), quick, under("/tools/ci"))
			b := h.open(t, s, readKey)
			b.visit("/runs/shop")
			b.await(`document.body.innerText.includes("three steps away")`)
			r := run{id: "smoke-1", trigger: "smoke", environment: "staging", branch: "main", sha: commit("b776998c"), condition: v1alpha1.Queued("Waiting for a slot.")}
			h.set(t, r.suite())
			b.await(`document.querySelector("#run-smoke-1 .icon.queued")`)
			b.leave(`document.querySelector("#run-smoke-1 .cover").click()`)
			b.await(`document.querySelector("h1").innerText.includes("Queued")`)

			r.condition, r.took = v1alpha1.Running("The tests are running."), time.Second
			h.set(t, r.suite())
			b.await(`document.querySelector("h1").innerText.includes("Running")`)
			r.condition = v1alpha1.Passed("All tests passed.")
			r.results = passed(12)
			h.set(t, r.suite())
			b.await(`document.querySelector("h1").innerText.includes("Passed") && document.title.startsWith("Passed: smoke on staging")`)
			b.await(`document.querySelector("link[rel=icon]").href.includes("state-passed") && document.querySelector("#why").innerText.includes("12 tests passed.")`)
			b.calm()
		})
	}
}

func TestFollowALog(t *testing.T) {
	h := newHarness(t, samples(), quick)
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

func TestOpenALargeLog(t *testing.T) {
	h := newHarness(t, samples())
	const lines = 200_000
	for i := range lines {
		h.logs.text = fmt.Appendf(h.logs.text, "\x1b[36m2026-11-21T09:30:05Z\x1b[0m line %06d of a long log, with some words in each line of it\n", i+1)
	}
	if size := len(h.logs.text); size < 16<<20 {
		t.Fatalf("the log has %d bytes", size)
	}
	b := h.open(t, desktop, readKey)
	b.visit(failedRun)
	began := time.Now()
	b.leave(`document.querySelector('.tabs a[href$="/log"]').click()`)
	b.await(fmt.Sprintf(`document.querySelector("#L%d")`, lines))
	if took := time.Since(began); took > time.Second {
		t.Errorf("the log took %s", took)
	} else {
		t.Logf("%d MiB were open after %s", len(h.logs.text)>>20, took)
	}
	b.script(`document.querySelector("[data-older]").click()`)
	b.await(fmt.Sprintf(`document.querySelector("#L%d") && document.querySelector("#L%d")`, lines-1500, lines))
	b.visit(failedRun + "/log#L77777")
	b.await(`document.querySelector("#L77777.chosen")?.innerText.includes("line 077777")`)
	b.leave(`document.querySelector("[name=q]").value = "LINE 123456"; document.querySelector(".log-tools").requestSubmit()`)
	b.await(`document.querySelector("mark")?.innerText === "line 123456"`)
	b.leave(`document.querySelector(".number").click()`)
	b.await(`document.querySelector("#L123456.chosen")`)
	b.calm()
}

func TestFilterRuns(t *testing.T) {
	h := newHarness(t, samples(), under("/ci"))
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
	h := newHarness(t, samples())
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

// TestLookAtArtifacts: a picture is shown in place; a page runs in an origin of its own.
func TestLookAtArtifacts(t *testing.T) {
	h := newHarness(t, samples())
	h.artifacts.files = sampleFiles()
	h.artifacts.files["report/index.html"] = []byte(`<!doctype html><title>Report</title><p id="told">nothing</p><script>
		let cookie; try { cookie = document.cookie } catch (e) { cookie = e.name }
		fetch("data.json").then(r => r.json()).then(d => { told.textContent = self.origin + " " + cookie + " " + d.n })</script>`)
	h.artifacts.files["report/data.json"] = []byte(`{"n": 7}`)
	b := h.open(t, desktop, readKey)
	b.visit(failedRun)
	b.await(`document.querySelector(".previews img")?.naturalWidth === 640`)
	b.visit(failedRun + "/artifacts")
	b.await(`document.querySelector(".shown img")?.naturalWidth === 640`)
	link := eval[string](b, `document.querySelector('a[href$="index.html"]').getAttribute("href")`)
	b.calm()
	b.visit(link)
	b.await(`document.querySelector("#told").textContent === "null SecurityError 7"`)
}

// TestWithoutScripts: everything is there by reloading.
func TestWithoutScripts(t *testing.T) {
	h := newHarness(t, samples())
	h.logs.write(sampleLog())
	b := h.browser(t, readKey)
	for path, want := range map[string]string{"/runs/shop": "Running for", failedRun + "/log": "pays with a saved card", failedRun: "2 of 120 tests failed"} {
		if got := b.get(path); !strings.Contains(got.body, want) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
}

// TestNarrow: nothing is wider than a phone.
func TestNarrow(t *testing.T) {
	h := newHarness(t, samples())
	h.logs.write(sampleLog() + strings.Repeat("long", 1000) + "\n")
	h.artifacts.files = sampleFiles()
	b := h.open(t, phone, actKey)
	for _, path := range pages {
		b.visit(path)
		if width := eval[int](b, `document.documentElement.scrollWidth`); width > 390 {
			t.Errorf("%s is %d pixels wide", path, width)
		}
	}
}
