package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
)

// WithFailed lets the pods of a Job run only the failed tests of a plan, and the Job remember it.
func WithFailed(j *batchv1.Job, p *failedtests.Plan) *batchv1.Job {
	if p == nil {
		return j
	}
	j = j.DeepCopy()
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationFailedPlan, p.Encode())
	variables := failedtests.Variables(p.Tests)
	for c := range Containers(&j.Spec.Template.Spec) {
		c.Env = withVariables(c.Env, variables)
	}
	return j
}

// PlanOf returns which failed tests a Job repeats; nil if it runs all tests, or if somebody else wrote it.
func PlanOf(j *batchv1.Job) *failedtests.Plan {
	return failedtests.Decode(j.Annotations[v1alpha1.AnnotationFailedPlan])
}

// WithTestsDigest lets a Job that keeps the results of its tests remember which tests it runs, for a run that repeats only the failed ones.
func WithTestsDigest(j *batchv1.Job, digest string) *batchv1.Job {
	j = j.DeepCopy()
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationTestsDigest, digest)
	return j
}

// RecordedDigest returns the digest of the tests that the Job of a run remembers; "": the Job is gone. The Job may be nil.
func RecordedDigest(j *batchv1.Job, s *v1alpha1.Suite) string {
	if j == nil || !metav1.IsControlledBy(j, s) {
		return ""
	}
	return j.Annotations[v1alpha1.AnnotationTestsDigest]
}

// TestsDigest identifies what defines the tests of a run, apart from its name: the template, the variables and what its results require.
func TestsDigest(s *v1alpha1.Suite, t *v1alpha1.Trigger, e *v1alpha1.Environment) string {
	same := &v1alpha1.Suite{Spec: *s.Spec.DeepCopy()}
	text, _ := json.Marshal(struct { // of the API, which can be encoded
		Job     batchv1.JobSpec
		Results *v1alpha1.Results
		Inputs  *v1alpha1.Inputs
	}{Build(same, t, e).Spec, t.Spec.Results, t.Spec.Inputs})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
