package e2e

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestKillAfterAnswer kills the manager right after it has answered, and again and again while the run
// goes on: an acknowledged notification is never lost, and runs once.
func TestKillAfterAnswer(t *testing.T) {
	tier.All(t, "it kills the manager again and again, and TestKillAtEachStep once")
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("passes", runs("sleep 6; echo fine"))
	tm.trigger("fails", runs("sleep 6; exit 7"))
	m := runManager(t, c, options{})

	results := tm.notify(m, notification{"branch": "main", "sha": sha()})
	m.kill()
	story(t, "the manager answered with %d Suites and was killed", len(results))
	for range 3 {
		m.restart()
		time.Sleep(time.Second)
	}
	m.kill()
	time.Sleep(2 * time.Second)
	m.start()

	got := map[string]string{}
	for _, r := range results {
		got[r.Trigger] = tm.awaitEnd(r.Created).State()
		h := tm.history(r.Created)
		story(t, "%s went %v", r.Created, h.states)
		if len(h.jobs) != 1 || len(h.pods) != 1 {
			t.Errorf("%s had %d Jobs and %d pods, want 1 of each", r.Created, len(h.jobs), len(h.pods))
		}
	}
	want := map[string]string{"passes": v1alpha1.ReasonPassed, "fails": v1alpha1.ReasonFailed}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ends: -want, +got:\n%s", diff)
	}
}

// TestManagerAwayAtTheEnd lets the run end while no manager is there to see it.
func TestManagerAwayAtTheEnd(t *testing.T) {
	tier.All(t, "TestKillAtEachStep is without a manager, too")
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("exits", runs("sleep 2; echo 2 of 5 failed >/dev/termination-log; exit 5"))
	m := runManager(t, c, options{})

	id := tm.run(m, notification{"branch": "main", "sha": sha()})
	tm.awaitPod(id)
	m.kill()
	poll.True(t, "the Job has failed", func() bool {
		jobs := tm.jobs()
		return len(jobs) == 1 && jobs[0].Status.Failed == 1
	})
	story(t, "the Job has failed while no manager ran; starting one")
	m.start()
	s := tm.awaitState(id, v1alpha1.ReasonFailed)
	story(t, "%s", message(s))
}
