package pages_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// covered lists lines to paste that a button covers, or of which readers see only a part, with everything on the page unfolded.
const covered = `document.querySelectorAll("details").forEach(d => d.open = true);
	JSON.stringify([...document.querySelectorAll("copy-text")].filter(c => {
		const text = c.querySelector("pre"), a = text.getBoundingClientRect(), b = c.querySelector("button").getBoundingClientRect();
		const over = a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
		return over || a.left < 0 || b.right > innerWidth || !text.textContent.includes("\n") && text.scrollWidth > text.clientWidth;
	}).map(c => c.textContent.slice(0, 60)))`

// cut lists the texts that end before their end, by their first characters.
const cut = `JSON.stringify([...document.querySelectorAll("main :is(p, dd, h1, h2, h3)")].filter(e => getComputedStyle(e).overflow === "hidden" &&
	(e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)).map(e => e.textContent.slice(0, 60)))`

func (b *tab) list(script string) (found []string) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(eval[string](b, script)), &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

// TestNothingIsCovered: readers see all of each command to paste, on a desk and on a phone.
func TestNothingIsCovered(t *testing.T) {
	tier.All(t, "a browser opens each page twice")
	full, empty := newWorld(t, samples(), sampleTests), newWorld(t, emptyTeams())
	for name, s := range map[string]screen{"on a desk": desktop, "on a phone": phone} {
		for _, h := range []*world{full, empty} {
			for _, key := range []string{actKey, readKey} {
				b := h.open(t, s, key)
				for page, path := range allPages {
					b.visit(path)
					if found := b.list(covered); len(found) > 0 {
						t.Errorf("%s %s: %q", page, name, found)
					}
				}
			}
		}
	}
}

// TestNoTextOnlyOnPhones: what a phone shows of a text, a wide screen shows, too.
func TestNoTextOnlyOnPhones(t *testing.T) {
	tier.All(t, "a browser opens each page twice")
	long := strings.Repeat("The image registry.example.com/e2e:41 does not exist. ", 2) + "Correct it."
	objects := append(samples(), run{id: "mobile-long", trigger: "mobile", environment: "device-lab", branch: "main", sha: commit("b7"),
		ago: minute, condition: v1alpha1.Error(long)}.suite())
	h := newWorld(t, objects, sampleShared, sampleTests)
	small, wide := h.open(t, phone, bothKey), h.open(t, desktop, bothKey)
	for page, path := range allPages {
		small.visit(path)
		wide.visit(path)
		short := small.list(cut)
		for _, text := range wide.list(cut) {
			if strings.TrimSpace(text) != "" && !strings.Contains(strings.Join(short, "\n"), text) {
				t.Errorf("%s: only a phone shows all of %q", page, text)
			}
		}
	}
}
