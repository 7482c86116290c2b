package job

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// WithAllowedBy tells the shipped policies which object of the team shows that its namespace runs tests. One APIKey is cheaper to find
// than all Triggers are, so that they are the proof only where there is no APIKey. The manager can write neither.
func WithAllowedBy(j *batchv1.Job, hasKey bool) *batchv1.Job {
	if hasKey {
		return j
	}
	j = j.DeepCopy()
	metav1.SetMetaDataLabel(&j.ObjectMeta, v1alpha1.LabelAllowedBy, "trigger")
	return j
}
