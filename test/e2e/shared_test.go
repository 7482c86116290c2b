package e2e

import (
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestSharedEnvironment deploys three branches to one Environment, which two Triggers test. The runs of
// what was deployed before are stopped, and those of the last deployment take turns.
func TestSharedEnvironment(t *testing.T) {
	tier.All(t, "it runs six pods one after the other, and who comes next is decided in internal/core/run/queue")
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.book("staging")
	shared := func(t *v1alpha1.Trigger) { t.Spec.Supersede = v1alpha1.SupersedeEnvironment }
	tm.trigger("checkout", shared, runs(slowToStop), grace(10))
	tm.trigger("shop", shared, runs(slowToStop), grace(10))
	m := runManager(t, c, options{})

	first := tm.ids(m, deploy("main", "", false))
	tm.awaitOnePod(first)
	second := tm.ids(m, deploy("feature/cart", "", false))
	third := tm.ids(m, deploy("feature/pay", "", true))
	for _, id := range third {
		tm.awaitState(id, v1alpha1.ReasonPassed)
	}
	for _, id := range append(first, second...) {
		s := tm.awaitState(id, v1alpha1.ReasonSuperseded)
		story(t, "%s %v: %s", id, tm.history(id).states, message(s))
	}
	byPod := func(a, b string) int { return tm.history(a).podSeen.Compare(tm.history(b).podSeen) }
	slices.SortFunc(third, byPod)
	older := slices.SortedFunc(slices.Values(slices.Concat(first, second)), byPod)
	tm.checkOneAfterTheOther(append(older, third[0])...)
	tm.checkTurns(third[0], third[1])
}

// checkTurns compares the pods of two runs that passed, and are still there: the second came only when
// the tests of the first had ended. Both times are in whole seconds.
func (tm *team) checkTurns(first, second string) {
	tm.t.Helper()
	one, other := tm.pods(first), tm.pods(second)
	if len(one) != 1 || len(other) != 1 || one[0].Status.ContainerStatuses[0].State.Terminated == nil {
		tm.t.Fatalf("%s has %d pods and %s %d, want one each that has ended", first, len(one), second, len(other))
	}
	ended, came := one[0].Status.ContainerStatuses[0].State.Terminated.FinishedAt, other[0].CreationTimestamp
	if came.Time.Before(ended.Time) {
		tm.t.Errorf("the pod of %s came at %s, and the tests of %s ended at %s", second, came, first, ended)
	}
}

// ids are the runs that a notification creates.
func (tm *team) ids(m *manager, n notification) []string {
	tm.t.Helper()
	results := tm.notify(m, n)
	if len(results) != 2 || results[0].Created == "" || results[1].Created == "" {
		tm.t.Fatalf("%+v, want two runs", results)
	}
	return []string{results[0].Created, results[1].Created}
}

// awaitOnePod waits for the pod of any of the runs.
func (tm *team) awaitOnePod(ids []string) {
	tm.t.Helper()
	hasPod := func(id string) bool { return len(tm.history(id).pods) > 0 }
	poll.True(tm.t, fmt.Sprintf("one of %v has a pod", ids), func() bool { return slices.ContainsFunc(ids, hasPod) })
}

// book limits an Environment to one run at a time.
func (tm *team) book(environment string) {
	tm.t.Helper()
	e := &v1alpha1.Environment{ObjectMeta: tm.meta(environment)}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"maxConcurrentSuites":1}}`))
	if err := tm.Patch(tm.t.Context(), e, patch); err != nil {
		tm.t.Fatal(err)
	}
}
