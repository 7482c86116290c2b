package pages_test

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

var (
	tag       = regexp.MustCompile(`<([a-zA-Z][a-zA-Z0-9-]*)((?:[^>"']|"[^"]*"|'[^']*')*)>`)
	attribute = regexp.MustCompile(`([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?`)
)

// markup is what a page consists of: its elements, and each of their attributes, without the text that these have.
func markup(page string) map[string]bool {
	all := map[string]bool{}
	for _, t := range tag.FindAllStringSubmatch(page, -1) {
		all["<"+t[1]+">"] = true
		for _, a := range attribute.FindAllStringSubmatch(t[2], -1) {
			all["<"+t[1]+" "+a[1]+">"] = true
		}
	}
	return all
}

// addresses are all to which a page leads, or from which it loads.
func addresses(page string) (all []string) {
	for _, t := range tag.FindAllStringSubmatch(page, -1) {
		for _, a := range attribute.FindAllStringSubmatch(t[2], -1) {
			if slices.Contains([]string{"href", "src", "action", "poster", "srcset", "data"}, a[1]) {
				all = append(all, html.UnescapeString(a[2]+a[3]+a[4]))
			}
		}
	}
	return all
}

// ofHostileRun are the pages that show a text of a run, or of a request.
var ofHostileRun = []string{
	"/runs/shop/RUN", "/runs/shop/RUN/variables", "/runs/shop/RUN/attempts", "/runs/shop/RUN/artifacts", "/runs/shop/RUN/log?q=QUERY",
	"/runs/shop/QUERY",
	"/tests/shop/show?name=QUERY", "/insights/shop?trigger=QUERY&environment=QUERY", "/tests/shop?q=QUERY&after=QUERY",
	"/sign-in?next=QUERY", "/triggers/shop/checkout?explain=1&branch=QUERY&service=QUERY&url=QUERY&variables=QUERY",
}

// TestHostileTextIsEscaped: wherever a client, a test or a file can put a text, it adds no element and no attribute to the
// pages, which link to nothing but pages, and load nothing but their own files.
func TestHostileTextIsEscaped(t *testing.T) {
	fake, documents := &tests{}, &hostileDocuments{}
	h := filled(t, fake.with, knownFailures(documents.add).with)
	b := h.browser(t, actKey)
	lists := []string{"/runs/shop", "/runs/shop?q=QUERY", "/board/shop", "/environments/shop", "/environments/shop/staging",
		"/triggers/shop", "/tests/shop", "/tests/shop?q=QUERY", "/insights/shop", "/runs/shop/hostile-0/log"}
	visit := func(paths []string, i int, text string, check func(path, page string)) {
		for _, path := range paths {
			path = strings.NewReplacer("RUN", hostileRun(i, text).Name, "QUERY", url.QueryEscape(text)).Replace(path)
			if got := b.get(path); got.code != http.StatusSeeOther && !strings.Contains(got.body, "</html>") {
				t.Errorf("%s: %d, no page", path, got.code)
			} else {
				check(path, got.body)
			}
		}
	}
	show := func(i int, text string) {
		h.logs.write(text + "\n::group::" + text + "\n" + text + "\n::endgroup::\n")
		fake.say(text)
		documents.text = text
		h.artifacts.files = map[string][]byte{}
		for _, kind := range []string{".txt", ".png", ".webm", ".html", ".zip"} {
			h.artifacts.files[text+kind] = []byte(text)
		}
		h.set(t, hostileRun(i, text))
		failure := results.Failure{TestFailure: v1alpha1.TestFailure{Name: text, File: text, Line: 1, Message: text}, Text: text, TextCut: true}
		h.reader.explain = func(*runs.Run) (results.Explanation, error) {
			explained := results.Explained{Failure: failure, Pod: text, Files: []results.File{{Path: text + ".png"}, {Path: text}}}
			return results.Explanation{Failures: []results.Explained{explained}, Flaky: []string{text}}, nil
		}
	}
	known := map[string]bool{}
	for i, harmless := range []string{"plain", "https://plain.example/a"} {
		show(i, harmless)
		visit(slices.Concat(ofHostileRun, lists, slices.Collect(maps.Values(allPages))), i, harmless,
			func(_, page string) { maps.Copy(known, markup(page)) })
	}
	check := func(path, page string) {
		for part := range markup(page) {
			if !known[part] {
				t.Errorf("%s has %s", path, part)
			}
		}
		for _, to := range addresses(page) {
			if u, err := url.Parse(to); err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
				t.Errorf("%s leads to %q, %v", path, to, err)
			}
		}
	}
	for i, text := range hostile {
		text = strings.ReplaceAll(text, "EVIL", "http://evil.example")
		show(i, text)
		visit(ofHostileRun, i, text, check)
	}
	visit(lists, 0, hostile[1], check)
}
