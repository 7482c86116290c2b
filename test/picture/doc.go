// Package picture draws for docs what tests have received: a trace, and the dashboard with the numbers of a real
// Prometheus. Neither Grafana nor Jaeger is needed for that.
package picture

import (
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// draw takes a picture of a page in Chromium.
func draw(t testing.TB, file string, page *template.Template, data any, width, height int) {
	t.Helper()
	html, err := os.Create(filepath.Join(t.TempDir(), "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	err = page.Execute(html, data)
	if closed := html.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	size := strconv.Itoa(width) + "," + strconv.Itoa(height)
	out, err := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+t.TempDir(), "--window-size="+size, "--screenshot="+file, "file://"+html.Name()).CombinedOutput()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, out)
	}
}
