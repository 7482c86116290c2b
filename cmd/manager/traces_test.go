package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/otlp"
	"github.com/postflight-dev/postflight/test/poll"
)

const (
	traceOfCI = "0af7651916cd43dd8448eb211c80319c"
	spanOfCI  = "b7ad6b7169203331"
)

// TestTraces follows a notification that names a trace of its pipeline to the end of the run: all is one trace, and its
// tests can go on with it.
func TestTraces(t *testing.T) {
	collector := otlp.HTTP(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	s := apiserver.Alone(t)
	m := startManager(t, apiserver.Kubeconfig(t, s.Manager(t)), 0, leads)
	tn := newTenant(t, s)
	run := tn.deployTraced(t, m.url)
	j := &batchv1.Job{}
	poll.True(t, "the run has a Job", func() bool { return s.Client.Get(t.Context(), client.ObjectKeyFromObject(run), j) == nil })
	passes(t, s.Client, j)
	want := map[string]string{ // the parents by name
		"POST /api/webhooks/deploy_success": "", "match": "POST /api/webhooks/deploy_success",
		"create suite": "POST /api/webhooks/deploy_success",
		"run smoke":    "create suite", "queue": "run smoke", "start": "run smoke",
	}
	poll.True(t, "the trace is complete", func() bool { return len(collector.Trace(traceOfCI)) >= len(want) })
	spans := collector.Trace(traceOfCI)
	for name, parent := range want {
		span, parentID := spans[name], spanOfCI
		if parent != "" {
			parentID = spans[parent].ID
		}
		if span.ID == "" || span.Parent != parentID || span.Error != "" || span.End.Before(span.Start) {
			t.Errorf("%q is %+v, want the parent %q (%s)", name, span, parent, parentID)
		}
	}
	if created := spans["create suite"]; run.Annotations[v1alpha1.AnnotationTraceparent] != "00-"+traceOfCI+"-"+created.ID+"-01" ||
		created.Attributes["postflight.suite"] != run.Name {
		t.Errorf("the annotations are %v, and the span is %+v", run.Annotations, created)
	}
	env := j.Spec.Template.Spec.Containers[0].Env
	i := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == "TRACEPARENT" })
	if i < 0 || !strings.HasPrefix(env[i].Value, "00-"+traceOfCI+"-") || strings.Contains(env[i].Value, spans["run smoke"].ID) {
		t.Errorf("the tests have no traceparent of their own: %v", env)
	}
	if exemplars := openMetrics(t, m.metrics); !strings.Contains(exemplars, `{trace_id="`+traceOfCI+`"}`) {
		t.Errorf("no metric leads to the trace:\n%s", exemplars)
	}
}

// deployTraced sends a notification with a traceparent, until the replica knows the tenant.
func (tn *tenant) deployTraced(t *testing.T, url string) *v1alpha1.Suite {
	t.Helper()
	var reply struct {
		Results []struct {
			Created string `json:"created_suite_id"`
		} `json:"results"`
	}
	header := http.Header{
		"Authorization": {"Bearer pf_" + tn.namespace}, "Content-Type": {"application/json"}, "Traceparent": {"00-" + traceOfCI + "-" + spanOfCI +
			"-01"},
	}
	tn.deploy(t, url, "to-be-known") // so that the trace has one notification only
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/webhooks/deploy_success",
		strings.NewReader(`{"sha":"traced"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || len(reply.Results) != 1 {
		t.Fatalf("%v, %+v", err, reply)
	}
	suite := &v1alpha1.Suite{}
	if err := tn.s.Client.Get(t.Context(), client.ObjectKey{Namespace: tn.namespace, Name: reply.Results[0].Created}, suite); err != nil {
		t.Fatal(err)
	}
	return suite
}

// passes completes a Job as its controller would.
func passes(t *testing.T, c client.Client, j *batchv1.Job) {
	t.Helper()
	p := fakecluster.NewPod(j, "node")
	if err := c.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	fakecluster.EndPod(p, 0)
	if err := c.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	j.Status.StartTime, j.Status.CompletionTime, j.Status.Succeeded = &now, &now, 1
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	if err := c.Status().Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
}

// openMetrics reads metrics in the format that has exemplars.
func openMetrics(t *testing.T, url string) string {
	t.Helper()
	code, body := get(t, url, http.Header{"Accept": {"application/openmetrics-text; version=1.0.0"}})
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	return body
}
