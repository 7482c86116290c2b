package job

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
)

// annotateQuarantines leaves out the names of tests, to keep the cache small: the collector has them. Annotations of a template do not
// count.
func annotateQuarantines(j *batchv1.Job, a quarantine.Applied) {
	delete(j.Annotations, v1alpha1.AnnotationQuarantines)
	if text := a.WithoutTests().Text(); text != "" {
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationQuarantines, text)
	}
}

// QuarantinesOf returns the Quarantines that a Job applies, without the names of their tests.
func QuarantinesOf(j *batchv1.Job) quarantine.Applied {
	return quarantine.Parse(j.Annotations[v1alpha1.AnnotationQuarantines])
}
