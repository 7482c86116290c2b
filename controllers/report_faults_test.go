package controllers_test

import (
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/codehost"
)

// TestFaultsOfCodeHosts: whatever a host answers, runs go on, and the last state arrives once the host has recovered.
func TestFaultsOfCodeHosts(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]codehost.Fault{
		"fails":            {Status: 500},
		"asks to wait":     {Status: 403, Header: map[string]string{"Retry-After": "2"}},
		"is too busy":      {Status: 429, Header: map[string]string{"Retry-After": "1"}},
		"conflicts":        {Status: 409},
		"rejects":          {Status: 422, Body: `{"message":"Validation Failed"}`},
		"loses its answer": {Status: 502, Handled: true},
		"hangs":            {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newReportWorld(t)
			w.gitHub.Fail(&fault)
			w.gitLab.Fail(&fault)
			w.create(aSuite("hub", 0, tests(commit(1))), aSuite("lab", 1, of("lab"), tests(commit(2))))
			w.runs("hub")
			w.runs("lab")
			w.eventually("both hosts are asked", func() string {
				if len(w.gitHub.Requests()) == 0 || len(w.gitLab.Requests()) == 0 {
					return "they are not"
				}
				return ""
			})
			if fault.Status == 422 {
				w.reports("hub", v1alpha1.ReasonReportFailed, "GitHub does not accept the check (422 Validation Failed)")
				w.reports("lab", v1alpha1.ReasonReportFailed, "GitLab does not accept the check (422")
				w.gitHub.Fail(nil) // the next phase is another request
				w.gitLab.Fail(nil)
			}
			began := time.Now()
			w.passes("hub")
			w.passes("lab")
			w.reaches("hub", v1alpha1.ReasonPassed, "")
			w.reaches("lab", v1alpha1.ReasonPassed, "")
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the ends of the runs took %s", took)
			}
			w.gitHub.Fail(nil)
			w.gitLab.Fail(nil)
			w.reports("hub", v1alpha1.ReasonPosted, "")
			w.reports("lab", v1alpha1.ReasonPosted, "")
			for host, sha := range map[*codehost.Host]string{w.gitHub: commit(1), w.gitLab: commit(2)} {
				states := host.States(sha)
				if len(states) == 0 || len(states) > 3 || states[len(states)-1] != "success" {
					t.Errorf("the host shows %q", states)
				}
			}
			if runs := w.gitHub.CheckRuns(commit(1)); runs["completed"] != 1 || len(runs) != 1 {
				t.Errorf("check runs: %v", runs)
			}
		})
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
	w.reports("smoke", v1alpha1.ReasonPending, "goes on")
	w.reports("token", v1alpha1.ReasonPending, "goes on")
	w.reports("lab", v1alpha1.ReasonPending, "goes on")
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
