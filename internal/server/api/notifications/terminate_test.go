package notifications_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/test/apitest"
)

func TestEnvironmentTerminated(t *testing.T) {
	static := apitest.EnvironmentNamed("staging")
	static.UID = "uid-staging"
	preview := suite.EphemeralEnvironment(static, "https://pr-7.example.com", apitest.Noon.Add(time.Hour))
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(preview, apitest.ARun("going", 1, v1alpha1.Running("Tests.")),
		apitest.ARun("in-preview", 1, v1alpha1.Running("Tests.")))})
	h.Validate = true
	var going v1alpha1.Suite
	for _, s := range h.Suites() {
		if s.Name == "in-preview" {
			going = s
		}
	}
	going.Spec.Environment = preview.Name
	if err := h.Cluster.Update(t.Context(), &going); err != nil {
		t.Fatal(err)
	}
	want := httpapi.TerminationResult{EnvironmentID: "uid-" + preview.Name, Results: []httpapi.Terminated{
		{EnvironmentID: "uid-" + preview.Name, EnvironmentAlias: preview.Name, Code: "terminated", Runs: []string{"in-preview"}},
	}}
	for _, body := range []string{
		`{"deploymentUrl":"https://pr-7.example.com"}`, `{"deployment_url":"https://pr-7.example.com"}`,
		`{"environmentId":"uid-` + preview.Name + `"}`, `{"environmentAlias":"` + preview.Name + `"}`,
	} {
		w := h.Exchange(apitest.Terminated(body))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", body, w.Code, w.Body)
		}
		if diff := cmp.Diff(want, apitest.Decode[httpapi.TerminationResult](t, w)); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	made := h.Environments()[preview.Name]
	if made.Spec.Ephemeral.ExpiresAt.After(apitest.Noon) ||
		made.Annotations[v1alpha1.AnnotationTerminatedBy] != "the API key pf-good-and-long" {
		t.Errorf("it expires at %s: %v", made.Spec.Ephemeral.ExpiresAt, made.Annotations)
	}
	if log := h.Audit.String(); !strings.Contains(log, `"environment":"`+preview.Name+`"`) || !strings.Contains(log, `"in-preview"`) {
		t.Errorf("the audit log lacks what was terminated: %s", log)
	}
}

func TestBadTerminations(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme()})
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
		w := h.Exchange(apitest.Terminated(body))
		if w.Code != want.status || apitest.Decode[httpapi.Problem](t, w).FailureCode != want.code {
			t.Errorf("%.60s: status %d: %s", body, w.Code, w.Body)
		}
	}
	r := apitest.Terminated(`{"environmentAlias":"staging"}`)
	r.Header.Set("Content-Type", "text/plain")
	if w := h.Exchange(r); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("text/plain: status %d", w.Code)
	}
}
