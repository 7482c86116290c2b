package announce

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// Previous returns the end of the last run with a result before s, of the same Trigger and Environment, or "". The outcomes in the status
// of the Trigger replace runs that were deleted.
func Previous(s *v1alpha1.Suite, runs []*v1alpha1.Suite, outcomes []v1alpha1.EnvironmentOutcome) string {
	last := outcomeBefore(s, runs)
	for _, o := range outcomes {
		switch {
		case placeOf(o) != placeOf(outcomeOf(s)):
		case o.Suite == s.Name && o.PreviousState != "":
			return o.PreviousState
		case o.Suite != s.Name && !endOf(s).Before(o.CompletionTime.Time) && o.CompletionTime.After(last.CompletionTime.Time) && deleted(o, runs):
			last = o
		}
	}
	return last.State
}

// outcomeBefore does not sort the runs: there may be thousands.
func outcomeBefore(s *v1alpha1.Suite, runs []*v1alpha1.Suite) v1alpha1.EnvironmentOutcome {
	var last *v1alpha1.Suite
	for _, r := range runs {
		if counts(r) && r.SameTest(s) && order(r, s) < 0 && (last == nil || order(r, last) > 0) {
			last = r
		}
	}
	if last == nil {
		return v1alpha1.EnvironmentOutcome{}
	}
	return outcomeOf(last)
}

func deleted(o v1alpha1.EnvironmentOutcome, runs []*v1alpha1.Suite) bool {
	return !slices.ContainsFunc(runs, func(r *v1alpha1.Suite) bool { return r.Name == o.Suite && counts(r) })
}

// Outcomes returns how the last run in each Environment ended, for the status of the Trigger. Outcomes of deleted runs stay.
func Outcomes(stored []v1alpha1.EnvironmentOutcome, runs []*v1alpha1.Suite) []v1alpha1.EnvironmentOutcome {
	last, byName := map[[2]string]v1alpha1.EnvironmentOutcome{}, map[string]*v1alpha1.Suite{}
	for _, o := range stored {
		last[placeOf(o)] = o
	}
	sorted := ended(runs)
	for _, s := range sorted {
		byName[s.Name] = s
	}
	for _, s := range sorted {
		o := outcomeOf(s)
		if before := last[placeOf(o)]; follows(s, before, byName[before.Suite]) {
			o.PreviousState = before.State
			last[placeOf(o)] = o
		}
	}
	var all []v1alpha1.EnvironmentOutcome
	for _, o := range last {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b v1alpha1.EnvironmentOutcome) int {
		return cmp.Or(b.CompletionTime.Compare(a.CompletionTime.Time), byPlace(a, b))
	})
	all = all[:min(len(all), maxOutcomes)]
	slices.SortFunc(all, byPlace)
	return all
}

func byPlace(a, b v1alpha1.EnvironmentOutcome) int {
	return cmp.Or(strings.Compare(a.Environment, b.Environment), strings.Compare(a.Service, b.Service))
}

// placeOf is what has outcomes of its own: a service in an Environment.
func placeOf(o v1alpha1.EnvironmentOutcome) [2]string { return [2]string{o.Environment, o.Service} }

// follows compares a run with the remembered one, which is nil if it was deleted.
func follows(s *v1alpha1.Suite, o v1alpha1.EnvironmentOutcome, remembered *v1alpha1.Suite) bool {
	if remembered != nil {
		return order(s, remembered) > 0
	}
	return !endOf(s).Before(o.CompletionTime.Time)
}

func ended(runs []*v1alpha1.Suite) (all []*v1alpha1.Suite) {
	for _, r := range runs {
		if counts(r) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, order)
	return all
}

// counts omits a run that is retried: the result of the retry counts.
func counts(s *v1alpha1.Suite) bool {
	v := verdict.OfRun(s)
	return v == verdict.Passed || v == verdict.Failed
}

func outcomeOf(s *v1alpha1.Suite) v1alpha1.EnvironmentOutcome {
	return v1alpha1.EnvironmentOutcome{
		Environment: s.Spec.Environment, Service: s.Spec.Deployment.Service, Suite: s.Name, State: s.State(),
		CompletionTime: metav1.NewTime(endOf(s)),
	}
}

func endOf(s *v1alpha1.Suite) time.Time {
	return ptr.Deref(s.Status.CompletionTime, metav1.Time{}).Time
}

// order compares ends. Times in a status are whole seconds; within one, the order of receipt decides.
func order(a, b *v1alpha1.Suite) int {
	return cmp.Or(endOf(a).Compare(endOf(b)), ledger.Compare(a, b))
}
