package job

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Refers reports whether an owner is of the kind, in any version of its group: objects keep the version that a manager of another
// release has written.
func Refers(owner *metav1.OwnerReference, kind schema.GroupKind) bool {
	return owner != nil && schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == kind
}

// maxOwner is more than any Suite or Environment needs, in bytes. The API server bounds no field of an owner.
const maxOwner = 1 << 10

// SmallOwner reports whether an owner may be cached.
func SmallOwner(o *metav1.OwnerReference) bool {
	return len(o.APIVersion)+len(o.Kind)+len(o.Name)+len(o.UID) <= maxOwner
}

// Unlabeled reports whether somebody removed the label by which the cache of Jobs is filtered.
func Unlabeled(j *batchv1.Job) bool { return j.Labels[v1alpha1.LabelSuite] == "" }
