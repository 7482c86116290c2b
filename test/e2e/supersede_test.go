package e2e

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// slowToStop is a test that keeps running and stops slowly, unless a variable of the notification makes it quick.
const slowToStop = `[ "$QUICK" ] && exit 0; trap "sleep 2; exit 1" TERM; sleep 600 & wait`

func grace(seconds int64) setting {
	return func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Spec.TerminationGracePeriodSeconds = &seconds
	}
}

func deploymentTypes(types ...string) setting {
	return func(t *v1alpha1.Trigger) { t.Spec.Match.DeploymentTypes = types }
}

func deploy(branch, kind string, quick bool) notification {
	n := notification{"branch": branch, "sha": sha()}
	if kind != "" {
		n["deployment_type"] = kind
	}
	if quick {
		n["variables"] = map[string]string{"QUICK": "yes"}
	}
	return n
}

// TestSuperseding deploys one branch three times in a row while runs of two other streams go on.
func TestSuperseding(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("shop", deploymentTypes("staging"), runs(slowToStop), grace(10))
	tm.trigger("nightly", deploymentTypes("nightly"), environment("production"), runs(slowToStop), grace(10))
	m := tm.sharedManager()

	bystanders := []string{
		tm.run(m, deploy("feature/cart", "staging", false)), // another branch
		tm.run(m, deploy("main", "nightly", false)),         // another Trigger and Environment
	}
	first := tm.run(m, deploy("main", "staging", false))
	for _, id := range append(bystanders, first) {
		tm.awaitPod(id)
	}
	story(t, "three runs go on, one of them of main on staging; main is deployed twice more")
	second := tm.run(m, deploy("main", "staging", false))
	third := tm.run(m, deploy("main", "staging", true))

	tm.awaitState(third, v1alpha1.ReasonPassed)
	for _, id := range []string{first, second} {
		s := tm.awaitState(id, v1alpha1.ReasonSuperseded)
		story(t, "%s %v: %s", id, tm.history(id).states, message(s))
		// The first one may have stopped before the third notification came.
		if by := s.Status.SupersededBy; by != third && (id != first || by != second) {
			t.Errorf("%s was superseded by %s, want %s", id, by, third)
		}
	}
	tm.checkOneAfterTheOther(first, second, third)
	for _, id := range bystanders {
		s, h := tm.suite(id), tm.history(id)
		story(t, "%s %v: %s", id, h.states, message(s))
		if s.State() != v1alpha1.ReasonRunning || len(h.pods) != 1 || len(tm.pods(id)) != 1 {
			t.Errorf("%s of another stream was disturbed: %s, %d pods: %s", id, s.State(), len(h.pods), message(s))
		}
	}
}

// TestSupersedingRunByRun lets each run get as far as a running pod before the next one comes.
func TestSupersedingRunByRun(t *testing.T) {
	tier.All(t, "TestSuperseding supersedes running pods, too")
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("shop", runs(slowToStop), grace(10))
	m := tm.sharedManager()

	var ids []string
	for i := range 3 {
		ids = append(ids, tm.run(m, deploy("main", "staging", i == 2)))
		if i < 2 {
			tm.awaitPod(ids[i])
		}
	}
	tm.awaitState(ids[2], v1alpha1.ReasonPassed)
	for i, id := range ids[:2] {
		s := tm.awaitState(id, v1alpha1.ReasonSuperseded)
		if !slices.Contains(ids[i+1:], s.Status.SupersededBy) {
			t.Errorf("%s was superseded by %q, which is not a newer run", id, s.Status.SupersededBy)
		}
	}
	tm.checkOneAfterTheOther(ids...)
}

// TestDeduplicationKey: the same deduplication_key puts two branches into one stream.
func TestDeduplicationKey(t *testing.T) {
	tier.All(t, "TestSuperseding supersedes running pods, too")
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("shop", runs(slowToStop), grace(10))
	m := tm.sharedManager()

	older, newer := deploy("one", "staging", false), deploy("two", "staging", true)
	older["deduplication_key"], newer["deduplication_key"] = "preview-7", "preview-7"
	first := tm.run(m, older)
	tm.awaitPod(first)
	second := tm.run(m, newer)
	tm.awaitState(second, v1alpha1.ReasonPassed)
	tm.awaitState(first, v1alpha1.ReasonSuperseded)
	tm.checkOneAfterTheOther(first, second)
}

// checkOneAfterTheOther compares when the pods of runs came and went, oldest run first: two runs of a
// stream never share the environment. The times are those of one watch, whose events are in order.
func (tm *team) checkOneAfterTheOther(ids ...string) {
	tm.t.Helper()
	for _, id := range ids[:len(ids)-1] {
		poll.True(tm.t, "the watch saw the end of the pods of "+id, func() bool { return !slices.Contains(slices.Collect(maps.Values(tm.history(id).pods)), false) })
	}
	var before string
	var gone time.Time
	for _, id := range ids {
		h := tm.history(id)
		if len(h.pods) == 0 {
			story(tm.t, "%s never had a pod", id)
			continue
		}
		if len(h.pods) > 1 || len(h.jobs) > 1 {
			tm.t.Errorf("%s had %d Jobs and %d pods", id, len(h.jobs), len(h.pods))
		}
		switch {
		case before == "":
		case gone.IsZero() || h.podSeen.Before(gone): // a pod starts after it is seen
			tm.t.Errorf("the pod of %s came at %s, that of %s was gone at %s", id, clock(h.podSeen), before, clock(gone))
		default:
			story(tm.t, "the pod of %s came %s after that of %s was gone", id, h.podSeen.Sub(gone).Round(time.Millisecond), before)
		}
		before, gone = id, h.podsStopped
	}
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "no time"
	}
	return t.Format("15:04:05.000")
}
