package suite

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// NextAttempt returns the requested next attempt of a run that has ended, or a sentence why there can be none. t may be nil.
func NextAttempt(s *v1alpha1.Suite, t *v1alpha1.Trigger, by string) (next *v1alpha1.Suite, problem string) {
	attempt := max(s.Spec.Attempt, 1)
	switch {
	case attempt >= v1alpha1.MaxAttempt:
		return nil, fmt.Sprintf("The run %s is attempt %d, and there can be no more. Deploy again, and notify.", s.Name, attempt)
	case t == nil || t.DeletionTimestamp != nil:
		return nil, fmt.Sprintf("The Trigger %q of the run does not exist any more. Create it again, or rerun a run of another Trigger.", s.Spec.Trigger.Name)
	}
	// Without a SHA the request is part of the name: all requests to rerun this run share one.
	next = Rerun(s, t.UID, attempt+1, "rerun."+s.Name)
	next.Annotations[v1alpha1.AnnotationRerunBy] = by
	return next, ""
}

// UnfinishedProblem returns why a run has no next attempt yet, as a sentence, or "" if the run has ended.
func UnfinishedProblem(s *v1alpha1.Suite) string {
	if s.Finished() {
		return ""
	}
	return fmt.Sprintf("The run %s has not ended. Wait for its end, or cancel it.", s.Name)
}

// NextProblem returns why a Suite with the name of the desired attempt is not that attempt, as a sentence, or "".
func NextProblem(existing, desired *v1alpha1.Suite) string {
	switch {
	case !SameRun(existing, desired):
		return fmt.Sprintf("The name %s belongs to a Suite that is not an attempt of this run. Delete that Suite, and send the request again.", existing.Name)
	case existing.DeletionTimestamp != nil:
		return fmt.Sprintf("The next attempt, %s, is being deleted, and is not gone yet. Send the request again in a minute.", existing.Name)
	case !existing.Finished() && !equality.Semantic.DeepEqual(existing.Spec.OnlyFailedOf, desired.Spec.OnlyFailedOf):
		return fmt.Sprintf("The next attempt, %s, has not ended, and repeats %s. Wait for its end, or cancel it.", existing.Name, whatRepeats(existing))
	default:
		return ""
	}
}

func whatRepeats(s *v1alpha1.Suite) string {
	if s.Spec.OnlyFailedOf != nil {
		return "only the failed tests of " + s.Spec.OnlyFailedOf.Name
	}
	return "all tests"
}

// NewerProblem returns why a run is not repeated after a newer deployment of its stream, as a sentence, or "".
func NewerProblem(s *v1alpha1.Suite, stream []*v1alpha1.Suite) string {
	newer := NewerDeployment(s, stream)
	if newer == nil {
		return ""
	}
	return fmt.Sprintf("The run %s of a newer deployment came after %s, and another attempt would supersede it. "+
		"Rerun %s. If this commit is deployed again, notify and request a rerun: postflight notify --rerun.", newer.Name, s.Name, newer.Name)
}

// Rerun returns the attempt that another notification would create, so that the two are one run; without a SHA, the request identifies it.
// The API server sets when it was received: the clock of a person's machine must not decide what supersedes what.
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
			Labels:      labelsOfRun(s),
			Annotations: map[string]string{AnnotationRequestID: request, v1alpha1.AnnotationVariablesDigest: VariablesDigest(s.Spec.Variables)},

			OwnerReferences: slices.Clone(s.OwnerReferences),
		},
		Spec: *s.Spec.DeepCopy(),
	}
	again.Spec.Trigger.UID = trigger
	again.Spec.Attempt = attempt
	again.Spec.ReceivedAt = nil
	again.Spec.Cancel = false
	again.Spec.OnlyFailedOf = nil
	return again
}

// labelsOfRun omits that the run was restored, which is not true of its next attempt.
func labelsOfRun(s *v1alpha1.Suite) map[string]string {
	labels := maps.Clone(s.Labels)
	delete(labels, v1alpha1.LabelRestored)
	delete(labels, v1alpha1.LabelRestoredByVelero)
	return labels
}

// NewerDeployment returns the newest run of another deployment received after s, or nil. Another attempt of s would supersede it, and its
// pipeline would get the result of the older commit.
func NewerDeployment(s *v1alpha1.Suite, stream []*v1alpha1.Suite) *v1alpha1.Suite {
	return newest(slices.DeleteFunc(others(s, stream), func(other *v1alpha1.Suite) bool {
		sha := s.Spec.Deployment.SHA
		return Compare(other, s) <= 0 || Siblings(other, s) || other.Scheduled() || sha != "" && sha == other.Spec.Deployment.SHA
	}))
}
