package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// listsOfEnds are the files with a list of all ends.
var listsOfEnds = map[string]struct {
	line  string                  // is in each line of the list; "": lines are told by the names alone
	name  func(end string) string // in the list
	lists int
}{
	"internal/core/view/state.go":                 {"", keyOfMap, 1},
	"internal/core/report/check.go":               {"", keyOfMap, 1},
	"internal/core/run/runtrace/runtrace.go":      {"", keyOfMap, 1},
	"internal/core/report/announce/cdevents.go":   {"", keyOfMap, 1},
	"internal/codehost/github/checkrun.go":        {"", keyOfMap, 1},
	"internal/codehost/github/status.go":          {"", keyOfMap, 1},
	"internal/codehost/github/deployment.go":      {"", keyOfMap, 1},
	"internal/codehost/gitlab/gitlab.go":          {"", keyOfMap, 1},
	"internal/codehost/gitlab/deployment.go":      {"", keyOfMap, 1},
	"internal/server/pages/icons.go":              {"", func(end string) string { return `"` + strings.ToLower(end) + `":` }, 2},              // shapes and colours
	"internal/server/pages/static/postflight.css": {"-soft: #", func(end string) string { return "--" + strings.ToLower(end) + "-soft:" }, 2}, // light and dark
	"internal/server/api/openapi.yaml":            {"enum: [Queued", asItIs, 1},
	"api/v1alpha1/notify_types.go":                {"validation:Enum=Queued", asItIs, 1},
	"docs/suites.md":                              {"| ", asItIs, 1},
	"docs/checks.md":                              {"| ", asItIs, 1},
	"docs/webhooks.md":                            {"| ", asItIs, 1},
}

func keyOfMap(end string) string { return "v1alpha1.Reason" + end + ":" }

func asItIs(end string) string { return end }

// TestEveryEndIsNamed: most of these lists have a default for an end that they lack, such as an empty word, so that nothing else fails.
func TestEveryEndIsNamed(t *testing.T) {
	for path, tc := range listsOfEnds {
		content, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		list := ""
		for line := range strings.Lines(string(content)) {
			if strings.Contains(line, tc.line) {
				list += line
			}
		}
		for _, end := range v1alpha1.Ends() {
			if got := strings.Count(list, tc.name(end)); got < tc.lists {
				t.Errorf("%s names the end %s in %d of %d lists", path, end, got, tc.lists)
			}
		}
	}
}
