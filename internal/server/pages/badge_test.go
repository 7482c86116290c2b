package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/pages"
)

const (
	badge       = "/environments/shop/production/badge.svg"
	publicBadge = "/environments/shop/staging/badge.svg"
)

// withBadge is a team whose staging has a public badge.
func withBadge(changes ...func(*v1alpha1.Team)) []client.Object {
	objects := samples()
	for _, o := range objects {
		switch o := o.(type) {
		case *v1alpha1.Environment:
			o.Spec.PublicBadge = o.Name == "staging"
		case *v1alpha1.Team:
			for _, change := range changes {
				change(o)
			}
		}
	}
	return objects
}

func TestBadgeOfWhat(t *testing.T) {
	h := newWorld(t, withBadge())
	b := h.browser(t, readKey)
	for query, want := range map[string]string{
		"":                           "failed", // acme/pay has a run that timed out
		"?repository=acme/shop":      "running",
		"?repository=Acme/Search":    "no result",
		"?repository=acme/none":      "no result",
		"?branch=feature/pay":        "running",
		"?branch=no-such-branch":     "no result",
		"?sha=" + commit("5a7ed0c4"): "withdrawn",
		"?sha=" + commit("5a7ed0c4") + "&repository=acme/shop":    "withdrawn",
		"?sha=" + commit("5a7ed0c4") + "&repository=someone/fork": "no result",
		"?sha=5a7ed0c4":                                  "no result", // a part of a SHA may be that of another commit
		"?sha=" + strings.Repeat("a", 1000):              "no result",
		"?sha=x&repository=" + strings.Repeat("a", 1000): "no result",
	} {
		got := b.get(publicBadge + query)
		if got.code != http.StatusOK || got.header.Get("Content-Type") != "image/svg+xml" ||
			!strings.Contains(got.body, "<title>staging: "+want+"</title>") {
			t.Errorf("%.60s: %d, %s, without %q", query, got.code, got.body, want)
		}
	}
	for query, want := range map[string]string{"?sha=" + commit("57a1e0ff"): "stale", "?sha=" + commit("b776998c"): "failed"} {
		if got := b.get(badge + query); !strings.Contains(got.body, "<title>production: "+want+"</title>") {
			t.Errorf("%s: %d, %s, without %q", query, got.code, got.body, want)
		}
	}
}

// TestWhoSeesBadges: a stranger sees public badges, and cannot tell others from those that do not exist.
func TestWhoSeesBadges(t *testing.T) {
	suspended := withBadge(func(t *v1alpha1.Team) { t.Spec.Suspended, t.Spec.PublicPages = true, true })
	private, open := newWorld(t, withBadge()), newWorld(t, withBadge(func(t *v1alpha1.Team) { t.Spec.PublicPages = true }))
	closed := newWorld(t, suspended)
	none := "/environments/shop/none/badge.svg"
	for name, tc := range map[string]struct {
		reason string
		h      *world
		key    string
		path   string
		want   int
		public bool // caches may keep it, and other sites show it
	}{
		"the team":                        {"It sees its own.", private, readKey, badge, http.StatusOK, false},
		"the team, of a public one":       {"It is the same for all.", private, readKey, publicBadge, http.StatusOK, true},
		"the team, of none":               {"", private, readKey, none, http.StatusNotFound, false},
		"a stranger":                      {"A README fetches it without a session.", private, "", publicBadge, http.StatusOK, true},
		"a stranger, of a private one":    {"It looks like none.", private, "", badge, http.StatusSeeOther, false},
		"a stranger, of none":             {"It looks like a private one.", private, "", none, http.StatusSeeOther, false},
		"a stranger, of no team":          {"", private, "", "/environments/nowhere/staging/badge.svg", http.StatusSeeOther, false},
		"a stranger, of a public page":    {"Its badges are public, too.", open, "", badge, http.StatusOK, true},
		"a stranger, of none there":       {"", open, "", none, http.StatusNotFound, false},
		"another team":                    {"It is a stranger.", private, otherKey, publicBadge, http.StatusOK, true},
		"another team, of a private one":  {"It looks like none.", private, otherKey, badge, http.StatusNotFound, false},
		"another team, of none":           {"It looks like a private one.", private, otherKey, none, http.StatusNotFound, false},
		"a stranger, of a suspended team": {"Nothing of it is shown.", closed, "", publicBadge, http.StatusSeeOther, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.h.browser(t, tc.key).get(tc.path)
			if got.code != tc.want {
				t.Errorf("%s got %d, want %d", tc.reason, got.code, tc.want)
			}
			control, site := "no-store", "same-origin"
			if tc.public {
				control, site = "public, max-age=60", "cross-origin"
			}
			if got.header.Get("Cache-Control") != control || got.header.Get("Cross-Origin-Resource-Policy") != site {
				t.Errorf("%q, %q", got.header.Get("Cache-Control"), got.header.Get("Cross-Origin-Resource-Policy"))
			}
		})
	}
	stranger := private.browser(t, "")
	unknown, hidden := stranger.get(none), stranger.get(badge)
	for path, header := range map[string]http.Header{none: unknown.header, badge: hidden.header} {
		header.Del("Date")
		header.Set("Location", strings.ReplaceAll(header.Get("Location"), url.QueryEscape(path), "PATH"))
	}
	if strings.ReplaceAll(unknown.body, "none", "production") != hidden.body || unknown.header.Get("Location") != hidden.header.Get("Location") ||
		len(unknown.header) != len(hidden.header) {
		t.Errorf("a stranger can tell them apart:\n%v\n%v", unknown, hidden)
	}
	for _, path := range []string{"/environments/shop/staging", "/environments/shop/staging/commits/" + commit("9c1d2e3f"), "/environments/shop"} {
		if got := stranger.get(path); got.code != http.StatusSeeOther {
			t.Errorf("a public badge opens %s: %d", path, got.code)
		}
	}
}

// TestBadgeIsRevalidated: caches ask whether it has changed, and get nothing if it has not.
func TestBadgeIsRevalidated(t *testing.T) {
	h := newWorld(t, withBadge())
	b := h.browser(t, "")
	path := publicBadge + "?repository=acme/shop"
	first := b.get(path)
	tag := first.header.Get("ETag")
	for sent, want := range map[string]int{tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"other", ` + tag: http.StatusNotModified,
		`"other"`: http.StatusOK, "": http.StatusOK} {
		got := b.do(http.MethodGet, path, "", http.Header{"If-None-Match": {sent}})
		if got.code != want || want == http.StatusNotModified && got.body != "" || got.header.Get("ETag") != tag {
			t.Errorf("%s: %d with %q, %s", sent, got.code, got.body, got.header.Get("ETag"))
		}
	}
	if code, header := b.head(http.MethodHead, path, nil); code != http.StatusOK || header.Get("ETag") != tag {
		t.Errorf("HEAD: %d, %s", code, header.Get("ETag"))
	}
	if other := b.get(publicBadge + "?sha=" + commit("5a7ed0c4")).header.Get("ETag"); other == tag || tag == "" {
		t.Errorf("running and withdrawn have the tags %s and %s", tag, other)
	}
}

// TestHostileBadgeQuery: what a visitor asks about is not in the answer.
func TestHostileBadgeQuery(t *testing.T) {
	b := newWorld(t, withBadge()).browser(t, "")
	plain := b.get(publicBadge + "?sha=unknown").body
	for _, text := range hostile {
		for _, name := range []string{"sha", "branch", "repository"} {
			if got := b.get(publicBadge + "?" + name + "=" + url.QueryEscape(text)); got.code != http.StatusOK || got.body != plain {
				t.Errorf("%s=%q: %d, %s", name, text, got.code, got.body)
			}
		}
	}
	h := newWorld(t, withBadge(), func(c *pages.Config) { c.PublicURL = "https://localhost/ci" })
	if got := h.browser(t, "").get("/ci" + publicBadge); got.code != http.StatusOK {
		t.Errorf("below a path: %d", got.code)
	}
}
