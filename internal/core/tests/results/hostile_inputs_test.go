package results_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/test/hostile"
)

// TestHostileInputs: what a collector and the manager keep of a report is bounded, has only characters that are shown, and no secret.
func TestHostileInputs(t *testing.T) {
	for _, input := range hostile.Inputs() {
		t.Run(input.Name, func(t *testing.T) {
			text := strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\n", "&#10;").Replace(input.Text)
			tests := &results.Tests{Secrets: mask.Of(v1alpha1.Variables{"TOKEN": hostile.Secret})}
			tests.Add("junit.xml", strings.NewReader(`<testsuite><testcase name="`+text+`" classname="`+text+`" file="`+text+
				`"><failure message="`+text+`">`+text+`</failure></testcase></testsuite>`))
			summary := tests.Summary()
			kept := results.Document{Run: "smoke-1", Counts: tests.Counts, Failures: results.Detailed(tests.Failures, nil), FlakyTests: tests.Flaky}
			for what, value := range map[string]any{"the document": kept, "the status": results.Status(summary)} {
				content, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				hostile.JSON(t, what, content, 128<<10)
				if strings.Contains(string(content), hostile.Secret) {
					t.Errorf("%s has the secret: %s", what, content)
				}
			}
			if len(tests.Failures) != 1 || tests.Counts.Failed != 1 || tests.Failures[0].Name == "" {
				t.Errorf("the failed test is lost: %+v", tests.Counts)
			}
			message := results.Message(summary)
			hostile.Plain(t, "the termination message", message, 4096) // what Kubernetes keeps of one
			if strings.Contains(message, hostile.Secret) {
				t.Errorf("the termination message has the secret: %s", message)
			}
		})
	}
}
