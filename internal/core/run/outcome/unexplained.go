package outcome

import (
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Starting reports whether no pod of a Job is ready, though it may have some.
func Starting(j *batchv1.Job) bool {
	return j.DeletionTimestamp == nil && end(j) == nil && condition(j, batchv1.JobFailureTarget) == nil &&
		!suspended(j) && !Ready(j)
}

// Ready reports whether a pod of a Job is ready.
func Ready(j *batchv1.Job) bool { return ptr.Deref(j.Status.Ready, 0) > 0 }

// HasPods reports whether pods of a Job have not ended, or are being deleted.
func HasPods(j *batchv1.Job) bool {
	return j.Status.Active > 0 || ptr.Deref(j.Status.Terminating, 0) > 0
}

// UnexplainedObject returns the UID of a Job without a pod, or of a pod that is being set up: only events explain these. Else "".
func UnexplainedObject(j *batchv1.Job, pods []corev1.Pod) types.UID {
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

func settingUp(p corev1.Pod) bool {
	_, isBlocked := blocked(&p)
	return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodPending && p.Spec.NodeName != "" &&
		initializing(&p) == "" && !isBlocked
}

// WithWarning explains a state by the warning in an event about the UnexplainedObject, if there is one.
func (s State) WithWarning(j *batchv1.Job, warning string) State {
	text := strings.TrimRight(plaintext.Line(withoutRandomParts(warning), maxQuote), ". ")
	if text == "" {
		return s
	}
	reason, since := s.Condition.Reason, s.StartingSince
	s = cannotStart(text + "." + advice(warning))
	s.Condition.Reason, s.StartingSince = reason, since
	if rejected.MatchString(warning) && !quota.MatchString(warning) {
		s.HopelessSince = startTime(j)
	}
	return s
}

// advice is a sentence about a warning. Quotas have room again when other pods end, so the run waits.
func advice(warning string) string {
	switch {
	case quota.MatchString(warning):
		return " The quota has room again when other pods have ended."
	case notSpecified.MatchString(warning):
		return " Set that in the jobTemplate of the Trigger, or give the namespace a LimitRange with a default."
	default:
		return " Fix that, or the jobTemplate of the Trigger."
	}
}

// startTime changes when a Job is resumed.
func startTime(j *batchv1.Job) time.Time {
	if j.Status.StartTime != nil {
		return j.Status.StartTime.Time
	}
	return j.CreationTimestamp.Time
}

var (
	// rejected matches a refusal of a pod by the API server: a policy, a missing ServiceAccount, an invalid field.
	rejected     = regexp.MustCompile(`^Error creating: (.* is (forbidden|invalid): |admission webhook .* denied the request)`)
	notSpecified = regexp.MustCompile(`failed quota: .*must specify`)

	quota = regexp.MustCompile(`exceeded quota|maximum .* quota`) // refuses until other pods end
)

// creating matches the prefix of a refusal. It has the pod's name, whose suffix is random.
var creating = regexp.MustCompile(`^Error creating: ((pods|Pod) "[^"]*" is (forbidden|invalid): )?`)

var sandbox = regexp.MustCompile(`\b[0-9a-f]{64}\b`) // the id of one attempt to set a pod up

// withoutRandomParts drops what differs at each attempt and would cost a write of the status.
func withoutRandomParts(warning string) string {
	return sandbox.ReplaceAllString(creating.ReplaceAllString(warning, ""), "…")
}
