package job

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/plaintext"
)

// Starting tells a Job of which no pod is ready, though it may have some: it is worth a closer look.
func Starting(j *batchv1.Job) bool {
	return j.DeletionTimestamp == nil && end(j) == nil && condition(j, batchv1.JobFailureTarget) == nil &&
		!ptr.Deref(j.Spec.Suspend, false) && ptr.Deref(j.Status.Ready, 0) == 0
}

// HasPods tells a Job of which there are pods that have not ended, if only because they are being deleted.
func HasPods(j *batchv1.Job) bool {
	return j.Status.Active > 0 || ptr.Deref(j.Status.Terminating, 0) > 0
}

// Puzzle is what keeps a run from starting without saying why in its own status: a Job that has no pod,
// or a pod that is being set up. Of these only the events tell. Empty where there is nothing to ask.
func Puzzle(j *batchv1.Job, pods []corev1.Pod) types.UID {
	if !Starting(j) {
		return ""
	}
	if !HasPods(j) {
		return j.UID
	}
	if i := slices.IndexFunc(pods, settingUp); i >= 0 {
		return pods[i].UID
	}
	return ""
}

// settingUp tells a pod that a node has taken and not begun to run, for no reason that the pod gives.
func settingUp(p corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodPending && p.Spec.NodeName != "" &&
		initializing(&p) == "" && blocked(&p) == ""
}

// Warned adds to how a puzzling run goes what Kubernetes warned of in an event about the puzzle, if it
// did.
func Warned(c metav1.Condition, warning string) metav1.Condition {
	warning = strings.TrimRight(plaintext.Line(withoutChance(warning), maxQuote), ". ")
	if warning == "" {
		return c
	}
	return v1alpha1.Running(fmt.Sprintf("%s%s. Mend that, or the jobTemplate of the Trigger.", blockedPrefix, warning))
}

// creating is what the Job controller puts before the API server's refusal of a pod. The pod's name has
// another random end at each attempt.
var creating = regexp.MustCompile(`^Error creating: ((pods|Pod) "[^"]*" is (forbidden|invalid): )?`)

// sandbox is the id of one attempt to set a pod up.
var sandbox = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// withoutChance leaves out what is another at each attempt, and would make for a write of the status.
func withoutChance(warning string) string {
	return sandbox.ReplaceAllString(creating.ReplaceAllString(warning, ""), "…")
}
