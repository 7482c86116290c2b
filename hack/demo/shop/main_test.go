package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestVersion: the shop says which commit it is, and what it was before as long as it has to.
func TestVersion(t *testing.T) {
	serves := release{"old", "b776998"}
	shop := handler(func() release { return serves })
	for _, next := range []release{{"dev", "9c1d2e3"}, {"dev", ""}} {
		for path, want := range map[string]string{"/version": `"version":"` + serves.Version + `"`, "/": "version " + serves.Version} {
			w := httptest.NewRecorder()
			shop.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
			if !strings.Contains(w.Body.String(), want) || path == "/version" && !strings.Contains(w.Body.String(), serves.Commit) {
				t.Errorf("%s: %s, want %q in it", path, w.Body, want)
			}
		}
		serves = next
	}
}

func TestReleases(t *testing.T) {
	t.Setenv("COMMIT", "9c1d2e3")
	t.Setenv("OLD_FOR", "10s")
	before, is, oldFor := releases()
	if is != (release{"dev", "9c1d2e3"}) || before.Commit == is.Commit || oldFor.Seconds() != 10 {
		t.Errorf("%+v for %s, and then %+v", before, oldFor, is)
	}
}
