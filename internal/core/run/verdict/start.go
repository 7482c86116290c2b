package verdict

import (
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// Start is how a requirement without a recent result gets one.
type Start struct {
	Trigger string
	Service string

	Rerun   string // the run to start again; empty: the Trigger has none
	Tests   string // a run of the deployment, for a Trigger without one
	Problem string // why nothing can be started, as a sentence; empty: it can
}

// Starts lists what to start for what is missing or stale. Neither a failure nor a withdrawn pass is repeated: a gate that repeats until
// tests pass proves nothing.
func (v Verdict) Starts() (all []Start) {
	for _, r := range v.Requirements {
		if r.State == None || r.State == Stale {
			all = append(all, v.start(r))
		}
	}
	return all
}

// Startable reports whether anything of what is missing or stale can be started.
func (v Verdict) Startable() bool {
	return slices.ContainsFunc(v.Starts(), func(s Start) bool { return s.Problem == "" })
}

func (v Verdict) start(r Requirement) Start {
	s := Start{Trigger: r.Trigger, Service: r.Service}
	switch {
	case r.Run != nil:
		latest, runs := v.latest(r)
		if s.Rerun = latest.Name; deployedOther(latest, runs) {
			s.Rerun, s.Problem = "", fmt.Sprintf("The run %s would test what it tested before. Notify the deployment again, and request a rerun: "+
				"only the notification has what differs.", latest.Name)
		}
	case r.Advice != "":
		s.Problem = r.Problem + " " + r.Advice
	case v.Newest == nil:
		s.Problem = r.Problem
	default:
		s.Tests = v.deploymentFor(r).Name
	}
	return s
}

// latest is the last attempt of what a requirement tests, and all of them: an earlier one cannot be repeated.
func (v Verdict) latest(r Requirement) (last *v1alpha1.Suite, all []*v1alpha1.Suite) {
	wanted := v.testOf(r.Run)
	all = slices.DeleteFunc(slices.Clone(v.Runs), func(s *v1alpha1.Suite) bool { return v.testOf(s) != wanted })
	return slices.MaxFunc(all, ledger.CompareRequests), all
}

// deploymentFor is a run of the deployment that a Trigger has not tested. Best is a run whose notification the Trigger matched, next a run
// that has all that a notification said.
func (v Verdict) deploymentFor(r Requirement) *v1alpha1.Suite {
	matched := func(s *v1alpha1.Suite) bool {
		return slices.Contains(s.Spec.Siblings, r.Trigger) && (r.Service == "" || v.commitOf(s).Service == r.Service)
	}
	for _, fits := range []func(*v1alpha1.Suite) bool{matched, ledger.IsDeployment} {
		fitting := slices.DeleteFunc(slices.Clone(v.Runs), func(s *v1alpha1.Suite) bool { return !fits(s) })
		if len(fitting) > 0 {
			return slices.MaxFunc(fitting, ledger.CompareRequests)
		}
	}
	return v.Newest
}
