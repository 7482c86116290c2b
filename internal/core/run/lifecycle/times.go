package lifecycle

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TimeIsUp reports whether the tests of a run should have ended by now.
func TimeIsUp(o Observation, now time.Time) bool {
	at := startTime(o)
	return at != nil && now.Sub(at.Time) >= timeLimit(o)
}

// endedInTime reports whether only sidecars still run, which the kubelet stops after the grace period.
func endedInTime(o Observation, now time.Time) bool {
	end := o.TestsEnded
	return !end.IsZero() && end.Sub(startTime(o).Time) <= timeLimit(o) && now.Sub(end) < o.Stopping.Grace+stopGrace
}

// startTime returns when the tests started, or nil. The recorded time may be later: when the Job said that its pod was ready.
func startTime(o Observation) *metav1.Time {
	recorded, started := o.Suite.Status.StartTime, notBeforeJob(o)
	switch {
	case !started.IsZero() && (recorded == nil || started.Before(recorded.Time)):
		return &metav1.Time{Time: started}
	case recorded != nil:
		return recorded
	case o.Job != nil && !o.NotBegun && !beforeTests(o.Condition):
		return o.Job.Status.StartTime
	default:
		return nil
	}
}

// testsBeganAfter is not later than the tests began, unlike startTime.
func testsBeganAfter(o Observation) time.Time {
	switch {
	case !o.Started.IsZero():
		return startTime(o).Time
	case o.Job != nil && o.Job.Status.StartTime != nil:
		return o.Job.Status.StartTime.Time
	default:
		return o.Suite.DeployedAt().Time
	}
}

// notBeforeJob corrects the clock of a node, which must not end a run early.
func notBeforeJob(o Observation) time.Time {
	if o.Job != nil && !o.Started.IsZero() && o.Started.Before(o.Job.CreationTimestamp.Time) {
		return o.Job.CreationTimestamp.Time
	}
	return o.Started
}

// timeLimit prefers the Job's, because the Trigger may have changed since.
func timeLimit(o Observation) time.Duration {
	switch {
	case o.TimeLimit > 0:
		return min(o.TimeLimit, maxTimeout)
	case o.Trigger != nil:
		return o.Trigger.RunTimeout()
	default:
		return maxTimeout
	}
}

// jobPollInterval is for Jobs that may cause no event: stuck or late ones, and those that the cache does not have.
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
	at := startTime(o)
	if at == nil {
		return 0
	}
	wait := max(at.Add(timeLimit(o)).Sub(now), time.Second)
	if o.Unready { // short tests may have ended without an event, and an injected container may hold the pod open
		return min(wait, unreadyInterval(o, now))
	}
	return wait
}

func startPollInterval(o Observation, now time.Time) time.Duration {
	next := o.StartingSince.Add(startLimit(o))
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

// Sooner returns the shorter of two pauses; 0 means none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}
