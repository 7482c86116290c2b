package job

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// WithAllowedBy tells the shipped policies which objects of the team show that its namespace runs tests. The API server looks at each, and
// there are fewer APIKeys and Environments than Triggers. The manager can write none of them: unlabeled are the Environments without the
// label of those that it writes, and an ephemeral one proves nothing.
func WithAllowedBy(j *batchv1.Job, hasKey bool, unlabeled []*v1alpha1.Environment) *batchv1.Job {
	if hasKey {
		return j
	}
	by := "environment"
	if len(unlabeled) == 0 || slices.ContainsFunc(unlabeled, func(e *v1alpha1.Environment) bool { return e.Spec.Ephemeral != nil }) {
		by = "trigger"
	}
	j = j.DeepCopy()
	metav1.SetMetaDataLabel(&j.ObjectMeta, v1alpha1.LabelAllowedBy, by)
	return j
}
