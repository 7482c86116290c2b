package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// The ways in which one deployment arrives. A workload makes its notification again until all Triggers have theirs, and code hosts and
// people repeat theirs, too.
const (
	byCI       = "CI"
	byEvent    = "event"
	byWorkload = "workload"
)

// orders are all sequences of ways of a length, in which a way may occur again, or not at all.
func orders(length int) [][]string {
	if length == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for _, before := range orders(length - 1) {
		for _, way := range []string{byCI, byEvent, byWorkload} {
			all = append(all, append(slices.Clone(before), way))
		}
	}
	return all
}

// TestEachWayOneRun plays a deployment of A, one of B and a rollback to A, each of which arrives in several ways, in every order, at this
// replica or at one that knows no run yet, while runs continue or after they passed. A commit that is new gets one run. The rollback gets
// one if A has no result, if the Trigger tests deployments, or if a workload reports it, and none else.
func TestEachWayOneRun(t *testing.T) {
	for _, policy := range []v1alpha1.DuplicatePolicy{v1alpha1.DuplicatesCommit, v1alpha1.DuplicatesDeployment} {
		for _, end := range []string{"", "Passed"} {
			for i, ways := range orders(3) {
				t.Run(fmt.Sprintf("%s/%s/%s", policy, end, strings.Join(ways, ",")), func(t *testing.T) {
					h := start(t, setup{objects: acme(trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Duplicates = policy }))})
					m := &arrivals{harness: h, elsewhere: i%2 == 1, end: end}
					rollback := end == "" || policy == v1alpha1.DuplicatesDeployment || slices.Contains(ways, byWorkload)
					for _, d := range []struct {
						commit string
						want   int
					}{{"a", 1}, {"b", 1}, {"a", map[bool]int{true: 1}[rollback]}} {
						if got := m.deploy(d.commit, ways); got != d.want {
							t.Fatalf("the deployment of %s started %d runs, want %d: %v", d.commit, got, d.want, m.story)
						}
					}
				})
			}
		}
	}
}

type arrivals struct {
	*harness
	elsewhere bool   // arrivals after the first are at a replica whose cache is behind
	end       string // of each run, before the next arrival
	minute    int
	story     []string
}

// deploy returns how many runs a deployment starts.
func (a *arrivals) deploy(commit string, ways []string) (created int) {
	a.minute++
	a.clock.SetTime(noon.Add(time.Duration(a.minute) * time.Minute))
	since, rollout := a.minute, func(*Request) {}
	if slices.Contains(ways, byWorkload) {
		rollout = a.rolledOut(whole(commit))
	}
	for i, way := range ways {
		at := a.harness
		if a.elsewhere && i > 0 {
			at = a.harness.elsewhere()
		}
		result := at.notify(bodies[way](commit), func(r *Request) {
			switch way {
			case byWorkload:
				rollout(r)
			case byEvent:
				r.Origin, r.IdempotencyKey = FromEvent(time.Time{}), fmt.Sprint("delivery of ", since)
			case byCI:
				r.IdempotencyKey = fmt.Sprint("pipeline of ", since)
			}
		}).Triggers[0]
		a.story = append(a.story, way+" "+commit+" "+letter(result))
		if result.Decision == Created {
			created++
		}
		a.finish(result.SuiteID, "", a.end)
		a.minute++
		a.clock.Step(time.Minute)
	}
	return created
}

// bodies are what the ways know of a deployment.
var bodies = map[string]func(commit string) string{
	byCI: func(commit string) string { return `{"sha":"` + whole(commit) + `","branch":"main"}` },
	byEvent: func(commit string) string {
		return `{"sha":"` + whole(commit) + `","branch":"main","repository":"acme/shop"}`
	},
	byWorkload: func(commit string) string { return `{"sha":"` + whole(commit) + `"}` },
}

// whole is a whole SHA, which is the same commit whether or not its repository is named.
func whole(letter string) string { return strings.Repeat(letter, 40) }

// TestEventAfterCI: what an event does not say is no other deployment than that of CI. What CI says after an event may be.
func TestEventAfterCI(t *testing.T) {
	const ci = `{"sha":"a","deployment_url":"https://blue.example.com","variables":{"REGION":"eu"}}`
	event := func(r *Request) { r.Origin = FromEvent(time.Time{}) }
	anyone := func(*Request) {}
	for name, tc := range map[string]struct {
		first, second string
		how, then     func(*Request)
		want          string
	}{
		"without a URL":     {ci, `{"sha":"a"}`, anyone, event, "cd"},
		"with the same URL": {ci, `{"sha":"a","deployment_url":"https://blue.example.com"}`, anyone, event, "cd"},
		"with another URL":  {ci, `{"sha":"a","deployment_url":"https://green.example.com"}`, anyone, event, "cc"},
		"before CI":         {`{"sha":"a"}`, ci, event, anyone, "cc"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Duplicates = v1alpha1.DuplicatesDeployment }))})
			got := letter(h.notify(tc.first, tc.how).Triggers[0])
			h.clock.Step(time.Minute)
			if got += letter(h.notify(tc.second, tc.then).Triggers[0]); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// TestEventsInTheWrongOrder: whatever the order in which events arrive, the run of the later deployment is the newest of its stream.
func TestEventsInTheWrongOrder(t *testing.T) {
	for name, tc := range map[string]struct{ first, second string }{"in order": {"a", "b"}, "late": {"b", "a"}} {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke"))})
			at := map[string]time.Time{"a": h.clock.Now().Add(-40 * time.Second), "b": h.clock.Now().Add(-20 * time.Second)}
			for _, commit := range []string{tc.first, tc.second} {
				h.notify(bodies[byEvent](commit), func(r *Request) { r.Origin = FromEvent(at[commit]) })
			}
			for _, s := range h.suites() {
				commit := s.Spec.Deployment.SHA[:1]
				if got := s.DeployedAt().Time; !got.Equal(at[commit]) || !s.Spec.ReceivedAt.Time.Equal(h.clock.Now()) {
					t.Errorf("%s of %s is ordered at %s, want %s", s.Name, commit, got, at[commit])
				}
			}
		})
	}
	h := start(t, setup{objects: acme(trigger("smoke"))})
	h.notify(bodies[byEvent]("a"), func(r *Request) { r.Origin = FromEvent(h.clock.Now().Add(time.Hour)) })
	if got := h.suites()[0].DeployedAt().Time; got.After(h.clock.Now()) {
		t.Errorf("a clock that is wrong makes a run newer than all others: %s", got)
	}
}
