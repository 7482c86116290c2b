package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

const terminatedPath = "/api/webhooks/environment_terminated"

func command(id, verb string) *http.Request {
	return keyed(http.MethodPost, runsPath+"/"+id+"/"+verb, "ignored")
}

func TestCancelRun(t *testing.T) {
	canceled := func(r *httpapi.Run) { r.State = v1alpha1.ReasonCanceled }
	h := start(t, setup{
		objects: acme(aRun("going", 1, v1alpha1.Running("Tests.")), stored("passed", 1), stored("stopped", 1, func(s *v1alpha1.Suite) {
			s.Status.Conditions = []metav1.Condition{v1alpha1.Canceled("By ada.")}
		})),
		config: withArchive(&fakeArchive{records: []record.Record{archived("past", -1), archived("past-stopped", -1, canceled)}}),
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
			w := h.exchange(command(id, "cancel"))
			if w.Code != want.status || !strings.Contains(w.Body.String(), want.says) || want.code != "" && decode[problem](t, w).FailureCode != want.code {
				t.Errorf("%s: status %d: %s", id, w.Code, w.Body)
			}
		}
	}
	for _, s := range h.suites() {
		if by := s.Annotations[v1alpha1.AnnotationCanceledBy]; s.Name == "going" && by != "the API key pf-good-and-long" || s.Spec.Cancel != (s.Name == "going") {
			t.Errorf("%s: cancel %v by %q", s.Name, s.Spec.Cancel, by)
		}
	}
	if log := h.audit.String(); !strings.Contains(log, `"route":"/api/v0/runs/{id}/cancel"`) || !strings.Contains(log, `"suite":"going"`) {
		t.Errorf("the audit log lacks the run: %s", log)
	}
}

func TestRerunRun(t *testing.T) {
	failed := func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")} }
	going := aRun("going", 1, v1alpha1.Running("Tests."))
	going.Spec.SupersedeKey = "other/staging"
	h := start(t, setup{
		objects: acme(trigger("smoke"), stored("ended", 1, failed), going),
		config:  withArchive(&fakeArchive{records: []record.Record{archived("past", -1)}}),
	})
	first := h.exchange(command("ended", "rerun"))
	again := h.exchange(command("ended", "rerun"))
	if first.Code != http.StatusCreated || again.Code != http.StatusOK {
		t.Fatalf("status %d and %d, want 201 and 200: %s", first.Code, again.Code, again.Body)
	}
	if a, b := decode[httpapi.Run](t, first), decode[httpapi.Run](t, again); a.ID != b.ID || a.Attempt != 2 || a.ID == "ended" {
		t.Errorf("%s and %s, attempt %d", a.ID, b.ID, a.Attempt)
	}
	for id, code := range map[string]string{"going": "run_unfinished", "past": "refused"} {
		if w := h.exchange(command(id, "rerun")); w.Code != http.StatusConflict || decode[problem](t, w).FailureCode != code {
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
	smoke := trigger("smoke")
	smoke.UID = "uid-smoke"
	ofTrigger := func(s *v1alpha1.Suite) { s.Spec.Trigger.UID, s.Spec.Deployment.SHA = smoke.UID, "5ca1ab1e" }
	h := start(t, setup{objects: acme(smoke, stored("ended", 1, failed, ofTrigger), stored("crashed", 1, crashed, ofTrigger), stored("passed", 1, ofTrigger))})
	h.validate = true
	first := h.exchange(command("ended", "rerun?failed=true"))
	again := h.exchange(command("ended", "rerun?failed=true"))
	if first.Code != http.StatusCreated || again.Code != http.StatusOK {
		t.Fatalf("status %d and %d, want 201 and 200: %s", first.Code, again.Code, again.Body)
	}
	if run := decode[httpapi.Run](t, first); run.OnlyFailedOf != "ended" || run.Attempt != 2 || run.ID != decode[httpapi.Run](t, again).ID {
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
	} {
		id, verb, _ := strings.Cut(path, "/")
		if w := h.exchange(command(id, verb)); w.Code != want.status || decode[problem](t, w).FailureCode != want.code || !strings.Contains(w.Body.String(), want.says) {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
}

func terminated(body string) *http.Request {
	r := keyed(http.MethodPost, terminatedPath, body)
	r.Header.Set("Content-Type", "application/json")
	return r
}

func TestEnvironmentTerminated(t *testing.T) {
	static := environmentNamed("staging")
	static.UID = "uid-staging"
	preview := suite.EphemeralEnvironment(static, "https://pr-7.example.com", noon.Add(time.Hour))
	h := start(t, setup{objects: acme(preview, aRun("going", 1, v1alpha1.Running("Tests.")), aRun("in-preview", 1, v1alpha1.Running("Tests.")))})
	h.validate = true
	var going v1alpha1.Suite
	for _, s := range h.suites() {
		if s.Name == "in-preview" {
			going = s
		}
	}
	going.Spec.Environment = preview.Name
	if err := h.cluster.Update(t.Context(), &going); err != nil {
		t.Fatal(err)
	}
	want := httpapi.TerminationResult{EnvironmentID: "uid-" + preview.Name, Results: []httpapi.Terminated{
		{EnvironmentID: "uid-" + preview.Name, EnvironmentAlias: preview.Name, Code: "terminated", Runs: []string{"in-preview"}},
	}}
	for _, body := range []string{
		`{"deploymentUrl":"https://pr-7.example.com"}`, `{"deployment_url":"https://pr-7.example.com"}`, `{"environmentId":"uid-` + preview.Name + `"}`, `{"environmentAlias":"` + preview.Name + `"}`,
	} {
		w := h.exchange(terminated(body))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", body, w.Code, w.Body)
		}
		if diff := cmp.Diff(want, decode[httpapi.TerminationResult](t, w)); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	made := h.environments()[preview.Name]
	if made.Spec.Ephemeral.ExpiresAt.After(noon) || made.Annotations[v1alpha1.AnnotationTerminatedBy] != "the API key pf-good-and-long" {
		t.Errorf("it expires at %s: %v", made.Spec.Ephemeral.ExpiresAt, made.Annotations)
	}
	if log := h.audit.String(); !strings.Contains(log, `"environment":"`+preview.Name+`"`) || !strings.Contains(log, `"in-preview"`) {
		t.Errorf("the audit log lacks what was terminated: %s", log)
	}
}

func TestBadTerminations(t *testing.T) {
	h := start(t, setup{objects: acme()})
	for body, want := range map[string]struct {
		status int
		code   string
	}{
		`{"environmentAlias":"staging"}`:            {409, "environment_static"},
		`{"environmentAlias":"unknown"}`:            {404, "environment_not_found"},
		`{"deploymentUrl":"https://x.example.com"}`: {404, "environment_not_found"},
		`{}`:                         {400, "invalid_body"},
		`{"deploymentUrl":7}`:        {400, "invalid_body"},
		`not JSON`:                   {400, "invalid_body"},
		strings.Repeat(" ", 300<<10): {413, "body_too_large"},
	} {
		w := h.exchange(terminated(body))
		if w.Code != want.status || decode[problem](t, w).FailureCode != want.code {
			t.Errorf("%.60s: status %d: %s", body, w.Code, w.Body)
		}
	}
	r := terminated(`{"environmentAlias":"staging"}`)
	r.Header.Set("Content-Type", "text/plain")
	if w := h.exchange(r); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("text/plain: status %d", w.Code)
	}
}
