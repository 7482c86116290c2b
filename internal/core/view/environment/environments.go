package environment

import (
	"cmp"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// Summary is an Environment with what is deployed there.
type Summary struct {
	Name, Namespace string
	URL             *view.Link
	Ephemeral       bool
	Expires         *view.Time
	Hold            string // until when it is on hold, and why; empty: it is not
	Settling        string // until when runs wait for it to settle; empty: they do not
	Problem         string // why its workloads cannot be read; empty if they can, or if it names none
	Deployed        []Deployed
	Latest          *view.Run  // of the last deployment; nil: no run says what that was
	Runs            []view.Row // the latest run of each Trigger, by name

	Cluster         string // that has it; empty: this one
	PageURL         string // of its page there
	Age             string // of what is shown, if that is old
	Unknown         string // why nothing of it is shown, as a sentence; empty: something is
	DeployedOmitted int    // repositories that Deployed leaves out
}

// deployedInList is how many repositories of an Environment a list names.
const deployedInList = 3

// First returns the repositories that a list names.
func (e Summary) First() []Deployed { return e.Deployed[:min(len(e.Deployed), deployedInList)] }

// Others returns how many it does not name.
func (e Summary) Others() int { return max(0, len(e.Deployed)-deployedInList) + e.DeployedOmitted }

// SummariesOf returns the lasting Environments and then the ephemeral ones, by name. The runs come newest first.
func SummariesOf(environments []*v1alpha1.Environment, runs []*v1alpha1.Suite, now time.Time) []Summary {
	byEnvironment := view.ByEnvironment(runs)
	var all []Summary
	for _, e := range environments {
		all = append(all, summaryOf(e, byEnvironment[e.Name], now))
	}
	SortSummaries(all)
	return all
}

// SortSummaries puts lasting Environments first.
func SortSummaries(all []Summary) {
	slices.SortFunc(all, func(a, b Summary) int {
		return cmp.Or(a.kind()-b.kind(), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Cluster, b.Cluster))
	})
}

// kind orders lasting Environments before ephemeral ones.
func (e Summary) kind() int {
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
	text := "On hold until " + queue.HoldEnd(until, now)
	if why := queue.HoldWhy(e); why != "" {
		text += " — " + why
	}
	return text + "."
}

func settlingOf(e *v1alpha1.Environment, own []*v1alpha1.Suite, now time.Time) string {
	s := queue.SettlingOf(e, queue.BurstOf(e, own), now)
	if s == nil {
		return ""
	}
	return "Settling: " + queue.SettlingClause(*s, now) + "."
}

// summaryOf takes the runs of the Environment, newest first.
func summaryOf(e *v1alpha1.Environment, own []*v1alpha1.Suite, now time.Time) Summary {
	v := Summary{
		Name: e.Name, Namespace: e.Namespace, URL: view.DeployedAt(e.Spec.URL),
		Hold: holdOf(e, now), Settling: settlingOf(e, own, now), Problem: v1alpha1.ReadyProblem(e.Status.Conditions), Deployed: DeployedIn(e,
			own, now),
	}
	if e.Spec.Ephemeral != nil {
		v.Ephemeral, v.URL = true, view.DeployedAt(e.Spec.Ephemeral.DeploymentURL)
		v.Expires = view.TimeOf(e.Spec.Ephemeral.ExpiresAt.Time, now)
	}
	v.Runs = latestRuns(own, now)
	if s := view.LastDeployment(own); s != nil {
		v.Latest = new(view.RunOf(view.Subject{Suite: s}, now))
	}
	return v
}

func latestRuns(runs []*v1alpha1.Suite, now time.Time) []view.Row {
	var rows []view.Row
	seen := map[test]bool{}
	for _, s := range runs {
		if t := testOf(s); !seen[t] {
			seen[t], rows = true, append(rows, view.RowOf(s, 0, now))
		}
	}
	slices.SortFunc(rows, compareNames)
	return rows
}

// test is what has runs of its own.
type test struct{ trigger, service string }

func testOf(s *v1alpha1.Suite) test { return test{s.Spec.Trigger.Name, s.Spec.Deployment.Service} }

func compareNames(a, b view.Row) int { return cmp.Compare(a.Name(), b.Name()) }
