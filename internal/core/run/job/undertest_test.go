package job_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// TestUnderTestOfAnyJob: anyone who can change Jobs can write the annotation, and the API server must accept the status nevertheless.
func TestUnderTestOfAnyJob(t *testing.T) {
	web := v1alpha1.TestedWorkload{Repository: "acme/shop", Kind: "Deployment", Namespace: "shop", Name: "web", Start: &v1alpha1.WorkloadVersion{
		UID: "u1", Revision: "7", SHA: strings.Repeat("a", 40), Digests: []v1alpha1.ImageDigest{{Container: "web", Digest: "sha256:1"}}, RolledOut: true,
	}}
	written := func(change func(*v1alpha1.TestedWorkload)) string {
		w := *web.DeepCopy()
		change(&w)
		text, _ := json.Marshal([]v1alpha1.TestedWorkload{w})
		return string(text)
	}
	many, _ := json.Marshal(make([]v1alpha1.TestedWorkload, 51))
	for name, text := range map[string]string{
		"none": "", "no JSON": "{", "many": string(many),
		"name":     written(func(w *v1alpha1.TestedWorkload) { w.Name = strings.Repeat("x", 254) }),
		"end":      written(func(w *v1alpha1.TestedWorkload) { w.End = w.Start }),
		"service":  written(func(w *v1alpha1.TestedWorkload) { w.Service = strings.Repeat("é", 129) }),
		"revision": written(func(w *v1alpha1.TestedWorkload) { w.Start.Revision = strings.Repeat("7", 257) }),
		"commit":   written(func(w *v1alpha1.TestedWorkload) { w.Start.SHA = strings.Repeat("a", 129) }),
		"message":  written(func(w *v1alpha1.TestedWorkload) { w.Start.Message = strings.Repeat("x", 513) }),
		"twice": written(func(w *v1alpha1.TestedWorkload) {
			w.Start.Digests = append(w.Start.Digests, w.Start.Digests...)
		}),
	} {
		j := &batchv1.Job{}
		j.Annotations = map[string]string{v1alpha1.AnnotationUnderTest: text}
		if got := job.UnderTest(j); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	want := []v1alpha1.TestedWorkload{web}
	if diff := cmp.Diff(want, job.UnderTest(job.WithUnderTest(&batchv1.Job{}, want))); diff != "" {
		t.Error(diff)
	}
}

// TestUnderTestOfATemplate: a Trigger cannot say what was under test.
func TestUnderTestOfATemplate(t *testing.T) {
	trigger := &v1alpha1.Trigger{}
	trigger.Spec.JobTemplate.Annotations = map[string]string{v1alpha1.AnnotationUnderTest: `[{"kind":"Deployment","namespace":"shop"}]`}
	if got := job.UnderTest(job.Build(&v1alpha1.Suite{}, trigger, &v1alpha1.Environment{})); got != nil {
		t.Errorf("%+v", got)
	}
}
