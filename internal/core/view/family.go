package view

import (
	"cmp"
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

// family is a run with its reruns, retries and repetitions.
type family struct {
	typical *v1alpha1.Suite       // the first that ran all tests, and says how long these take; nil: none did
	result  *v1alpha1.Suite       // the newest that passed or ended badly; nil: none did
	end     *v1alpha1.TestResults // the last that are known; nil: none are
	flaky   bool                  // a test passed only when its runner repeated it, in any attempt
	failed  int32                 // tests, in the attempt with the most
}

// familiesOf returns the families of runs of a Trigger. Both come newest first.
func familiesOf(runs []*v1alpha1.Suite) (all []*family) {
	attempts, byNumber := make([]history.Run, 0, len(runs)), map[int32]*family{}
	for _, s := range slices.Backward(runs) {
		attempts = append(attempts, history.Run{
			ID: s.Name, Place: httpapi.Place{Namespace: s.Namespace, Trigger: s.Spec.Trigger.Name, Environment: s.Spec.Environment},
			Repository: s.Spec.Deployment.Repository, Service: s.Spec.Deployment.Service, SHA: s.Spec.Deployment.SHA,
			Later: origin.Of(s.Origin()).Later, Partial: s.Spec.OnlyFailedOf != nil,
			Earlier: cmp.Or(s.FailedTestsOf(), s.Annotations[v1alpha1.AnnotationRepeats]),
		})
	}
	history.SetFamilies(attempts)
	for i, s := range slices.Backward(runs) {
		n := attempts[len(runs)-1-i].Family
		f := byNumber[n]
		if f == nil {
			f = &family{}
			byNumber[n] = f
			if n > 0 {
				all = append(all, f)
			}
		}
		if state := StateOf(s); state.Bad || state.Green {
			f.add(s)
		}
	}
	slices.Reverse(all)
	return all
}

// add takes a run that has a result, the oldest first.
func (f *family) add(s *v1alpha1.Suite) {
	f.result = s
	if f.typical == nil && s.Spec.OnlyFailedOf == nil && StateOf(s).Reason != v1alpha1.ReasonError && s.Status.StartTime != nil {
		f.typical = s
	}
	if r := s.Status.Results; r != nil {
		f.flaky = f.flaky || r.Flaky > 0
		f.failed = max(f.failed, r.Failed)
		f.end = r
	}
}

// repeated reports whether a test passed only when it was repeated, by its runner or in a later attempt.
func (f *family) repeated() bool { return f.flaky || f.end != nil && f.failed > f.end.Failed }
