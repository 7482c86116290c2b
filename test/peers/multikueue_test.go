package peers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

const elsewhere = "They ran in another cluster by MultiKueue, so there is no log and no test result."

// TestMultiKueue: a Job in the queue of a Trigger runs in another cluster, with the real Kueue in both, and its status ends the run.
func TestMultiKueue(t *testing.T) {
	tier.All(t, "the gate builds no Kueue")
	f := newFleet(t)
	for name, test := range map[string]func(*testing.T, *fleet){
		"ends": runsEnd, "evicted": runIsEvicted, "canceled": runIsCanceled, "too late": runIsTooLate, "results are required": resultsAreRequired,
	} {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
	t.Run("no room", func(t *testing.T) { runWaits(t, f) }) // the last, because it takes the room
}

func runsEnd(t *testing.T, f *fleet) {
	for name, tc := range map[string]struct {
		change  func(*v1alpha1.Trigger)
		exit    int32
		reason  string
		message string
	}{
		"passed": {reason: v1alpha1.ReasonPassed, message: "(exit code only). " + elsewhere},
		"failed": {exit: 1, reason: v1alpha1.ReasonFailed,
			message: "Job has reached the specified backoff limit. It ran in another cluster by MultiKueue, and only its log there says"},
		"results do not count": {reason: v1alpha1.ReasonPassed, message: elsewhere,
			change: func(t *v1alpha1.Trigger) { t.Spec.Results = &v1alpha1.Results{Require: v1alpha1.RequireNothing} }},
		"managed by": {reason: v1alpha1.ReasonPassed, message: elsewhere,
			change: func(t *v1alpha1.Trigger) { t.Spec.JobTemplate.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") }},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.notify(t, tc.change)
			pod := r.podStarts()
			r.reaches(v1alpha1.ReasonRunning, "The tests are running in another cluster, by MultiKueue, and only that has their log.")
			r.podEnds(pod, tc.exit)
			s := r.reaches(tc.reason, tc.message)
			if s.Status.DecidedBy != v1alpha1.DecidedByExitCode || s.Status.StartTime == nil {
				t.Errorf("decided by %q, started at %v", s.Status.DecidedBy, s.Status.StartTime)
			}
			poll.Until(t, "the API says why there is no log", func() string {
				if log := r.log(); !strings.Contains(log, "ran in another cluster by MultiKueue") {
					return log
				}
				return ""
			})
			r.isGone()
		})
	}
}

// runIsEvicted: the worker takes the room away, and the pod exits with 0 because it is stopped. That does not pass: MultiKueue starts over.
func runIsEvicted(t *testing.T, f *fleet) {
	r := f.notify(t, nil)
	stopped := r.podStarts()
	r.reaches(v1alpha1.ReasonRunning, "")
	defer f.hold("None")
	f.hold("HoldAndDrain")
	poll.True(t, "the worker suspends the Job", func() bool {
		j := &batchv1.Job{}
		must(t, f.worker.Client.Get(t.Context(), r.key(), j))
		return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
		})
	})
	r.reaches(v1alpha1.ReasonRunning, `Waiting in the queue "tests" of Kueue`)
	r.podEnds(stopped, 0)
	must(t, f.worker.Client.Delete(t.Context(), stopped, client.GracePeriodSeconds(0)))
	f.hold("None")
	r.podEnds(r.podStarts(), 0)
	r.reaches(v1alpha1.ReasonPassed, elsewhere)
}

func runIsCanceled(t *testing.T, f *fleet) {
	r := f.notify(t, nil)
	r.podStarts()
	r.reaches(v1alpha1.ReasonRunning, "")
	r.cancel()
	r.isGone()
	r.reaches(v1alpha1.ReasonCanceled, "")
}

func runIsTooLate(t *testing.T, f *fleet) {
	r := f.notify(t, func(t *v1alpha1.Trigger) { t.Spec.Timeout = &metav1.Duration{Duration: time.Second} })
	r.podStarts()
	r.isGone()
	r.reaches(v1alpha1.ReasonTimedOut, "")
}

func resultsAreRequired(t *testing.T, f *fleet) {
	r := f.notify(t, func(t *v1alpha1.Trigger) { t.Spec.Results = &v1alpha1.Results{} })
	r.reaches(v1alpha1.ReasonError, "no test results come back from there. Set results.require of the Trigger to Nothing")
	r.isGone()
}

func runWaits(t *testing.T, f *fleet) {
	f.apply(f.worker, strings.ReplaceAll(fmt.Sprintf(workerQueues, f.ns, ""), "nominalQuota: 9", "nominalQuota: 0"))
	r := f.notify(t, nil)
	r.reaches(v1alpha1.ReasonQueued, `Waiting in the queue "tests" of Kueue`)
	r.cancel()
	r.reaches(v1alpha1.ReasonCanceled, "")
	var pods corev1.PodList
	must(t, f.management.Client.List(t.Context(), &pods))
	if len(pods.Items) > 0 {
		t.Errorf("the management cluster has %d pods", len(pods.Items))
	}
}
