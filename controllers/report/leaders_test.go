package report_test

import (
	"slices"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestFormerLeader: a leader that could not reach the API server comes back and still sees runs that go on. By then,
// another leader has shown their ends. The former one posts nothing more.
func TestFormerLeader(t *testing.T) {
	t.Parallel()
	var former *link
	w := newReportWorld(t, func(w *reportWorld) {
		former = newLink(w.ManagerConfig)
		w.gitHub.Fail(&codehost.Fault{Status: 503})
		w.gitLab.Fail(&codehost.Fault{Status: 503})
	})
	all := map[string]string{"smoke": build.Commit(1), "token": build.Commit(2), "lab": build.Commit(3)} // by Trigger
	for trigger, sha := range all {
		w.Start(build.Suite(trigger, 0, build.OfTrigger(trigger), tests(sha)))
	}
	for trigger := range all {
		w.reports(trigger, v1alpha1.ReasonReportFailed, "failed (503)")
	}
	former.set(true, true)
	stopFormer := w.Stop
	w.ManagerConfig = w.Manager(t)
	w.StartManager()
	t.Cleanup(func() { former.set(false, false); stopFormer() })

	w.gitHub.Fail(nil)
	w.gitLab.Fail(nil)
	for trigger := range all {
		w.Passes(trigger)
		w.reports(trigger, v1alpha1.ReasonPosted, "")
	}
	before := len(w.gitHub.Writes()) + len(w.gitLab.Writes())
	former.set(true, false)
	for trigger := range all {
		poll.True(t, "the former leader looks at "+trigger, func() bool { return former.read(trigger) })
	}
	w.Stop()
	former.set(false, false)
	stopFormer()
	if after := len(w.gitHub.Writes()) + len(w.gitLab.Writes()); after != before {
		t.Errorf("the former leader has written %d times", after-before)
	}
	for trigger, host := range map[string]*codehost.Host{"smoke": w.gitHub, "token": w.gitHub, "lab": w.gitLab} {
		if states := host.States(all[trigger]); states[len(states)-1] != "success" || slices.Index(states, "success") != len(states)-1 {
			t.Errorf("%s shows %q", trigger, states)
		}
	}
}

// TestAnotherLeader: a leader that follows another one posts what is missing, and nothing twice.
func TestAnotherLeader(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t)
	for _, trigger := range []string{"smoke", "token", "lab"} {
		w.Start(build.Suite(trigger, 0, build.OfTrigger(trigger), tests(build.Commit(len(trigger)))))
	}
	w.reports("smoke", v1alpha1.ReasonPending, "has not ended")
	w.reports("token", v1alpha1.ReasonPending, "has not ended")
	w.reports("lab", v1alpha1.ReasonPending, "has not ended")
	w.Stop()
	w.StartManager()
	for _, trigger := range []string{"smoke", "token", "lab"} {
		w.Passes(trigger)
		w.reports(trigger, v1alpha1.ReasonPosted, "")
	}
	if hub, lab := len(w.gitHub.Writes()), len(w.gitLab.Writes()); hub != 4 || lab != 2 {
		t.Errorf("%d and %d writes, want 4 and 2: %+v", hub, lab, w.gitHub.Writes())
	}
}
