package announce

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// ThreadAction is what to do next in a thread.
type ThreadAction struct {
	Thread  v1alpha1.TestThread   // to be stored before something is sent
	Failure *v1alpha1.TestFailure // that opens it; nil: the thread is closed
	Unsure  bool                  // an earlier attempt may have sent the message: look first
}

// NextThread returns what the end of the run changes in the threads of its Trigger, one after the other; nil: nothing more. A run that was
// followed by another one changes nothing that the other one contradicts, so the order in which ends are told does not matter.
func (o Observation) NextThread(r Receiver) *ThreadAction {
	if r.Channel == "" || !counts(o.Suite) || DeliveryTo(o.Suite, r).Gone {
		return nil
	}
	for _, t := range o.Threads {
		switch {
		case !inPlace(t, o.Suite):
		case t.ClosedBy != "":
			return &ThreadAction{Thread: t, Unsure: true}
		case o.endsThread(t):
			t.ClosedBy = o.Suite.Name
			return &ThreadAction{Thread: t, Unsure: t.TS == ""}
		}
	}
	return o.nextOpened(r)
}

func (o Observation) nextOpened(r Receiver) *ThreadAction {
	s, opened := o.Suite, 0
	for _, t := range o.Threads {
		if t.Run == s.Name {
			opened++
		}
	}
	if !state.Of(s.State()).Bad || !r.hearsOf(v1alpha1.NotifyFailure) && !r.hearsOf(v1alpha1.NotifyNewFailure) {
		return nil
	}
	for _, f := range countingFailures(s) {
		if t := o.threadOf(f.Name); t != nil {
			if t.TS == "" {
				return &ThreadAction{Thread: *t, Failure: &f, Unsure: true}
			}
		} else if failsAnew(f) && opened < maxOpened && !o.passedLater(f.Name) {
			return &ThreadAction{Thread: newThread(s, f.Name, r.Channel), Failure: &f}
		}
	}
	return nil
}

func newThread(s *v1alpha1.Suite, test, channel string) v1alpha1.TestThread {
	return v1alpha1.TestThread{
		ID: threadID(s, test), Environment: s.Spec.Environment, Service: s.Spec.Deployment.Service, Test: plaintext.Line(test, maxThreadTest),
		Channel: channel, Run: s.Name, Since: metav1.NewTime(endOf(s)),
	}
}

func threadID(s *v1alpha1.Suite, test string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{s.Spec.Environment, s.Spec.Deployment.Service, test}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

func inPlace(t v1alpha1.TestThread, s *v1alpha1.Suite) bool {
	return t.Environment == s.Spec.Environment && t.Service == s.Spec.Deployment.Service
}

func (o Observation) threadOf(test string) *v1alpha1.TestThread {
	id := threadID(o.Suite, test)
	if i := slices.IndexFunc(o.Threads, func(t v1alpha1.TestThread) bool { return t.ID == id }); i >= 0 {
		return &o.Threads[i]
	}
	return nil
}

// endsThread reports whether a run after the one with the failure shows that the test no longer fails, and no later run has it failing.
func (o Observation) endsThread(t v1alpha1.TestThread) bool {
	if t.Run == o.Suite.Name || endOf(o.Suite).Before(t.Since.Time) || !o.clears(o.Suite, t.ID) {
		return false
	}
	for _, s := range o.Runs {
		if s.Name == t.Run && s.SameTest(o.Suite) && order(s, o.Suite) > 0 || o.isLater(s) && listed(s, t.ID) {
			return false
		}
	}
	return true
}

// passedLater reports whether the test no longer failed in a run that ended after this one.
func (o Observation) passedLater(test string) bool {
	id := threadID(o.Suite, test)
	for _, s := range o.Runs {
		if o.isLater(s) && o.clears(s, id) {
			return true
		}
	}
	return false
}

func (o Observation) isLater(s *v1alpha1.Suite) bool {
	return s.SameTest(o.Suite) && s.Name != o.Suite.Name && counts(s) && order(s, o.Suite) > 0
}

// clears reports whether a run shows that a test no longer fails: it ran as a whole, its status lists all failed tests, and this is none of
// them. A rerun of failed tests shows it only for the tests that it ran.
func (o Observation) clears(s *v1alpha1.Suite, id string) bool {
	r := s.Status.Results
	whole := r != nil && r.Tests > 0 && r.Expected == 0 && int(r.Failed) == len(r.Failures) && (verdict.RunPassed(s) || r.OnlyTestsFailed)
	if !whole || listed(s, id) {
		return false
	}
	of := s.Spec.OnlyFailedOf
	return of == nil || slices.ContainsFunc(o.Runs, func(first *v1alpha1.Suite) bool {
		return first.Name == of.Name && first.UID == of.UID && listed(first, id)
	})
}

// listed reports whether the test of a thread failed in a run, in a Quarantine or not.
func listed(s *v1alpha1.Suite, id string) bool {
	return s.Status.Results != nil && slices.ContainsFunc(s.Status.Results.Failures, func(f v1alpha1.TestFailure) bool {
		return threadID(s, f.Name) == id
	})
}

func countingFailures(s *v1alpha1.Suite) (all []v1alpha1.TestFailure) {
	if s.Status.Results == nil {
		return nil
	}
	for _, f := range s.Status.Results.Failures {
		if f.Quarantine == "" {
			all = append(all, f)
		}
	}
	return all
}

// Summarized reports whether the end of the run is told in a message of its own, beside threads: there is more than they have.
func (o Observation) Summarized(r Receiver) bool {
	s := o.Suite
	end := Events(s)[len(Events(s))-1]
	if s.Retried() || !r.wants(s, end, o.Previous) {
		return false
	}
	others := o.withoutThread()
	switch {
	case !state.Of(s.State()).Bad:
		return true
	case r.hearsOf(v1alpha1.NotifyFailure), !state.Of(o.Previous).Bad:
		return len(others) > 0 || !onlyListedFailed(s)
	default:
		return slices.ContainsFunc(others, failsAnew)
	}
}

// onlyListedFailed reports whether failed tests, all of which the status lists, are the only reason why a run failed.
func onlyListedFailed(s *v1alpha1.Suite) bool {
	r := s.Status.Results
	return r != nil && r.OnlyTestsFailed && int(r.Failed) == len(r.Failures) && len(countingFailures(s)) > 0
}

func (o Observation) withoutThread() (all []v1alpha1.TestFailure) {
	for _, f := range countingFailures(o.Suite) {
		if o.threadOf(f.Name) == nil && !o.passedLater(f.Name) {
			all = append(all, f)
		}
	}
	return all
}

// Summary returns the run with the failed tests that have no thread, or all of them if each has one.
func (o Observation) Summary() *v1alpha1.Suite {
	others := o.withoutThread()
	if len(others) == 0 || len(o.Threads) == 0 {
		return o.Suite
	}
	s := o.Suite.DeepCopy()
	s.Status.Results.Failures = others
	return s
}

// WithThread returns the threads of a Trigger with one more, or with a changed one. Beyond the bound, the oldest is dropped.
func WithThread(all []v1alpha1.TestThread, t v1alpha1.TestThread) []v1alpha1.TestThread {
	all = append(WithoutThread(all, t.ID), t)
	slices.SortFunc(all, func(a, b v1alpha1.TestThread) int {
		if n := a.Since.Compare(b.Since.Time); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
	if len(all) > maxThreads {
		i := slices.IndexFunc(all, func(other v1alpha1.TestThread) bool { return other.ID != t.ID })
		all = slices.Delete(all, i, i+1)
	}
	return all
}

// WithoutThread returns the threads of a Trigger without one.
func WithoutThread(all []v1alpha1.TestThread, id string) []v1alpha1.TestThread {
	return slices.DeleteFunc(slices.Clone(all), func(t v1alpha1.TestThread) bool { return t.ID == id })
}

func (r Receiver) goneSentence(d v1alpha1.Delivery) string {
	if r.Channel != "" {
		return fmt.Sprintf("%s gets nothing more about this run: %s", r.Title(), d.Problem)
	}
	return r.Title() + " answered 410 Gone, and gets nothing more about this run."
}
