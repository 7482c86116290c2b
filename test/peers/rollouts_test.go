package peers

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

const (
	aKey   = apitest.GoodKey
	commit = apitest.SHA
	failed = `{"state": "failed", "passed": false, "sentence": "staging has not passed 9fceb02: e2e failed.", "requirements": [
		{"trigger": "e2e", "state": "failed", "newFailures": ["cart > keeps items", "pay"]}, {"trigger": "smoke", "state": "passed"}]}`
	passed  = `{"state": "passed", "passed": true, "sentence": "staging passed 9fceb02.", "requirements": [{"trigger": "e2e"}]}`
	running = `{"state": "running", "passed": false, "sentence": "e2e runs."}`
)

// TestAnalysisOfAVerdict: the controller of Argo Rollouts asks for the verdict, and its AnalysisRun says why a commit may not go on.
func TestAnalysisOfAVerdict(t *testing.T) {
	tier.All(t, "the gate builds no controller of Argo Rollouts")
	w := newRollouts(t)
	cases := map[string]struct {
		answers   []string // one after the other; the last is repeated. One that begins with a number has that status
		templates []string // both, unless they are named
		job       batchv1.JobConditionType
		phase     string
		message   []string
	}{
		"passed":             {answers: []string{passed}, job: batchv1.JobComplete, phase: "Successful"},
		"passed after a run": {answers: []string{running, passed}, job: batchv1.JobComplete, phase: "Successful"},
		"failed": {answers: []string{failed}, phase: "Error", message: []string{
			"Postflight: staging has not passed 9fceb02: e2e failed.\nNew failure: cart > keeps items\nNew failure: pay"}},
		"failed after a run": {answers: []string{running, failed}, phase: "Error", message: []string{"e2e failed.\nNew failure: cart > keeps items"}},
		"none": {answers: []string{`{"state": "none", "passed": false, "sentence": "There is no run."}`}, phase: "Error",
			message: []string{"Postflight: There is no run."}},
		"stale": {answers: []string{`{"state": "stale", "passed": false, "sentence": "The run is 2 days old."}`}, phase: "Error",
			message: []string{"Postflight: The run is 2 days old."}},
		"a sentence that is a number":      {answers: []string{`{"state": "failed", "passed": false, "sentence": "0"}`}, phase: "Error", message: []string{"Postflight: 0"}},
		"an object without a verdict":      {answers: []string{`{}`}, phase: "Error"},
		"passed is a text":                 {answers: []string{`{"passed": "true", "state": "failed"}`}, phase: "Error"},
		"one answer is lost":               {answers: []string{"503 {}", passed}, job: batchv1.JobComplete, phase: "Successful"},
		"unknown key":                      {answers: []string{"401 {}"}, phase: "Error", message: []string{"non 2xx response code: 401"}},
		"the gate refuses":                 {answers: []string{passed}, job: batchv1.JobFailed, phase: "Failed"},
		"a page of a proxy":                {answers: []string{"<html>Sign in</html>"}, job: batchv1.JobFailed, phase: "Failed"},
		"a page of a proxy, and no gate":   {answers: []string{"<html>Sign in</html>"}, templates: []string{"postflight-verdict"}, phase: "Successful"},
		"the gate alone, without a reason": {answers: []string{failed}, templates: []string{"postflight-gate"}, job: batchv1.JobFailed, phase: "Failed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, asked := serveVerdicts(t, tc.answers)
			templates := tc.templates
			if templates == nil {
				templates = []string{"postflight-verdict", "postflight-gate"}
			}
			status := w.analyze(t, server, templates, tc.job)
			if status["phase"] != tc.phase {
				t.Errorf("phase %v, want %s: %v", status["phase"], tc.phase, status)
			}
			message, _ := status["message"].(string)
			for _, part := range tc.message {
				if !strings.Contains(message, part) {
					t.Errorf("message %q, want %q in it", message, part)
				}
			}
			if strings.Contains(fmt.Sprint(status), aKey) {
				t.Errorf("the status has the key: %v", status)
			}
			if templates[0] == "postflight-verdict" && asked.Load() == 0 {
				t.Error("nothing has asked for the verdict")
			}
		})
	}
}

// TestAnalysisOfARun: what the API says of a run that failed is in the message, and what it says of one that passed is a success.
func TestAnalysisOfARun(t *testing.T) {
	tier.All(t, "the gate builds no controller of Argo Rollouts")
	w := newRollouts(t)
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("e2e"))})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	end := func(c metav1.Condition, results v1alpha1.TestResults) {
		t.Helper()
		run := h.Notify(apitest.WithSHA, apitest.Query("rerun=true")).Results[0].RunID()
		h.Clock.Time = h.Clock.Time.Add(time.Minute)
		h.Become(run, func(s *v1alpha1.Suite) {
			s.Status.Conditions, s.Status.CompletionTime, s.Status.Results = []metav1.Condition{c}, new(metav1.NewTime(h.Clock.Now())), &results
		})
	}
	end(v1alpha1.Passed(""), v1alpha1.TestResults{Tests: 1, Passed: 1})
	templates := []string{"postflight-verdict", "postflight-gate"}
	if status := w.analyze(t, server.URL, templates, batchv1.JobComplete); status["phase"] != "Successful" {
		t.Errorf("passed: %v", status)
	}
	end(v1alpha1.Failed("Tests failed."), v1alpha1.TestResults{
		Tests: 1, Failed: 1, NewFailures: 1, Failures: []v1alpha1.TestFailure{{Name: "cart > keeps items", History: v1alpha1.FailureNew}},
	})
	status := w.analyze(t, server.URL, templates, "")
	message, _ := status["message"].(string)
	if status["phase"] != "Error" || !strings.Contains(message, "Postflight: ") || !strings.Contains(message, "\nNew failure: cart > keeps items") {
		t.Errorf("failed: %v", status)
	}
}

// serveVerdicts answers as Postflight does, one answer after the other.
func serveVerdicts(t *testing.T, answers []string) (url string, asked *atomic.Int32) {
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/api/v0/verdict" || q.Get("sha") != commit || q.Get("environment") != "staging" ||
			r.Header.Get("Authorization") != "Bearer "+aKey {
			t.Errorf("unexpected request %s", r.URL)
		}
		answer := answers[min(int(asked.Add(1)), len(answers))-1]
		var code int
		if n, _ := fmt.Sscanf(answer, "%d ", &code); n == 1 {
			w.WriteHeader(code)
			_, answer, _ = strings.Cut(answer, " ")
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// rollouts is an API server with the controller of Argo Rollouts.
type rollouts struct {
	*apiserver.Server
	metrics map[string][]any // of the templates, by name
	args    map[string][]any
}

func newRollouts(t *testing.T) *rollouts {
	binary := peer(t, "rollouts-controller")
	s := apiserver.Alone(t)
	for _, file := range []string{"analysis-run", "analysis-template", "cluster-analysis-template", "experiment", "rollout"} {
		_, err := s.Kubectl(t, "apply", "--server-side", "-f", path(t, "bin", "peers", "crds", file+"-crd.yaml"))
		must(t, err)
	}
	_, err := s.Kubectl(t, "wait", "--for=condition=Established", "customresourcedefinitions", "--all", "--timeout=60s")
	must(t, err)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	cmd := exec.CommandContext(t.Context(), binary, "--kubeconfig", apiserver.Kubeconfig(t, s.Config), "--leader-elect=false",
		"--metricsPort", port(t), "--healthzPort", port(t))
	cmd.Stdout, cmd.Stderr = log, log
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the controller:\n%.20000s", text)
		}
	})
	w := &rollouts{Server: s, metrics: map[string][]any{}, args: map[string][]any{}}
	for document := range strings.SplitSeq(read(t, "integrations", "argo-rollouts", "verdict.yaml"), "\n---\n") {
		var template unstructured.Unstructured
		must(t, yaml.Unmarshal([]byte(document), &template.Object))
		w.metrics[template.GetName()], _, _ = unstructured.NestedSlice(template.Object, "spec", "metrics")
		w.args[template.GetName()], _, _ = unstructured.NestedSlice(template.Object, "spec", "args")
	}
	return w
}

// analyze creates an AnalysisRun of templates, as a step of a Rollout does, ends its Job with a condition, and returns the last status.
func (w *rollouts) analyze(t *testing.T, url string, templates []string, end batchv1.JobConditionType) map[string]any {
	t.Helper()
	ns := w.Namespace(t)
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "postflight"}, StringData: map[string]string{"api-key": aKey}}
	must(t, w.Client.Create(t.Context(), key))
	given := map[string]any{"url": url, "sha": commit, "environment": "staging"}
	var metrics, args []any
	for _, name := range templates {
		if len(w.metrics[name]) != 1 {
			t.Fatalf("the template %s has %d metrics, want 1", name, len(w.metrics[name]))
		}
		metrics = append(metrics, w.metrics[name]...)
		for _, arg := range w.args[name] {
			a := maps.Clone(arg.(map[string]any))
			if value, ok := given[a["name"].(string)]; ok {
				a["value"] = value
			}
			if !slices.ContainsFunc(args, func(other any) bool { return other.(map[string]any)["name"] == a["name"] }) {
				args = append(args, a)
			}
		}
	}
	run := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun", "metadata": map[string]any{"namespace": ns, "name": "run"},
		"spec": map[string]any{"metrics": metrics, "args": args},
	}}
	must(t, w.Client.Create(t.Context(), run))
	poll.Until(t, "the AnalysisRun ends", func() string {
		must(t, w.endJobs(t, ns, end))
		must(t, w.Client.Get(t.Context(), client.ObjectKeyFromObject(run), run))
		status, _, _ := unstructured.NestedMap(run.Object, "status")
		if phase := status["phase"]; phase == nil || phase == "Pending" || phase == "Running" {
			return fmt.Sprint(status)
		}
		return ""
	})
	status, _, err := unstructured.NestedMap(run.Object, "status")
	must(t, err)
	return status
}

// endJobs does what the Job controller does with the pods of a gate: nothing, if no end is given.
func (w *rollouts) endJobs(t *testing.T, ns string, end batchv1.JobConditionType) error {
	var jobs batchv1.JobList
	if err := w.Client.List(t.Context(), &jobs, client.InNamespace(ns)); err != nil || end == "" {
		return err
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if job.Status.StartTime != nil || job.DeletionTimestamp != nil {
			continue
		}
		fakecluster.StartJob(job)
		if end == batchv1.JobComplete {
			fakecluster.CompleteJob(job)
		} else {
			fakecluster.FailJob(job, batchv1.JobReasonBackoffLimitExceeded)
		}
		if err := w.Client.Status().Update(t.Context(), job); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}
