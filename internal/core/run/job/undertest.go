package job

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// MaxAnnotation is half of what the API server allows for all annotations of an object. Workloads of many containers lose their digests, so
// that only their revisions and commits are compared.
const MaxAnnotation = 128 << 10

// WithUnderTest lets a Job remember what the Environment had when it was created.
func WithUnderTest(j *batchv1.Job, workloads []v1alpha1.TestedWorkload) *batchv1.Job {
	if len(workloads) == 0 {
		return j
	}
	text, _ := json.Marshal(workloads) // strings and numbers cannot fail
	if len(text) > MaxAnnotation {
		text, _ = json.Marshal(withoutDigests(workloads))
	}
	j = j.DeepCopy()
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

// UnderTest returns what the Environment had when the Job was created; nothing if nobody knows, or if somebody else wrote it: what does not
// fit into the status of the Suite would keep the run from ending.
func UnderTest(j *batchv1.Job) (workloads []v1alpha1.TestedWorkload) {
	text := j.Annotations[v1alpha1.AnnotationUnderTest]
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &workloads); err != nil || len(workloads) > maxTested || slices.ContainsFunc(workloads, unfit) {
		return nil
	}
	return workloads
}

const maxTested, maxTestedDigests = 50, 16 // the bounds of the status of a Suite

func unfit(w v1alpha1.TestedWorkload) bool {
	if w.End != nil || len(w.Repository) > 256 || len(w.Kind) > 63 || len(w.Namespace) > 63 || len(w.Name) > 253 ||
		utf8.RuneCountInString(w.Service) > 128 {
		return true
	}
	v := w.Start
	if v == nil {
		return false
	}
	seen := map[string]bool{}
	for _, d := range v.Digests {
		if seen[d.Container] || len(d.Container) > 63 || len(d.Digest) > 256 {
			return true
		}
		seen[d.Container] = true
	}
	return len(v.UID) > 128 || len(v.Revision) > 256 || len(v.SHA) > 128 || len(v.Message) > 512 || len(v.Digests) > maxTestedDigests
}
