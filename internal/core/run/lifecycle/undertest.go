package lifecycle

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// UnderTest is what the Environment of a run has, where it names workloads.
type UnderTest struct {
	Start []v1alpha1.TestedWorkload // when the Job was created; empty: the Environment named no workloads

	// The results of CompareWorkloads.
	Tested     *v1alpha1.UnderTest // nil: not done
	Unreadable string              // a sentence: why the Environment cannot be read at the moment
	Moved      bool                // the Environment has another commit of the repository than the notified one
	Another    string              // a sentence: which other commit was under test from start to end; empty: none is known
	Gone       bool                // the Environment was deleted
}

// Compared takes what was under test. A change that was recorded before the run is repeated stays: it may have been changed back since.
func (o *Observation) Compared(tested *v1alpha1.UnderTest) {
	if before := o.Suite.Status.UnderTest; before != nil && before.Changed != "" {
		tested = before
	}
	o.UnderTest.Tested = tested
}

// readWithin outlasts an outage of the API server, or of a webhook that converts objects. Then nobody knows what was tested, and the run
// ends.
const readWithin = 10 * time.Minute

// NotCompared takes why the Environment cannot be read, as a sentence.
func (o *Observation) NotCompared(problem string, now time.Time) {
	if sinceJobEnded(*o, now) < readWithin {
		o.UnderTest.Unreadable = plaintext.Line(problem, maxUnreadable)
		return
	}
	o.Compared(&v1alpha1.UnderTest{Workloads: o.UnderTest.Start, Changed: plaintext.Line(problem, maxUnreadable)})
}

const maxUnreadable = 1024 // messages of the API server may be long, and conditions are bounded

// sinceJobEnded is long for a Job that is gone.
func sinceJobEnded(o Observation, now time.Time) time.Duration {
	if o.Job == nil {
		return readWithin
	}
	end := jobEnd(o)
	if end.IsZero() { // its pods were stopped
		end = o.Stopping.Requested
	}
	return min(max(now.Sub(end), 0), readWithin)
}

// jobEnd returns when the Job ended by itself, or the zero time.
func jobEnd(o Observation) (end time.Time) {
	if o.Job == nil {
		return end
	}
	for _, c := range o.Job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			end = c.LastTransitionTime.Time
		}
	}
	return end
}

// setUnderTest records what the Job remembers, and at the end what was compared.
func setUnderTest(s *v1alpha1.Suite, o Observation, d Decision) {
	switch {
	case o.UnderTest.Tested != nil && (d.Successor != "" || s.Finished()):
		s.Status.UnderTest = o.UnderTest.Tested
	case s.Status.UnderTest == nil && o.Job != nil && len(o.UnderTest.Start) > 0: // an attempt to create the Job that failed started nothing
		s.Status.UnderTest = &v1alpha1.UnderTest{Workloads: o.UnderTest.Start}
	}
}
