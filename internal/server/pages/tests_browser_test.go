package pages_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"

	"github.com/postflight-dev/postflight/test/tier"
)

// press presses a key, as a person who has no pointer.
func (b *tab) press(key string, code int64, text string) {
	b.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key, Code: key, WindowsVirtualKeyCode: code, Text: text})
	}
}

// TestKeyboardOfTests: all that one can do on these pages works with the keyboard, in the order of reading, and one sees where one is.
func TestKeyboardOfTests(t *testing.T) {
	tier.All(t, "a browser gets hundreds of keys; TestPagesOfTests reads the pages")
	h := newWorld(t, samples(), sampleTests)
	b := h.open(t, phone, readKey)
	for path, stops := range map[string][]string{
		"/insights/shop": {`.segments a`, `select[name=trigger]`, `.lead a`, `.as-table summary`, `.ends a`, `.of-tests .cover`,
			`.slowest .cover`},
		"/tests/shop": {`.segments a`, `input[type=search]`, `.of-tests .cover`, `a[rel=next]`},
		showTest(failingTest): {`.segments a`, `#quarantine summary`, `#terminal summary`, `.lead a`, `.as-table summary`, `.says a`,
			`.report-text summary`, `.of-places .cover`, `.of-runs .cover`},
	} {
		b.visit(path)
		reached := 0
		for range 120 {
			b.press("Tab", 9, "")
			if lost := eval[string](b, `(() => {
				const e = document.activeElement, box = e.getBoundingClientRect();
				if (e === document.body) return "";
				const drawn = [e, e.parentElement].flatMap((x) => [getComputedStyle(x), getComputedStyle(x, "::after")]).some((s) => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2);
				return drawn && box.width > 0 && box.bottom > 0 && box.top < innerHeight ? "" : e.outerHTML.slice(0, 120);
			})()`); lost != "" {
				t.Errorf("%s: one does not see that one is at %s", path, lost)
			}
			if reached < len(stops) && eval[bool](b, `document.activeElement.matches("`+stops[reached]+`")`) {
				reached++
			}
		}
		if reached < len(stops) {
			t.Errorf("%s: the keyboard does not reach %s, or too late", path, stops[reached])
		}
	}
	b.visit(showTest(failingTest))
	b.script(`document.querySelector(".as-table summary").focus()`)
	b.press("Enter", 13, "\r")
	b.await(`document.querySelector(".as-table").open && document.querySelector(".as-table td a").getBoundingClientRect().height > 0`)
	b.calm()
}

// TestNarrowHistory: names as long as they may be, and 120 places, are not wider than a phone, nor is what opens.
func TestNarrowHistory(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	fake := &tests{test: manyPlaces}
	b := newWorld(t, samples(), fake.with).open(t, phone, actKey)
	b.visit(showTest("ThreeDSecureAuthenticationFlowIntegrationTest.shouldRedirectToTheIssuerAndReturnToTheShopWithTheChallengeResult"))
	b.script(`document.querySelectorAll("details").forEach((d) => { d.open = true })`)
	outside := eval[[]string](b, `[...document.querySelectorAll("main *")].filter((e) => !e.closest("svg, .scroll, pre, .unseen") && e.getBoundingClientRect().width > 0 &&
		(e.getBoundingClientRect().left < 0 || e.getBoundingClientRect().right > 390.5)).map((e) => e.outerHTML.slice(0, 120))`)
	if width := eval[int](b, `document.documentElement.scrollWidth`); width > 390 || len(outside) > 0 {
		t.Errorf("%d pixels wide; outside: %q", width, outside)
	}
}
