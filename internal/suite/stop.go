package suite

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const (
	// StopLookAfter is how long after the pods of a Job were told to stop it is first looked at whether
	// they have: most Jobs are gone by then, of which an event tells.
	StopLookAfter = 10 * time.Second

	// stopLookMax bounds the pauses between these looks.
	stopLookMax = 30 * time.Second

	// unlabeledEvery is how often a Job is looked at of which no event tells.
	unlabeledEvery = 15 * time.Second

	// orphanGrace is the longest common grace period of pods, which counts before they are given up.
	orphanGrace = time.Minute

	// deadlineGrace is how long after its timeout Kubernetes may take to end a Job, before it is deleted.
	deadlineGrace = time.Minute

	// maxTimeout is the longest timeout that a Trigger may have.
	maxTimeout = 168 * time.Hour
)

// Stopping is how far a Job is whose pods are to stop: because it is being deleted, has failed or has
// succeeded.
type Stopping struct {
	Since time.Time // zero: the Job goes on
	Done  bool      // the Job is being deleted, and all of its pods have ended
	Lost  string    // a sentence about pods that do not stop, and may still be running; empty: there are none
}

// stop ends a run whose Job has to go first: only when the Job is gone are its pods, and only then
// may the run be called ended, so that its successor can rely on the end alone. Somebody who deletes the
// Job may have it go before its pods, and a finalizer may keep it after them.
func stop(o Observation, end metav1.Condition, now time.Time) Decision {
	switch {
	case o.Job != nil && !o.Stopping.Done:
		return Decision{
			DeleteJob: o.Job.DeletionTimestamp == nil,
			Condition: v1alpha1.Running(end.Message + " Stopping its pods."),
		}
	case o.PodsLeft:
		waited := now.Sub(since(o.Suite, v1alpha1.ConditionObjectsFound, now))
		if waited >= o.GiveUpPods+orphanGrace {
			return Decision{Condition: v1alpha1.Error(fmt.Sprintf("%s Its Job is gone, and pods of it go on that nobody stops. Stop them: kubectl delete pods -n %s -l %s=%s",
				end.Message, o.Suite.Namespace, v1alpha1.LabelSuite, o.Suite.Name))}
		}
		return Decision{
			Missing: fmt.Sprintf("Job %q", o.Suite.Name),
			Condition: v1alpha1.Running(fmt.Sprintf("%s Stopping its pods: kubectl get pods -n %s -l %s=%s",
				end.Message, o.Suite.Namespace, v1alpha1.LabelSuite, o.Suite.Name)),
			Again: min(max(waited/4, podsEvery), stopLookMax),
		}
	default:
		return Decision{Condition: end}
	}
}

// overdue reports whether Kubernetes should have ended the Job by now. It does not where somebody took
// the deadline away, or where its Job controller does not run. Once the Job is deleted for that, the Suite's own
// start time is what is left to tell.
func overdue(o Observation, now time.Time) bool {
	started := o.Suite.Status.StartTime
	if o.Job != nil && o.Job.Status.StartTime != nil {
		started = o.Job.Status.StartTime
	}
	return started != nil && now.Sub(started.Time) >= timeLimit(o)+deadlineGrace
}

// timeLimit of a run is what its Job was given, as its Trigger may have changed since.
func timeLimit(o Observation) time.Duration {
	switch {
	case o.Job != nil && o.Job.Spec.ActiveDeadlineSeconds != nil:
		return min(time.Duration(*o.Job.Spec.ActiveDeadlineSeconds)*time.Second, maxTimeout)
	case o.Trigger != nil:
		return o.Trigger.RunTimeout()
	default:
		return maxTimeout
	}
}

// watchJob is when to look at a Job again of which no event may tell: its pods do not stop, it does not
// end in time, or the cache does not have it.
func watchJob(o Observation, now time.Time) time.Duration {
	if o.Unlabeled {
		return unlabeledEvery
	}
	if since := o.Stopping.Since; !since.IsZero() {
		waited := now.Sub(since)
		return max(StopLookAfter-waited, min(max(waited/4, time.Second), stopLookMax))
	}
	if started := o.Job.Status.StartTime; started != nil {
		return max(started.Add(timeLimit(o)+deadlineGrace).Sub(now), time.Second)
	}
	return 0
}

// sooner of two pauses, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}
