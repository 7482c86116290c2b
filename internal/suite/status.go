package suite

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// SetStatus writes a Decision into the status of the Suite. Writing the same one twice changes nothing.
func SetStatus(s *v1alpha1.Suite, o Observation, d Decision, now time.Time) {
	if s.Finished() {
		return
	}
	condition := d.Condition
	condition.ObservedGeneration = s.Generation
	condition.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&s.Status.Conditions, condition)

	if o.Job != nil || d.CreateJob {
		s.Status.JobName = s.Name
	}
	if o.Job != nil && s.Status.StartTime == nil {
		s.Status.StartTime = o.Job.Status.StartTime
	}
	if s.Finished() {
		completed := metav1.NewTime(now)
		s.Status.CompletionTime = &completed
		s.Status.SupersededBy = d.SupersededBy
	}
}

// StatusChanged tells whether there is anything to write.
func StatusChanged(was, is *v1alpha1.Suite) bool {
	return !equality.Semantic.DeepEqual(was.Status, is.Status)
}
