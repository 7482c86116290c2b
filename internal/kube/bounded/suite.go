package bounded

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// suiteKeys are the labels and annotations of Suites that Postflight writes or reads.
var suiteKeys = []string{
	v1alpha1.LabelTrigger, v1alpha1.LabelEnvironment, v1alpha1.LabelShortSHA, v1alpha1.LabelRestored, v1alpha1.LabelRestoredByVelero,
	v1alpha1.AnnotationVariablesDigest, v1alpha1.AnnotationRepeats, v1alpha1.AnnotationRetries, v1alpha1.AnnotationRepeatsInconclusive,
	v1alpha1.AnnotationCanceledBy, v1alpha1.AnnotationIdempotencyKey, v1alpha1.AnnotationRequestID, v1alpha1.AnnotationRerunBy,
	v1alpha1.AnnotationScheduledFor, v1alpha1.AnnotationDeployedAt, v1alpha1.AnnotationTraceparent,
}

// stripSuite drops the metadata that Postflight does not read. Only the size of an object bounds it.
func stripSuite(s *v1alpha1.Suite) {
	s.ObjectMeta = metav1.ObjectMeta{
		Name: s.Name, Namespace: s.Namespace, UID: s.UID, ResourceVersion: s.ResourceVersion, Generation: s.Generation,
		CreationTimestamp: s.CreationTimestamp, DeletionTimestamp: s.DeletionTimestamp,
		Labels: keptKeys(s.Labels), Annotations: keptKeys(s.Annotations), OwnerReferences: keptOwners(s.OwnerReferences),
	}
}

// keptKeys keeps the foreign keys, which repetitions and records have, unless they are long.
func keptKeys(all map[string]string) (kept map[string]string) {
	foreign := 0
	for name, value := range all {
		if !slices.Contains(suiteKeys, name) {
			foreign += len(name) + len(value)
		}
	}
	for name, value := range all {
		own := slices.Contains(suiteKeys, name)
		if !own && foreign > foreignBytes {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[name] = cut(value)
	}
	return kept
}

// cut shortens what Postflight has not written, so that it equals nothing that it wrote and cannot be parsed, but is still there.
func cut(value string) string {
	if len(value) <= valueBytes {
		return value
	}
	return strings.Clone(value[:valueBytes])
}

// keptOwners keeps the controller, and an Environment whose end is that of its runs.
func keptOwners(all []metav1.OwnerReference) (kept []metav1.OwnerReference) {
	environment, controller := false, false
	for _, o := range all {
		isEnvironment := !environment && job.Refers(&o, v1alpha1.GroupVersion.WithKind("Environment").GroupKind())
		isController := !controller && o.Controller != nil && *o.Controller
		if !job.SmallOwner(&o) || !isEnvironment && !isController {
			continue
		}
		environment, controller = environment || isEnvironment, controller || isController
		kept = append(kept, o)
	}
	return kept
}
