package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/mcp"
	"github.com/postflight-dev/postflight/test/agenttest"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/hostile"
)

// saying are the objects of a team in whose run everything that a test, a commit or a program wrote is one text.
func saying(text string) []client.Object {
	at := apitest.Noon.Add(-time.Hour)
	failed := v1alpha1.Failed(text[:min(len(text), 32<<10)])
	text = strings.ToValidUTF8(text[:min(len(text), 1<<10)], "") // most fields of a Suite have room for less
	failed.LastTransitionTime = metav1.NewTime(at)
	deployment := v1alpha1.Deployment{
		Branch: text, SHA: text, Type: text, URL: text, CommitURL: text, CommitMessage: text, CommitAuthor: text, Repository: text, Service: text,
	}
	run := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: "smoke-1", CreationTimestamp: metav1.NewTime(at)},
		Spec:       v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging", Deployment: deployment},
		Status: v1alpha1.SuiteStatus{
			Conditions: []metav1.Condition{failed}, PodProblem: text, CompletionTime: new(metav1.NewTime(at)),
			Results: &v1alpha1.TestResults{Tests: 1, Failed: 1, Failures: []v1alpha1.TestFailure{{Name: text, File: text, Message: text}}},
		},
	}
	all := apitest.Acme(apitest.Trigger("smoke"), run)
	for _, o := range all {
		if e, ok := o.(*v1alpha1.Environment); ok {
			e.Status.Deployed = []v1alpha1.Deployed{{Repository: text, Service: text, SHA: text, Branch: text, DeploymentType: text,
				Since: new(metav1.NewTime(at)), ReportedBy: v1alpha1.ReportedByNotification}}
		}
	}
	return all
}

// TestHostileInputs: through the API and the tools, whatever a test, a commit or a program wrote stays data: bounded, with only characters
// that are shown, and below the sentence that says what it is.
func TestHostileInputs(t *testing.T) {
	for _, input := range hostile.Inputs() {
		t.Run(input.Name, func(t *testing.T) {
			world := apitest.Start(t, apitest.Setup{Objects: saying(input.Text)})
			agent := connectWith(t, world, apitest.GoodKey, mcp.Options{})
			for tool, arguments := range map[string]map[string]any{
				"list_runs": {}, "explain_run": {"run": "smoke-1"}, "list_deployed": {}, "explain_trigger": {"environment": "staging", "sha": "5ca1ab1e"},
			} {
				r := agent.Call(tool, arguments)
				structured, err := json.Marshal(r.StructuredContent)
				if err != nil || r.IsError {
					t.Errorf("%s: %v, %.300s", tool, err, structured)
					continue
				}
				hostile.JSON(t, tool, structured, 16<<10)
				document, found := strings.CutPrefix(agenttest.Text(r), mcp.Untrusted)
				if !found {
					t.Errorf("%s does not begin with what its data is", tool)
				}
				hostile.JSON(t, tool+", as text", []byte(document), 16<<10)
				if !strings.Contains(string(structured), hostile.Marker) && tool != "explain_trigger" {
					t.Errorf("%s does not show the text, so that this test shows nothing: %s", tool, structured)
				}
			}
		})
	}
}
