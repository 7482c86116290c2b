package job

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Refers reports whether an owner is of the kind, in any version of its group: objects keep the version that a manager of another
// release has written.
func Refers(owner *metav1.OwnerReference, kind schema.GroupKind) bool {
	return owner != nil && schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == kind
}
