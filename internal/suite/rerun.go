package suite

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Rerun is another attempt of a run, as a person requests it. Its name is that of the attempt which another
// notification would create, so that the two are one run. Where there is no SHA, the request identifies it.
// It counts as received when the API server creates it: the clock of the person's machine must not decide
// what supersedes what.
func Rerun(s *v1alpha1.Suite, trigger types.UID, attempt int32, request string) *v1alpha1.Suite {
	id := identity{trigger: trigger, environment: s.Spec.Environment, kind: "sha", value: s.Spec.Deployment.SHA, attempt: attempt}
	if id.value == "" {
		id.kind, id.value = "request", request
	}
	again := &v1alpha1.Suite{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Suite"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        id.name(s.Spec.Trigger.Name),
			Namespace:   s.Namespace,
			Labels:      maps.Clone(s.Labels),
			Annotations: map[string]string{AnnotationRequest: request},

			OwnerReferences: slices.Clone(s.OwnerReferences),
		},
		Spec: *s.Spec.DeepCopy(),
	}
	again.Spec.Trigger.UID = trigger
	again.Spec.Attempt = attempt
	again.Spec.ReceivedAt = nil
	again.Spec.Cancel = false
	return again
}

// NewerDeployment is the newest run of the stream that was received after s and tests another deployment; nil if
// there is none. Another attempt of s would supersede it, and its pipeline would get the result of the older commit.
func NewerDeployment(s *v1alpha1.Suite, stream []*v1alpha1.Suite) *v1alpha1.Suite {
	return newest(slices.DeleteFunc(slices.Clone(stream), func(other *v1alpha1.Suite) bool {
		sha := s.Spec.Deployment.SHA
		return Compare(other, s) <= 0 || siblings(other, s) || sha != "" && sha == other.Spec.Deployment.SHA
	}))
}
