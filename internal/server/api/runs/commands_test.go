package runs_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/suites"
)

func command(id, verb string) *http.Request {
	return apitest.Keyed(http.MethodPost, apitest.RunsPath+"/"+id+"/"+verb, "ignored")
}

func TestCancelRun(t *testing.T) {
	canceled := func(r *httpapi.Run) { r.State = v1alpha1.ReasonCanceled }
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.ARun("going", 1, v1alpha1.Running("Tests.")), stored("passed", 1),
			stored("stopped", 1, func(s *v1alpha1.Suite) {
				s.Status.Conditions = []metav1.Condition{v1alpha1.Canceled("By ada.")}
			})),
		Config: apitest.WithArchive(&apitest.FakeArchive{Records: []record.Record{apitest.Archived("past", -1),
			apitest.Archived("past-stopped", -1, canceled)}}),
	})
	for id, want := range map[string]struct {
		status int
		code   string
		says   string
	}{
		"going":        {200, "", `"state":"Running"`},
		"stopped":      {200, "", `"state":"Canceled"`},
		"past-stopped": {200, "", `"state":"Canceled"`},
		"passed":       {409, "run_finished", "has ended already: Passed"},
		"past":         {409, "run_finished", "has ended already: Passed"},
	} {
		for range 2 {
			w := h.Exchange(command(id, "cancel"))
			if w.Code != want.status || !strings.Contains(w.Body.String(), want.says) || want.code != "" &&
				apitest.Decode[httpapi.Problem](t, w).FailureCode != want.code {
				t.Errorf("%s: status %d: %s", id, w.Code, w.Body)
			}
		}
	}
	for _, s := range h.Suites() {
		if by := s.Annotations[v1alpha1.AnnotationCanceledBy]; s.Name == "going" && by != "the API key pf-good-and-long" ||
			s.Spec.Cancel != (s.Name == "going") {
			t.Errorf("%s: cancel %v by %q", s.Name, s.Spec.Cancel, by)
		}
	}
	if log := h.Audit.String(); !strings.Contains(log, `"route":"/api/v0/runs/{id}/cancel"`) || !strings.Contains(log, `"suite":"going"`) {
		t.Errorf("the audit log lacks the run: %s", log)
	}
}

func TestRerunRun(t *testing.T) {
	failed := func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")} }
	going := apitest.ARun("going", 1, v1alpha1.Running("Tests."))
	going.Spec.SupersedeKey = "other/staging"
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.Trigger("smoke"), stored("ended", 1, failed), going),
		Config:  apitest.WithArchive(&apitest.FakeArchive{Records: []record.Record{apitest.Archived("past", -1)}}),
	})
	first := h.Exchange(command("ended", "rerun"))
	again := h.Exchange(command("ended", "rerun"))
	if first.Code != http.StatusCreated || again.Code != http.StatusOK {
		t.Fatalf("status %d and %d, want 201 and 200: %s", first.Code, again.Code, again.Body)
	}
	if a, b := apitest.Decode[httpapi.Run](t, first), apitest.Decode[httpapi.Run](t, again); a.ID != b.ID || a.Attempt != 2 ||
		a.ID == "ended" {
		t.Errorf("%s and %s, attempt %d", a.ID, b.ID, a.Attempt)
	}
	for id, code := range map[string]string{"going": "run_unfinished", "past": "refused"} {
		if w := h.Exchange(command(id, "rerun")); w.Code != http.StatusConflict || apitest.Decode[httpapi.Problem](t, w).FailureCode != code {
			t.Errorf("%s: status %d: %s", id, w.Code, w.Body)
		}
	}
}

func TestRerunFailed(t *testing.T) {
	failed := func(s *v1alpha1.Suite) {
		s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")}
		s.Status.Results = &v1alpha1.TestResults{Tests: 120, Passed: 117, Failed: 3, OnlyTestsFailed: true}
	}
	crashed := func(s *v1alpha1.Suite) {
		failed(s)
		s.Status.Results.OnlyTestsFailed = false
	}
	smoke, visual := apitest.Trigger("smoke"), apitest.Trigger("visual")
	smoke.UID, smoke.Spec.Results = "uid-smoke", &v1alpha1.Results{MinTests: 120}
	visual.UID, visual.Spec.Results = "uid-visual", &v1alpha1.Results{}
	of := func(t *v1alpha1.Trigger) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) {
			s.Spec.Trigger, s.Spec.Deployment.SHA = v1alpha1.TriggerReference{Name: t.Name, UID: t.UID}, "5ca1ab1e"
		}
	}
	ended, endless := stored("ended", 1, failed, of(smoke)), stored("endless", 1, failed, of(visual))
	staging := apitest.EnvironmentNamed("staging")
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(smoke, visual, ended, endless, suites.JobOf(ended, smoke, staging),
		suites.JobOf(endless, visual, staging), stored("crashed", 1, crashed, of(smoke)), stored("passed", 1, of(smoke)))})
	h.Validate = true
	first := h.Exchange(command("ended", "rerun?failed=true"))
	again := h.Exchange(command("ended", "rerun?failed=true"))
	if first.Code != http.StatusCreated || again.Code != http.StatusOK {
		t.Fatalf("status %d and %d, want 201 and 200: %s", first.Code, again.Code, again.Body)
	}
	if run := apitest.Decode[httpapi.Run](t, first); run.OnlyFailedOf != "ended" || run.Attempt != 2 ||
		run.ID != apitest.Decode[httpapi.Run](t, again).ID {
		t.Errorf("%+v", run)
	}
	for path, want := range map[string]struct {
		status     int
		code, says string
	}{
		"ended/rerun":               {409, "refused", "repeats only the failed tests of ended"},
		"ended/rerun?failed=1":      {400, "invalid_request", "Send failed as true or false."},
		"crashed/rerun?failed=true": {409, "refused", "More than tests failed"},
		"passed/rerun?failed=true":  {409, "refused", "it passed"},
		"endless/rerun?failed=true": {409, "refused", "Set results.minTests of the Trigger"},
	} {
		id, verb, _ := strings.Cut(path, "/")
		if w := h.Exchange(command(id, verb)); w.Code != want.status || apitest.Decode[httpapi.Problem](t, w).FailureCode != want.code ||
			!strings.Contains(w.Body.String(), want.says) {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
}
