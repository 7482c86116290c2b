package controllers_test

import (
	"slices"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/codehost"
)

// TestFormerLeader: a leader that could not reach the API server comes back and still sees runs that go on. By then,
// another leader has shown their ends. The former one posts nothing more.
func TestFormerLeader(t *testing.T) {
	t.Parallel()
	var former *link
	w := newReportWorld(t, func(w *reportWorld) {
		former = newLink(w.config)
		w.gitHub.Fail(&codehost.Fault{Status: 503})
		w.gitLab.Fail(&codehost.Fault{Status: 503})
	})
	all := map[string]string{"smoke": commit(1), "token": commit(2), "lab": commit(3)} // by Trigger
	for trigger, sha := range all {
		w.create(aSuite(trigger, 0, of(trigger), tests(sha)))
		w.runs(trigger)
	}
	for trigger := range all {
		w.reports(trigger, v1alpha1.ReasonReportFailed, "failed (503)")
	}
	former.set(true, true)
	stopFormer := w.stop
	w.config = w.Manager(t)
	w.startManager()
	t.Cleanup(func() { former.set(false, false); stopFormer() })

	w.gitHub.Fail(nil)
	w.gitLab.Fail(nil)
	for trigger := range all {
		w.passes(trigger)
		w.reports(trigger, v1alpha1.ReasonPosted, "")
	}
	before := len(w.gitHub.Writes()) + len(w.gitLab.Writes())
	former.set(true, false)
	for trigger := range all {
		w.eventually("the former leader looks at "+trigger, func() string {
			if !former.read(trigger) {
				return "it does not"
			}
			return ""
		})
	}
	w.stop()
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
		w.create(aSuite(trigger, 0, of(trigger), tests(commit(len(trigger)))))
		w.runs(trigger)
	}
	w.reports("smoke", v1alpha1.ReasonPending, "has not ended")
	w.reports("token", v1alpha1.ReasonPending, "has not ended")
	w.reports("lab", v1alpha1.ReasonPending, "has not ended")
	w.stop()
	w.startManager()
	for _, trigger := range []string{"smoke", "token", "lab"} {
		w.passes(trigger)
		w.reports(trigger, v1alpha1.ReasonPosted, "")
	}
	if hub, lab := len(w.gitHub.Writes()), len(w.gitLab.Writes()); hub != 4 || lab != 2 {
		t.Errorf("%d and %d writes, want 4 and 2: %+v", hub, lab, w.gitHub.Writes())
	}
}
