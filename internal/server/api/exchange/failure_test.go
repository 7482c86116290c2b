package exchange

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// TestReplyOfWhatIsLeftOut: a Trigger that is too large to be known fails, and no Environment is invented for it.
func TestReplyOfWhatIsLeftOut(t *testing.T) {
	r := NewReply(dispatch.Result{Triggers: []dispatch.TriggerResult{
		{Trigger: "large", Decision: dispatch.Failed, Reason: "It was left out.", Environment: &v1alpha1.Environment{}},
	}})
	if len(r.Results) != 1 || r.Results[0].FailureReason != "It was left out." || r.Environment != nil {
		t.Errorf("got %+v, and the Environment %+v", r.Results, r.Environment)
	}
}

func TestDocumentHasEveryFailureCode(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	codes := document.Components.Schemas["Problem"].Value.Properties["failureCode"].Value.Enum
	got := map[string]bool{}
	for _, code := range codes {
		got[code.(string)] = true
	}
	want := map[string]bool{}
	for code := range failures {
		want[code] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failure codes of the map (-) and the document (+):\n%s", diff)
	}
}

func TestPageHasEveryFailureCode(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for code, f := range failures {
		if row := fmt.Sprintf("| %d | `%s` |", f.status, code); !strings.Contains(string(page), row) {
			t.Errorf("docs/api.md has no row %q", row)
		}
	}
}
