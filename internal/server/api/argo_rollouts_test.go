package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/expr-lang/expr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
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
		Web struct {
			Method, URL, JSONPath string
			JSONBody              json.RawMessage
		}
	}
}

// analysisMetrics are those of all templates, by name, with the arguments in place.
func analysisMetrics(t *testing.T, arguments ...string) map[string]analysisMetric {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "integrations", "argo-rollouts", "analysis.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.NewReplacer(append(arguments, "{{args.url}}", "")...).Replace(string(text)))
	metrics := map[string]analysisMetric{}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var template struct {
			Spec struct{ Metrics []analysisMetric }
		}
		if err := yaml.Unmarshal(document, &template); err != nil {
			t.Fatal(err)
		}
		for _, m := range template.Spec.Metrics {
			metrics[m.Name] = m
		}
	}
	return metrics
}

// measure asks the API as Argo Rollouts does, and judges the answer as Argo Rollouts does: with the same library, and
// in the same order.
func (h *harness) measure(m analysisMetric) string {
	h.t.Helper()
	web := m.Provider.Web
	if web.Method == "" {
		web.Method = http.MethodGet
	}
	r := httptest.NewRequest(web.Method, web.URL, bytes.NewReader(web.JSONBody))
	r.Header.Set("Authorization", "Bearer "+goodKey)
	if web.JSONBody != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	w := h.exchange(r)
	if w.Code != http.StatusOK {
		h.t.Fatalf("%s: status %d: %s", m.Name, w.Code, w.Body)
	}
	result := h.find(web.JSONPath, w.Body.Bytes())
	switch {
	case m.FailureCondition == "" && !h.holds(m.SuccessCondition, result):
		return failed
	case m.FailureCondition != "" && h.holds(m.FailureCondition, result):
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

// end gives each run that has not ended the condition for its Trigger.
func (h *harness) end(conditions map[string]metav1.Condition) {
	h.t.Helper()
	for _, before := range h.suites() {
		condition, found := conditions[before.Spec.Trigger.Name]
		if before.Finished() || !found {
			continue
		}
		after := before.DeepCopy()
		after.Status.Conditions = []metav1.Condition{condition}
		if err := h.cluster.Status().Update(h.t.Context(), after); err != nil {
			h.t.Fatal(err)
		}
		h.SuiteChanged(&before, after)
	}
}

// rollout is an API whose runs are created at the time of its clock, a Trigger for each test that a deployment needs.
func rollout(t *testing.T) *harness {
	var h *harness
	create := func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		o.SetCreationTimestamp(metav1.NewTime(h.clock.Now()))
		err := c.Create(ctx, o, options...)
		if s, ok := o.(*v1alpha1.Suite); ok && err == nil {
			h.SuiteChanged(nil, s)
		}
		return err
	}
	h = start(t, setup{objects: acme(trigger("smoke"), trigger("visual")), faults: interceptor.Funcs{Create: create}})
	return h
}

// TestArgoRollouts: what the analysis says of a commit after each try of its Rollout.
func TestArgoRollouts(t *testing.T) {
	type try = map[string]metav1.Condition // how the runs of each Trigger end
	passed, failure := v1alpha1.Passed(""), v1alpha1.Failed("Exit code 1.")
	running, broken := v1alpha1.Running(""), v1alpha1.Error("The image cannot be pulled.")
	for name, tc := range map[string]struct {
		reason string
		tries  []try
		want   string
	}{
		"running":                    {"It goes on.", []try{{"smoke": running, "visual": passed}}, inconclusive},
		"passed":                     {"Both did.", []try{{"smoke": passed, "visual": passed}}, successful},
		"failed":                     {"One is enough.", []try{{"smoke": failure, "visual": running}}, failed},
		"error":                      {"There will be no result.", []try{{"smoke": broken, "visual": passed}}, failed},
		"retried, running":           {"The next attempt counts.", []try{{"smoke": broken, "visual": passed}, {"smoke": running}}, inconclusive},
		"retried after Error":        {"The next attempt counts.", []try{{"smoke": broken, "visual": passed}, {"smoke": passed}}, successful},
		"retried after Canceled":     {"The next attempt counts.", []try{{"smoke": v1alpha1.Canceled(""), "visual": passed}, {"smoke": passed}}, successful},
		"retried after Superseded":   {"The next attempt counts.", []try{{"smoke": v1alpha1.Superseded(""), "visual": passed}, {"smoke": passed}}, successful},
		"retried, error again":       {"The next attempt counts.", []try{{"smoke": broken, "visual": passed}, {"smoke": broken}}, failed},
		"retried, failed":            {"The next attempt counts.", []try{{"smoke": broken, "visual": passed}, {"smoke": failure}}, failed},
		"retried, another one fails": {"A result is kept.", []try{{"smoke": broken, "visual": failure}, {"smoke": passed}}, failed},
	} {
		t.Run(name, func(t *testing.T) {
			h := rollout(t)
			metrics := analysisMetrics(t, "{{args.sha}}", sha, "{{args.branch}}", "main", "{{args.type}}", "staging")
			if got := h.measure(metrics["runs"]); got != inconclusive {
				t.Errorf("before there are runs: %s", got)
			}
			for _, try := range tc.tries {
				if got := h.measure(metrics["notify"]); got != successful {
					t.Fatalf("notify: %s", got)
				}
				h.end(try)
				if err := h.clock.Sleep(t.Context(), time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			if got := h.measure(metrics["runs"]); got != tc.want {
				t.Errorf("%s Got %s, want %s.", tc.reason, got, tc.want)
			}
		})
	}
}

// TestArgoRolloutsOfARun: what the analysis of one run says.
func TestArgoRolloutsOfARun(t *testing.T) {
	stopped := aRun("stopped", 0)
	supersededBy("green")(stopped)
	h := start(t, setup{objects: acme(
		stopped, aRun("red", 1, v1alpha1.Failed("")), aRun("canceled", 2, v1alpha1.Canceled("")), aRun("green", 3, v1alpha1.Passed("")), aRun("queued", -1),
	)})
	for run, want := range map[string]string{
		"stopped": successful, "red": failed, "canceled": failed, "green": successful, "queued": inconclusive,
	} {
		metric := analysisMetrics(t, "{{args.run}}", run)["greenlight"]
		metric.Provider.Web.URL = strings.TrimSuffix(metric.Provider.Web.URL, "?wait=30")
		if got := h.measure(metric); got != want {
			t.Errorf("%s: %s, want %s", run, got, want)
		}
	}
}
