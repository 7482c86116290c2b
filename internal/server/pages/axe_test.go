package pages_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/postflight-dev/postflight/test/tier"
)

// axe is the script of axe-core, which npm installs into a folder that Git ignores.
func axe(t *testing.T) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("npm is missing, and CI has to look for barriers")
		}
		t.Skip("SKIPPED, NOT PASSED: npm is missing, so axe-core cannot be installed")
	}
	folder := filepath.Join("..", "..", "..", ".test", "axe")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(folder, "node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(script); err != nil {
		cmd := exec.CommandContext(t.Context(), npm, "ci", "--no-audit", "--no-fund")
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
	}
	content, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestNoBarriers: axe-core finds nothing on any page, by day, at night and on a phone.
func TestNoBarriers(t *testing.T) {
	tier.All(t, "a browser opens each page six times")
	script := axe(t)
	full, empty := newWorld(t, samples(), sampleTests), newWorld(t, emptyTeams())
	full.logs.write(sampleLog())
	full.artifacts.files = sampleFiles()
	for name, s := range map[string]screen{"light": desktop, "dark": night, "phone": phone} {
		for _, h := range []*world{full, empty} {
			b := h.open(t, s, actKey)
			for page, path := range allPages {
				b.visit(path)
				b.script(script)
				found := eval[string](b, `axe.run({rules: {"scrollable-region-focusable": {enabled: true}}}).then(r => JSON.stringify(
					r.violations.map(v => ({id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " — " + n.failureSummary.slice(0, 200))}))))`)
				var violations []any
				if err := json.Unmarshal([]byte(found), &violations); err != nil {
					t.Fatal(err)
				}
				if len(violations) > 0 {
					t.Errorf("%s, %s: %s", page, name, found)
				}
			}
		}
	}
}
