package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestEveryEndIsNamed: each file with a list of all ends names each of them. Most of these lists have a default for an end that they
// lack, such as an empty word, so that nothing else would fail.
func TestEveryEndIsNamed(t *testing.T) {
	constant := func(end string) string { return "v1alpha1.Reason" + end }
	key := func(end string) string { return `"` + strings.ToLower(end) + `":` }
	variable := func(end string) string { return "--" + strings.ToLower(end) + "-soft:" }
	word := func(end string) string { return end }
	for path, names := range map[string]func(end string) string{
		"internal/core/view/state.go":                 constant,
		"internal/core/report/check.go":               constant,
		"internal/core/runtrace/runtrace.go":          constant,
		"internal/codehost/github/checkrun.go":        constant,
		"internal/codehost/github/status.go":          constant,
		"internal/codehost/github/deployment.go":      constant,
		"internal/codehost/gitlab/gitlab.go":          constant,
		"internal/codehost/gitlab/deployment.go":      constant,
		"internal/server/pages/icons.go":              key,
		"internal/server/pages/static/postflight.css": variable,
		"internal/server/api/openapi.yaml":            word,
		"api/v1alpha1/notify_types.go":                word,
		"docs/suites.md":                              word,
		"docs/checks.md":                              word,
		"docs/webhooks.md":                            word,
		"integrations/argo-rollouts/analysis.yaml":    word,
	} {
		content, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range v1alpha1.Ends() {
			if want := names(end); !strings.Contains(string(content), want) {
				t.Errorf("%s does not name the end %s: want %q", path, end, want)
			}
		}
	}
}
