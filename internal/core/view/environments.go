package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/suite"
)

// Environment is an Environment with what is deployed there.
type Environment struct {
	Name, Namespace string
	URL             *Link
	Ephemeral       bool
	Expires         *Time
	Hold            string // until when it is on hold, and why; empty: it is not
	Settling        string // until when runs wait for it to settle; empty: they do not
	Problem         string // why its workloads cannot be read; empty if they can, or if it names none
	Deployed        []Deployed
	Latest          *Run  // of the last deployment; nil: no run says what that was
	Runs            []Row // the latest run of each Trigger, by name
}

// deployedInList is how many repositories of an Environment a list names.
const deployedInList = 3

// First returns the repositories that a list names.
func (e Environment) First() []Deployed { return e.Deployed[:min(len(e.Deployed), deployedInList)] }

// Others returns how many it does not name.
func (e Environment) Others() int { return max(0, len(e.Deployed)-deployedInList) }

// EnvironmentsOf returns the lasting Environments and then the ephemeral ones, by name. The runs come newest first.
func EnvironmentsOf(environments []*v1alpha1.Environment, runs []*v1alpha1.Suite, now time.Time) []Environment {
	byEnvironment := ByEnvironment(runs)
	var all []Environment
	for _, e := range environments {
		all = append(all, environmentWith(e, byEnvironment[e.Name], now))
	}
	slices.SortFunc(all, func(a, b Environment) int {
		return cmp.Or(a.kind()-b.kind(), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// kind orders lasting Environments before ephemeral ones.
func (e Environment) kind() int {
	if e.Ephemeral {
		return 1
	}
	return 0
}

func holdOf(e *v1alpha1.Environment, now time.Time) string {
	until := e.HeldUntil(now)
	if until.IsZero() {
		return ""
	}
	text := "On hold until " + suite.HoldEnd(until, now)
	if why := suite.HoldWhy(e); why != "" {
		text += " — " + why
	}
	return text + "."
}

func settlingOf(e *v1alpha1.Environment, own []*v1alpha1.Suite, now time.Time) string {
	s := suite.SettlingOf(e, suite.BurstOf(e, own), now)
	if s == nil {
		return ""
	}
	return "Settling: " + suite.SettlingClause(*s, now) + "."
}

// environmentWith takes the runs of the Environment, newest first.
func environmentWith(e *v1alpha1.Environment, own []*v1alpha1.Suite, now time.Time) Environment {
	v := Environment{
		Name: e.Name, Namespace: e.Namespace, URL: DeployedAt(e.Spec.URL),
		Hold: holdOf(e, now), Settling: settlingOf(e, own, now), Problem: v1alpha1.ReadyProblem(e.Status.Conditions), Deployed: DeployedIn(e, own, now),
	}
	if e.Spec.Ephemeral != nil {
		v.Ephemeral, v.URL = true, DeployedAt(e.Spec.Ephemeral.DeploymentURL)
		v.Expires = TimeOf(e.Spec.Ephemeral.ExpiresAt.Time, now)
	}
	v.Runs = latestRuns(own, now)
	if s := lastDeployment(own); s != nil {
		v.Latest = new(RunOf(Subject{Suite: s}, now))
	}
	return v
}

func latestRuns(runs []*v1alpha1.Suite, now time.Time) []Row {
	var rows []Row
	for _, runs := range ByTrigger(runs) {
		rows = append(rows, RowOf(runs[0], 0, now))
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Trigger, b.Trigger) })
	return rows
}
