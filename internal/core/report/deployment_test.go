package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

func TestDeploymentOf(t *testing.T) {
	passed, running, wrong := in(v1alpha1.Passed("ok")), in(v1alpha1.Running("")), in(v1alpha1.Failed("exit 1"))
	elsewhere := func(s *v1alpha1.Suite) { s.Spec.Environment = "production" }
	commit := func(digit string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = strings.Repeat(digit, 40) }
	}
	notAsking := func(r report.Run) report.Run { r.Trigger = aTrigger(); return r }
	cases := map[string]struct {
		self   report.Run
		others []report.Run
		state  string
		says   string
		older  bool
	}{
		"a run that goes on":              {self: named("a", "smoke", 0, running), state: v1alpha1.ReasonRunning, says: "smoke: The tests are running"},
		"a run that starts":               {self: named("a", "smoke", 0, in(v1alpha1.Starting(""))), state: v1alpha1.ReasonRunning, says: "smoke: The tests are running"},
		"a run that passed":               {self: named("a", "smoke", 0, passed), state: v1alpha1.ReasonPassed, says: "smoke: Passed: ok."},
		"a run that was stopped":          {self: named("a", "smoke", 0, in(v1alpha1.Canceled("by @jo"))), state: v1alpha1.ReasonCanceled, says: "smoke: Canceled: by (at)jo."},
		"all have to pass":                {self: named("a", "smoke", 0, passed), others: []report.Run{named("b", "e2e", 0, running)}, state: v1alpha1.ReasonRunning, says: "e2e: The tests are running"},
		"one that waits has to pass too":  {self: named("a", "smoke", 0, passed), others: []report.Run{named("b", "e2e", 0, in(v1alpha1.Queued("")))}, state: v1alpha1.ReasonRunning, says: "e2e: Queued"},
		"one failure is enough":           {self: named("a", "smoke", 0, passed), others: []report.Run{named("b", "e2e", 0, wrong), named("c", "load", 0, running)}, state: v1alpha1.ReasonFailed, says: "e2e: Failed: exit 1."},
		"the newest attempt counts":       {self: named("a", "smoke", 0, passed), others: []report.Run{named("b", "e2e", 0, wrong), named("c", "e2e", 1, passed)}, state: v1alpha1.ReasonPassed, says: "e2e: Passed: ok."},
		"an error is worse than a stop":   {self: named("a", "smoke", 0, in(v1alpha1.Superseded("by b"))), others: []report.Run{named("b", "e2e", 0, in(v1alpha1.Error("no image")))}, state: v1alpha1.ReasonError, says: "e2e: Could not run: no image."},
		"an error is worse than a cancel": {self: named("a", "a", 0, in(v1alpha1.Canceled("by jo"))), others: []report.Run{named("b", "b", 0, in(v1alpha1.Error("no image")))}, state: v1alpha1.ReasonError, says: "b: Could not run: no image."},
		"another Environment":             {self: named("a", "smoke", 0, passed), others: []report.Run{named("b", "e2e", 0, wrong, elsewhere)}, state: v1alpha1.ReasonPassed, says: "smoke: Passed: ok."},
		"a Trigger that does not ask":     {self: named("a", "smoke", 0, passed), others: []report.Run{notAsking(named("b", "e2e", 0, wrong))}, state: v1alpha1.ReasonPassed, says: "smoke: Passed: ok."},
		"a Trigger that is gone":          {self: named("a", "smoke", 0, passed), others: []report.Run{{Suite: named("b", "e2e", 0, wrong).Suite}}, state: v1alpha1.ReasonPassed, says: "smoke: Passed: ok."},
		"another service":                 {self: named("a", "smoke", 0, passed), others: []report.Run{named("b", "smoke", 1, wrong, ofService("cart"))}, state: v1alpha1.ReasonFailed, says: "smoke cart: Failed: exit 1."},
		"a later commit of another one":   {self: named("a", "smoke", 0, passed, ofService("cart")), others: []report.Run{named("b", "smoke", 1, running, commit("b"), ofService("mail"))}, state: v1alpha1.ReasonPassed, says: "smoke cart: Passed: ok."},
		"an earlier commit":               {self: named("a", "smoke", 1, passed), others: []report.Run{named("b", "smoke", 0, wrong, commit("a"))}, state: v1alpha1.ReasonPassed, says: "smoke: Passed: ok."},
		"a schedule of another commit":    {self: named("a", "smoke", 0, passed), others: []report.Run{named("b", "smoke", 1, running, commit("b"), scheduled)}, state: v1alpha1.ReasonPassed, says: "smoke: Passed: ok."},
		"a later commit":                  {self: named("a", "smoke", 0, passed), others: []report.Run{named("b", "smoke", 1, running, commit("b"))}, state: v1alpha1.ReasonPassed, says: "smoke: Passed: ok.", older: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, id := report.DeploymentOf(tc.self, tc.others, report.Options{})
			want := report.Deployment{Environment: "staging", URL: "https://staging.example.com", State: tc.state, Description: tc.says, Newest: !tc.older}
			if diff := cmp.Diff(want, d); diff != "" || id != 0 {
				t.Errorf("got the number %d and (-want +got):\n%s", id, diff)
			}
		})
	}
}

func ofService(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = name }
}

func scheduled(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-20T03:00:00Z"}
}

func TestDeploymentIsShared(t *testing.T) {
	known := named("b", "e2e", 0, in(v1alpha1.Running("")), shown(v1alpha1.ReportInProgress))
	d, id := report.DeploymentOf(named("a", "smoke", 0, in(v1alpha1.Passed(""))), []report.Run{known}, report.Options{PublicURL: "https://ci.example.com"})
	if id != 3 || d.LogURL != "https://ci.example.com/runs/acme/b" {
		t.Errorf("got the number %d and %+v", id, d)
	}
}

// TestDeploymentOfAnEarlierAttempt: the end of an attempt that never started is shown in the deployment of the one before
// it, which would stay in progress for ever.
func TestDeploymentOfAnEarlierAttempt(t *testing.T) {
	before := named("b", "smoke", 0, in(v1alpha1.Canceled("by jo")), shown(v1alpha1.ReportInProgress), func(s *v1alpha1.Suite) {
		s.Status.Report.Repository = "Acme/Shop" // as the Trigger spelled it then
	})
	elsewhere := named("c", "smoke", 0, shown(v1alpha1.ReportInProgress), func(s *v1alpha1.Suite) {
		s.Spec.Environment, s.Status.Report.Deployment.ID = "production", 9
	})
	moved := named("d", "smoke", 0, shown(v1alpha1.ReportInProgress), func(s *v1alpha1.Suite) {
		s.Status.Report.Repository, s.Status.Report.Deployment.ID = "acme/other", 9
	})
	d, id := report.DeploymentOf(named("a", "smoke", 1, in(v1alpha1.Canceled("by jo"))), []report.Run{before, elsewhere, moved}, report.Options{})
	if id != 3 || d.State != v1alpha1.ReasonCanceled {
		t.Errorf("got the number %d and %+v", id, d)
	}
}

func TestDeploymentURL(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", "https://a.example.com/x?y=z": "https://a.example.com/x?y=z", "http://a.example.com": "http://a.example.com",
		"javascript:alert(1)": "", "ftp://a.example.com": "", "//a.example.com": "", "https://github.com@evil.example.com": "", "staging": "", "https://": "", "\x00": "",
	} {
		self := named("a", "smoke", 0, in(v1alpha1.Passed("")), func(s *v1alpha1.Suite) { s.Spec.Deployment.URL = raw })
		if d, _ := report.DeploymentOf(self, nil, report.Options{}); d.URL != want {
			t.Errorf("%q: got %q", raw, d.URL)
		}
	}
}
