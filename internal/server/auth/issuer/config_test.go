package issuer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/access/trust"
)

func TestLoad(t *testing.T) {
	const ca = "\n    ca: |\n      no certificate"
	for name, tc := range map[string]struct {
		file, want string
	}{
		"Good": {"issuers:\n  - {name: github, url: https://token.actions.githubusercontent.com}\n" +
			"  - {name: own, url: http://127.0.0.1:1, jwksURL: https://example.com/keys, algorithms: [ES384], audiences: [x]}", ""},
		"None":              {"issuers: []", ""},
		"Unknown field":     {"issuers: [{name: a, url: https://example.com, clientID: x}]", "clientID"},
		"No name":           {"issuers: [{url: https://example.com}]", "issuers[0]: name"},
		"Name with a dot":   {"issuers: [{name: a.b, url: https://example.com}]", "issuers[0]: name"},
		"No URL":            {"issuers: [{name: a}]", "issuers[0]: url"},
		"Plain http":        {"issuers: [{name: a, url: http://gitlab.example.com}]", "must be an https URL, because anyone"},
		"A query":           {"issuers: [{name: a, url: 'https://example.com?x'}]", "no user, query"},
		"Keys by http":      {"issuers: [{name: a, url: https://example.com, jwksURL: http://example.com}]", "jwksURL"},
		"Same name":         {"issuers: [{name: a, url: https://example.com}, {name: a, url: https://example.org}]", "issuers[1]: name"},
		"Same URL":          {"issuers: [{name: a, url: https://example.com}, {name: b, url: https://example.com}]", "issuers[1]: name"},
		"No algorithm":      {"issuers: [{name: a, url: https://example.com, algorithms: [none]}]", "algorithms"},
		"A shared secret":   {"issuers: [{name: a, url: https://example.com, algorithms: [RS256, HS256]}]", "HS256"},
		"An empty audience": {"issuers: [{name: a, url: https://example.com, audiences: ['']}]", "audiences"},
		"No certificate":    {"issuers:\n  - name: a\n    url: https://example.com" + ca, "PEM"},
		"Too many":          {"issuers: [" + strings.Repeat("{name: a},", maxIssuers+1) + "]", "33 issuers"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "issuers.yaml")
			if err := os.WriteFile(file, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			issuers, err := Load(file)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%v, want %q", err, tc.want)
			}
			if name == "Good" && (!slices.Equal(Audiences(issuers)["https://token.actions.githubusercontent.com"],
				[]string{trust.DefaultAudience}) || len(issuers[0].Algorithms) != 2) {
				t.Errorf("%+v", issuers)
			}
		})
	}
}
