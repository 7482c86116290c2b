package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/httpapi"
	core "github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/test/apiserver"
)

// TestSuggestedQuarantines: the API server takes what is suggested, whatever tests are called.
func TestSuggestedQuarantines(t *testing.T) {
	s := apiserver.New(t)
	place := httpapi.Place{Namespace: s.Namespace(t), Trigger: strings.Repeat("t", 63), Environment: "staging"}
	var all []core.Candidate
	for r := range rune(0x3000) { // with all that is invisible, and the marks of YAML
		name := fmt.Sprintf("%ccart %c items%c", r, r, r)
		all = append(all, core.Candidate{Name: name, File: name, Owner: fmt.Sprintf("o%c%d", r, r/1000), TestInPlace: httpapi.TestInPlace{
			Place: place, Runs: 9, Failed: 3, Commits: 9, FailedCommits: 3, FlakyCommits: 2,
		}})
	}
	for _, name := range []string{strings.Repeat("é", 512), strings.Repeat("é", 513), "---", "null", "\U0001F6D2", "\uffff", "\U000E0041", "a*b"} {
		c := all['a']
		c.Name, c.Owner = name, "edges"
		all = append(all, c)
	}
	for i := range 120 {
		c := all['a']
		c.Name, c.Owner = fmt.Sprintf("test %d", i), strings.Repeat("o", core.MaxOwner)
		all = append(all, c)
	}
	today := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	suggestion := core.Suggest(all, core.Terms{MinCommits: 2, Days: 90, Since: today, Until: today.AddDate(0, 0, 90)})
	documents := strings.Split(suggestion.YAML(), "\n---\n")
	if len(documents) != len(suggestion.Quarantines) || len(documents) < 1000 {
		t.Fatalf("%d documents of %d Quarantines", len(documents), len(suggestion.Quarantines))
	}
	for i, document := range documents {
		if i%20 != 0 && i < len(documents)-10 { // a dry run of all takes too long
			continue
		}
		var u unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if err := s.Client.Create(t.Context(), &u, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			t.Errorf("%v\n%s", err, document)
		}
	}
}
