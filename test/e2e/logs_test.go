package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestStoppedRunsKeepTheirLogs reads the logs of runs that timed out, were canceled and were superseded, after
// their end. The tests get SIGTERM, and time to write what they have. One of them ignores it, and one would be
// started again by its Job.
func TestStoppedRunsKeepTheirLogs(t *testing.T) {
	tier.All(t, "it runs twelve pods, and TestLogsOutliveTheirPods reads the log of a stopped one")
	t.Parallel()
	c := useCluster(t)
	tm := newTeam(t, c)
	tm.trigger("polite", runs(polite), grace(60))
	tm.trigger("stubborn", runs(stubborn), grace(3))
	tm.trigger("repeated", runs(polite), grace(60), retries(3))
	tm.trigger("overdue", runs(polite), grace(60))
	m := tm.sharedManager()

	runsOf := func(branch string) map[string]string {
		ids := map[string]string{}
		for _, r := range tm.notify(m, notification{"branch": branch, "sha": branch + time.Now().String()}) {
			ids[r.Trigger] = r.Created
		}
		return ids
	}
	canceled, superseded := runsOf("canceled"), runsOf("superseded")
	for _, ids := range []map[string]string{canceled, superseded} {
		for _, id := range ids {
			tm.awaitLog(id, "busy")
		}
	}
	overdue := canceled["overdue"]
	for trigger, id := range canceled {
		if trigger != "overdue" {
			tm.patchSuite(id, `{"spec":{"cancel":true}}`)
		}
	}
	tm.shortenTimeout(overdue)
	tm.awaitState(overdue, v1alpha1.ReasonTimedOut)
	newest := runsOf("superseded")
	check := func(trigger, id, state string) {
		s := tm.awaitState(id, state)
		out, err := c.kubectl("logs", "-n", tm.name, "job/"+id)
		story(t, "%s %s: %s\n%s", trigger, state, message(s), out)
		want := "cleaning up\nclean"
		if trigger == "stubborn" {
			want = "busy"
		}
		if err != nil || !strings.HasSuffix(out, want) {
			t.Errorf("the log of %s, which ended as %s, is %q, %v, want it to end with %q", trigger, state, out, err, want)
		}
		if h := tm.history(id); len(h.pods) != 1 || len(h.jobs) != 1 {
			t.Errorf("%s had %d pods and %d Jobs, want one of each", trigger, len(h.pods), len(h.jobs))
		}
	}
	check("overdue", overdue, v1alpha1.ReasonTimedOut)
	for trigger := range newest {
		if trigger != "overdue" {
			check(trigger, canceled[trigger], v1alpha1.ReasonCanceled)
			check(trigger, superseded[trigger], v1alpha1.ReasonSuperseded)
			tm.awaitPod(newest[trigger])
			tm.checkOneAfterTheOther(superseded[trigger], newest[trigger])
		}
	}
}
