package job

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// maxUnderTest is half of what the API server allows for all annotations of an object. Workloads of many containers lose their digests, so
// that only their revisions and commits are compared.
const maxUnderTest = 128 << 10

// WithUnderTest lets a Job remember what the Environment had when it was created.
func WithUnderTest(j *batchv1.Job, workloads []v1alpha1.TestedWorkload) *batchv1.Job {
	if len(workloads) == 0 {
		return j
	}
	text, _ := json.Marshal(workloads) // strings and numbers cannot fail
	if len(text) > maxUnderTest {
		text, _ = json.Marshal(withoutDigests(workloads))
	}
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationUnderTest, string(text))
	return j
}

func withoutDigests(workloads []v1alpha1.TestedWorkload) (all []v1alpha1.TestedWorkload) {
	for i := range workloads {
		w := *workloads[i].DeepCopy()
		if w.Start != nil {
			w.Start.Digests = nil
		}
		all = append(all, w)
	}
	return all
}

// UnderTest returns what the Environment had when the Job was created; nothing if nobody knows.
func UnderTest(j *batchv1.Job) (workloads []v1alpha1.TestedWorkload) {
	if err := json.Unmarshal([]byte(j.Annotations[v1alpha1.AnnotationUnderTest]), &workloads); err != nil {
		return nil // somebody else wrote it
	}
	return workloads
}
