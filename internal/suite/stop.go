package suite

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/plaintext"
)

const (
	// StopCheckAfter is when to check for the first time whether the pods of a Job have stopped: by then most
	// Jobs are gone, which an event reports.
	StopCheckAfter = 10 * time.Second

	// stopCheckMax bounds the pauses between these checks.
	stopCheckMax = 30 * time.Second

	// unlabeledEvery is how often to check a Job that no event reports.
	unlabeledEvery = 15 * time.Second

	// orphanGrace is the longest common grace period of pods, which passes before they are given up.
	orphanGrace = time.Minute

	// hopelessAfter is how long a pod that cannot start keeps its run: long enough for the rest of a Git commit,
	// such as a Secret, to be applied.
	hopelessAfter = time.Minute

	// The pauses between checks of a Job that has no ready pod yet: short at first, when most causes show.
	unreadyMin = time.Second
	unreadyMax = time.Minute

	// deadlineGrace is how long after its timeout Kubernetes may take to end a Job, before it is deleted.
	deadlineGrace = time.Minute

	// maxTimeout is the longest timeout that a Trigger may have.
	maxTimeout = 168 * time.Hour
)

// stop ends a run once its Job and its pods are gone, because a successor starts at this end. If a person deletes
// the Job, it may disappear before its pods; a finalizer may keep it after them.
func stop(o Observation, end metav1.Condition, now time.Time) Decision {
	switch {
	case o.Job != nil && !o.Stopping.Done:
		d := Decision{Condition: v1alpha1.Running(end.Message + " Stopping the pods of this run.")}
		if o.Job.DeletionTimestamp == nil {
			d.Action = DeleteJob
		}
		return d
	case o.PodsLeft:
		waited := now.Sub(since(o.Suite, v1alpha1.ConditionObjectsFound, now))
		if waited >= o.GiveUpPods+orphanGrace {
			return Decision{Condition: v1alpha1.Error(fmt.Sprintf("%s Its Job is gone, and its pods still run, and nothing stops them. Stop them: kubectl delete pods -n %s -l %s=%s",
				end.Message, o.Suite.Namespace, v1alpha1.LabelSuite, o.Suite.Name))}
		}
		return Decision{
			Missing: fmt.Sprintf("Job %q", o.Suite.Name),
			Condition: v1alpha1.Running(fmt.Sprintf("%s Stopping the pods of this run: kubectl get pods -n %s -l %s=%s",
				end.Message, o.Suite.Namespace, v1alpha1.LabelSuite, o.Suite.Name)),
			RequeueAfter: min(max(waited/4, podsEvery), stopCheckMax),
		}
	default:
		return Decision{Condition: end}
	}
}

// notStarted is a sentence: why a run is stopped whose tests have not started. It is empty for other runs. Once
// the Job is deleted, the condition of the Suite is all that is left.
func notStarted(o Observation, now time.Time) string {
	if c := meta.FindStatusCondition(o.Suite.Status.Conditions, v1alpha1.ConditionStarted); c != nil {
		return c.Message
	}
	if o.Job == nil || o.StartingSince.IsZero() {
		return ""
	}
	if since := o.HopelessSince; !since.IsZero() && now.Sub(since) >= hopelessAfter {
		return o.PodProblem
	}
	if limit := o.Trigger.StartTimeout(); now.Sub(o.StartingSince) >= limit {
		return fmt.Sprintf("The tests did not start within %s, the startTimeout of the Trigger. %s", plaintext.Duration(limit), o.Progress.Message)
	}
	return ""
}

// stopNotStarted records the reason before it deletes the Job. If the status could not be written after that, the
// run would end as one whose Job was deleted by somebody else.
func stopNotStarted(o Observation, message string, now time.Time) Decision {
	d := stop(o, v1alpha1.Error(message), now)
	d.NotStarted = message
	if d.Action == DeleteJob && meta.FindStatusCondition(o.Suite.Status.Conditions, v1alpha1.ConditionStarted) == nil {
		d.Action, d.RequeueAfter = Report, time.Nanosecond
	}
	return d
}

// overdue reports whether Kubernetes should have ended the Job by now. It does not if somebody removed the
// deadline, or if the Job controller does not run. Once the Job is deleted for that, only the Suite's own start
// time is left.
func overdue(o Observation, now time.Time) bool {
	started := o.Suite.Status.StartTime
	if o.Job != nil && o.Job.Status.StartTime != nil {
		started = o.Job.Status.StartTime
	}
	return started != nil && now.Sub(started.Time) >= timeLimit(o)+deadlineGrace
}

// timeLimit of a run is that of its Job, because the Trigger may have changed since.
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

// jobPollInterval is when to check a Job again where no event may come: its pods do not start or stop, it
// does not end in time, or the cache does not have it.
func jobPollInterval(o Observation, now time.Time) time.Duration {
	if o.Unlabeled {
		return unlabeledEvery
	}
	if since := o.Stopping.Since; !since.IsZero() {
		waited := now.Sub(since)
		return max(StopCheckAfter-waited, min(max(waited/4, time.Second), stopCheckMax))
	}
	if !o.StartingSince.IsZero() {
		return startPollInterval(o, now)
	}
	if o.Unready {
		return unreadyInterval(o, now)
	}
	if started := o.Job.Status.StartTime; started != nil {
		return max(started.Add(timeLimit(o)+deadlineGrace).Sub(now), time.Second)
	}
	return 0
}

// startPollInterval is when to check again a run whose tests have not started: at the latest when it ends for that.
func startPollInterval(o Observation, now time.Time) time.Duration {
	next := o.StartingSince.Add(o.Trigger.StartTimeout())
	if !o.HopelessSince.IsZero() {
		next = o.HopelessSince.Add(hopelessAfter)
	}
	wait := max(next.Sub(now), unreadyMin)
	if o.Unready {
		return min(wait, unreadyInterval(o, now))
	}
	return wait
}

func unreadyInterval(o Observation, now time.Time) time.Duration {
	return min(max(now.Sub(o.Job.CreationTimestamp.Time)/4, unreadyMin), unreadyMax)
}

// sooner is the shorter of two pauses; 0 means no pause.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}
