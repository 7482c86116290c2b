package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// The phases of a measurement of Argo Rollouts.
const (
	successful   = "Successful"
	failed       = "Failed"
	inconclusive = "Inconclusive"
)

// analysisMetric is a metric of integrations/argo-rollouts/analysis.yaml.
type analysisMetric struct {
	Name, SuccessCondition, FailureCondition string
	Provider                                 struct {
		Web struct{ URL, JSONPath string }
	}
}

// greenlightMetric is the metric of the second template, for a run.
func greenlightMetric(t *testing.T, run string) analysisMetric {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "integrations", "argo-rollouts", "analysis.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, document, _ := strings.Cut(strings.NewReplacer("{{args.url}}", "", "{{args.run}}", run, "?wait=30", "").Replace(string(text)), "\n---\n")
	var template struct {
		Spec struct{ Metrics []analysisMetric }
	}
	if err := yaml.Unmarshal([]byte(document), &template); err != nil || len(template.Spec.Metrics) != 1 {
		t.Fatalf("%v: %+v", err, template)
	}
	return template.Spec.Metrics[0]
}

// measure asks the API as Argo Rollouts does, and judges the answer as Argo Rollouts does: with the same library, and
// in the same order.
func (h *harness) measure(m analysisMetric) string {
	h.t.Helper()
	r := httptest.NewRequest(http.MethodGet, m.Provider.Web.URL, nil)
	r.Header.Set("Authorization", "Bearer "+goodKey)
	w := h.exchange(r)
	if w.Code != http.StatusOK {
		h.t.Fatalf("%s: status %d: %s", m.Name, w.Code, w.Body)
	}
	result := h.find(m.Provider.Web.JSONPath, w.Body.Bytes())
	switch {
	case h.holds(m.FailureCondition, result):
		return failed
	case h.holds(m.SuccessCondition, result):
		return successful
	default:
		return inconclusive
	}
}

func (h *harness) find(path string, answer []byte) any {
	h.t.Helper()
	var data any
	if err := json.Unmarshal(answer, &data); err != nil {
		h.t.Fatal(err)
	}
	parser := jsonpath.New("metric")
	if err := parser.Parse(path); err != nil {
		h.t.Fatal(err)
	}
	found, err := parser.FindResults(data)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		h.t.Fatalf("%s finds nothing in %s (%v)", path, answer, err)
	}
	return found[0][0].Interface()
}

func (h *harness) holds(condition string, result any) bool {
	h.t.Helper()
	env := map[string]any{"result": result}
	program, err := expr.Compile(condition, expr.Env(env), expr.AsBool())
	if err != nil {
		h.t.Fatal(err)
	}
	value, err := expr.Run(program, env)
	if err != nil {
		h.t.Fatal(err)
	}
	return value.(bool)
}

// TestArgoRollouts: what the analysis of a run says. The run of a newer deployment says nothing about the canary.
func TestArgoRollouts(t *testing.T) {
	stopped := aRun("stopped", 0)
	supersededBy("green")(stopped)
	last := aRun("last", 4)
	last.Spec.SupersedeKey = "other/staging"
	supersededBy("deleted")(last)
	h := start(t, setup{objects: acme(
		stopped, aRun("red", 1, v1alpha1.Failed("")), aRun("canceled", 2, v1alpha1.Canceled("")), aRun("green", 3, v1alpha1.Passed("")), last, aRun("queued", -1),
	)})
	for run, want := range map[string]string{
		"stopped": failed, "last": failed, "red": failed, "canceled": failed, "green": successful, "queued": inconclusive,
	} {
		if got := h.measure(greenlightMetric(t, run)); got != want {
			t.Errorf("%s: %s, want %s", run, got, want)
		}
	}
}
