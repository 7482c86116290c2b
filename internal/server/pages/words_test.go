package pages_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// TestNotFoundLeadsOn: whatever does not exist, or belongs to others, a reader who has signed in finds the way back to a team.
func TestNotFoundLeadsOn(t *testing.T) {
	h := newWorld(t, samples())
	for _, path := range []string{
		"/nonsense", "/runs/nobody", "/runs/rival", "/runs/rival/smoke-1", "/runs/shop/none", "/runs/shop/none/log", "/triggers/shop/none",
		"/environments/shop/none", "/tests/rival", "/insights/nobody", "/board/rival", "/files/forged/pod-a/index.html",
	} {
		got := h.browser(t, readKey).get(path)
		if got.code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.code)
		}
		if isFile := strings.HasPrefix(path, "/files/"); !isFile && !strings.Contains(got.body, `<a href="/runs/shop"`) {
			t.Errorf("%s has no navigation", path)
		}
		if strings.Contains(got.body, "/runs/rival") {
			t.Errorf("%s leads to another team", path)
		}
	}
}

// TestNoLogBeforeTheStart: a run that has ended leads to its log if a container of it started.
func TestNoLogBeforeTheStart(t *testing.T) {
	b := newWorld(t, samples()).browser(t, readKey)
	for id, want := range map[string]string{
		"mobile-3err": "", "smoke-first-attempt": "", "load-9ttt": "Open the log", "smoke-8pr3": "Open the log",
		"checkout-3f9c2k7q5x0a": "Follow the log", "visual-5d2m": "Follow the log",
	} {
		body := b.get("/runs/shop/" + id).body
		for _, button := range []string{"Open the log", "Follow the log"} {
			if strings.Contains(body, button) != (button == want) {
				t.Errorf("%s has %q: %t", id, button, button != want)
			}
		}
	}
}

// TestPicturesOfShards: pictures of two pods are told apart if they have one path, and only then.
func TestPicturesOfShards(t *testing.T) {
	h := newWorld(t, samples())
	h.reader.explain = func(*runs.Run) (results.Explanation, error) { return results.Explanation{}, nil }
	h.artifacts.files = map[string][]byte{"smoke-0-a1b2c:cart.png": drawing(64, 36), "smoke-1-d3e4f:cart.png": drawing(64, 36),
		"smoke-1-d3e4f:pay.png": drawing(64, 36)}
	body := h.browser(t, readKey).get(failedRun).body
	_, pictures, _ := strings.Cut(body, "Pictures and videos")
	for text, want := range map[string]int{">cart.png<": 2, ">pay.png<": 1, ">smoke-0-a1b2c<": 1, ">smoke-1-d3e4f<": 1} {
		if got := strings.Count(pictures, text); got != want {
			t.Errorf("%q is there %d times, want %d", text, got, want)
		}
	}
}

// TestTriggersThatDoNotWork: each page that shows a Trigger that is not Ready has the message and the sign of errors.
func TestTriggersThatDoNotWork(t *testing.T) {
	b := newWorld(t, samples(), sampleShared).browser(t, readKey)
	message := strings.ReplaceAll(noEnvironment, `"`, "&#34;")
	for path, sign := range map[string]string{
		"/board/shop": `<li class="tile error" id="tile-perf-nightly">`, "/triggers/shop": `<svg class="icon error" role="img" aria-label="Does not work">`,
		"/triggers/shop/nightly": `<svg class="icon error"`, "/teams": "1 Trigger of shop does not work, and ",
	} {
		body := b.get(path).body
		if !strings.Contains(body, message) || !strings.Contains(body, sign) {
			t.Errorf("%s lacks %q or the message", path, sign)
		}
	}
}

// TestLinesSayMore: what is below the first sentence of a run adds to it. No sentence, person or other run is named twice.
func TestLinesSayMore(t *testing.T) {
	blocked := run{id: "visual-blocked", trigger: "visual", environment: "staging", branch: "main", sha: commit("b7"), ago: minute,
		condition: v1alpha1.Queued("There is no Trigger visual."), change: func(s *v1alpha1.Suite) {
			s.Status.Conditions = append(s.Status.Conditions, v1alpha1.ObjectMissing("There is no Trigger visual."))
		}}
	asked := run{id: "load-asked", trigger: "load", environment: "staging", branch: "main", sha: commit("b7"), ago: minute, took: 1,
		condition: v1alpha1.Running("The tests are running."), change: func(s *v1alpha1.Suite) {
			s.Spec.Cancel, s.Annotations = true, map[string]string{v1alpha1.AnnotationCanceledBy: "ben@example.com"}
		}}
	b := newWorld(t, append(samples(), blocked.suite(), asked.suite())).browser(t, readKey)
	tags, sentence := regexp.MustCompile(`<[^>]*>`), regexp.MustCompile(`[^.]+[.]( |$|\n)`)
	for _, r := range append(sampleRuns(), blocked, asked) {
		body := b.get("/runs/shop/" + r.id).body
		_, body, _ = strings.Cut(body, `id="why"`)
		body, _, _ = strings.Cut(body, "<dl ")
		text := tags.ReplaceAllString("<"+body, "")
		said := map[string]bool{}
		for _, s := range sentence.FindAllString(text, -1) {
			if s = strings.TrimSpace(s); said[s] {
				t.Errorf("%s says twice %q", r.id, s)
			}
			said[s] = true
		}
		for _, name := range []string{"anna@example.com", "smoke-1sta", "ben@example.com"} {
			if strings.Count(text, name) > 1 {
				t.Errorf("%s names %s twice: %s", r.id, name, text)
			}
		}
		if r.id == asked.id && !strings.Contains(text, "Canceled by ben@example.com.") {
			t.Errorf("%s does not say who canceled it", r.id)
		}
		if r.id == "smoke-2sup" && !strings.Contains(body, `href="/runs/shop/smoke-1sta"`) {
			t.Errorf("%s does not lead to the newer run", r.id)
		}
	}
}
