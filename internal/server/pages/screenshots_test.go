package pages_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestScreenshots takes a picture of every page, into the folder that POSTFLIGHT_SCREENSHOTS names, for people to look
// at and for docs.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("POSTFLIGHT_SCREENSHOTS")
	if folder == "" {
		t.Skip("POSTFLIGHT_SCREENSHOTS names no folder")
	}
	h := newWorld(t, samples(), sampleShared, sampleTests, sampleFailures)
	h.logs.write(sampleLog())
	h.artifacts.files = sampleFiles()
	h.reader.explain = sampleExplanation
	for name, s := range map[string]screen{"light": desktop, "dark": night, "phone": phone, "phone-dark": phoneBy} {
		b := h.open(t, s, actKey)
		for page, path := range allPages {
			b.visit(path)
			b.picture(filepath.Join(folder, page+"-"+name+".png"), page != "runs" && page != "environment")
		}
	}
	takeHub(t, folder)
	low := h.open(t, screen{1440, 560, false}, actKey)
	low.visit(failedRun + "/log#L90")
	low.await(`document.querySelector(".chosen")`)
	low.picture(filepath.Join(folder, "log-line.png"), false)
	people := h.open(t, desktop, bothKey)
	people.visit("/teams")
	people.picture(filepath.Join(folder, "teams.png"), true)
	reader := h.open(t, desktop, readKey)
	reader.visit(failedRun)
	reader.script(`document.querySelector("#terminal summary").click()`)
	reader.picture(filepath.Join(folder, "run-reader.png"), false)
	h.artifacts.files = nil // the store has them
	old := anOldRun("smoke-7h2k9s")
	old.ago, old.log, old.files = 190*time.Minute, sampleLog(), sampleFiles()
	h.store(t, old)
	archived := h.open(t, desktop, actKey)
	for page, path := range map[string]string{
		"runs-archived": "/runs/shop?archive=1&trigger=smoke", "run-archived": "/runs/shop/smoke-7h2k9s",
		"log-archived": "/runs/shop/smoke-7h2k9s/log",
	} {
		archived.visit(path)
		archived.picture(filepath.Join(folder, page+".png"), true)
	}
	archived.visit("/runs/shop/smoke-7h2k9s/artifacts")
	archived.visit(eval[string](archived, `document.querySelector('a[href$="index.html"]').getAttribute("href")`))
	archived.picture(filepath.Join(folder, "report.png"), false)
	newcomer := newWorld(t, emptyTeams())
	b := newcomer.open(t, desktop, actKey)
	for page, path := range map[string]string{"empty-runs": "/runs/shop", "empty-environments": "/environments/shop",
		"empty-board": "/board/shop", "empty-tests": "/tests/shop", "empty-insights": "/insights/shop"} {
		b.visit(path)
		b.picture(filepath.Join(folder, page+".png"), true)
	}
}

// takeHub takes pictures of the pages of a hub.
func takeHub(t *testing.T, folder string) {
	h := newWorld(t, sampleHub(), sampleShared, (&clusters{sampleAnswer}).with)
	for name, s := range map[string]screen{"light": desktop, "dark": night, "phone": phone, "phone-dark": phoneBy} {
		b := h.open(t, s, bothKey)
		for page, path := range hubPages {
			b.visit(path)
			b.picture(filepath.Join(folder, page+"-"+name+".png"), true)
		}
	}
}

// TestHubScreenshots takes only those.
func TestHubScreenshots(t *testing.T) {
	folder := os.Getenv("POSTFLIGHT_SCREENSHOTS")
	if folder == "" {
		t.Skip("POSTFLIGHT_SCREENSHOTS names no folder")
	}
	takeHub(t, folder)
}

// allPages are all kinds of pages, of the samples.
var allPages = map[string]string{
	"home":                "/",
	"reference":           "/docs",
	"sign-in":             "/sign-in",
	"runs":                "/runs/shop",
	"runs-look":           "/runs/shop?state=look",
	"runs-none":           "/runs/shop?q=nothing+like+this",
	"run":                 "/runs/shop/smoke-4cplqekpnk1gtdjr",
	"run-running":         "/runs/shop/checkout-3f9c2k7q5x0a",
	"run-passed":          "/runs/shop/smoke-1sta",
	"run-error":           "/runs/shop/mobile-3err",
	"run-exit":            "/runs/shop/smoke-8pr3",
	"log":                 "/runs/shop/smoke-4cplqekpnk1gtdjr/log",
	"log-search":          "/runs/shop/smoke-4cplqekpnk1gtdjr/log?q=saved",
	"artifacts":           "/runs/shop/smoke-4cplqekpnk1gtdjr/artifacts",
	"variables":           "/runs/shop/smoke-4cplqekpnk1gtdjr/variables",
	"attempts":            "/runs/shop/smoke-4cplqekpnk1gtdjr/attempts",
	"triggers":            "/triggers/shop",
	"trigger":             "/triggers/shop/checkout?explain=1&branch=main#explain",
	"environments":        "/environments/shop",
	"environment-day":     "/environments/shop/staging?day=" + time.Now().UTC().Add(-30*time.Hour).Format(time.DateOnly),
	"environment-problem": "/environments/shop/device-lab",
	"environment":         "/environments/shop/staging",
	"commit":              withdrawnCommit,
	"commit-failed":       "/environments/shop/production/commits/" + commit("b776998c"),
	"commit-running":      "/environments/shop/staging/commits/" + commit("9c1d2e3f"),
	"commit-stale":        "/environments/shop/production/commits/" + commit("57a1e0ff"),
	"commit-unknown":      "/environments/shop/staging/commits/" + commit("0ddba11"),
	"tests":               "/tests/shop",
	"tests-none":          "/tests/shop?q=nothing+like+this",
	"test":                "/tests/shop/show?name=account+%E2%80%BA+deletes+an+address",
	"test-unsure":         "/tests/shop/show?name=cart+%E2%80%BA+keeps+items",
	"test-passing":        "/tests/shop/show?name=search+%E2%80%BA+suggests+while+typing",
	"test-unknown":        "/tests/shop/show?name=no+such+test",
	"insights":            "/insights/shop",
	"insights-week":       "/insights/shop?days=7&trigger=smoke",
	"insights-quarter":    "/insights/shop?days=90",
	"board":               "/board/shop",
	"not-found":           "/runs/shop/no-such-run",
	"teams":               "/teams",
}
