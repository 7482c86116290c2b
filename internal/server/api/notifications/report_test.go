package notifications_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/test/apitest"
)

const reportPath = "/api/trpc/public.deployment.reportStatus"

// trpcAnswer is what a client of tRPC reads.
type trpcAnswer struct {
	Result struct {
		Data struct {
			JSON struct {
				ID, URL string
				Results []httpapi.Result
			}
		}
	}
	Error struct {
		JSON struct {
			Message string
			Code    int
			Data    struct {
				Code, FailureCode, EventID, Field string
				HTTPStatus                        int
			}
		}
	}
}

// report is the status of a deployment of the commit to staging.
func report(id, status string) string {
	return `{"json":{"workspaceId":"w1","providerDeploymentId":"` + id + `","status":"` + status + `","environment":{"name":"staging"},` +
		`"metadata":{"commitSha":"` + apitest.SHA + `","ref":"main","repository":"acme/shop"}}}`
}

func startReporting(t *testing.T) *apitest.World {
	t.Helper()
	return apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.Trigger("smoke", func(t *v1alpha1.Trigger) {
			t.Spec.Match.DeploymentTypes, t.Spec.Match.Branches, t.Spec.Duplicates = []string{"staging"}, []string{"main"}, v1alpha1.DuplicatesRerunUnsuccessful
		})),
		Config: func(c *api.Config) { c.PublicURL = "https://postflight.example.com" },
	})
}

// TestReportedDeployment: only the first success of a deployment starts runs, also of a Trigger that repeats what failed.
func TestReportedDeployment(t *testing.T) {
	h := startReporting(t)
	var first string
	for _, step := range []struct {
		id, status        string
		created, repeated bool
	}{
		{"d-1", "pending", false, false},
		{"d-1", "failure", false, false},
		{"d-1", "success", true, false},
		{"d-1", "inactive", false, false},
		{"d-1", "success", false, true},
		{"d-2", "success", true, false},
	} {
		_ = h.Clock.Sleep(t.Context(), time.Minute)
		w := h.Exchange(apitest.Post(report(step.id, step.status), apitest.Path(reportPath)))
		if w.Code != http.StatusOK {
			t.Fatalf("%s of %s: %d %s", step.status, step.id, w.Code, w.Body)
		}
		got := apitest.Decode[trpcAnswer](t, w).Result.Data.JSON
		if got.ID != step.id || !strings.HasPrefix(got.URL, "https://postflight.example.com/") {
			t.Errorf("%s of %s: %+v", step.status, step.id, got)
		}
		results := len(got.Results)
		switch {
		case !step.created && !step.repeated && results != 0:
			t.Errorf("%s of %s: %+v, want no result", step.status, step.id, got)
		case (step.created || step.repeated) && results != 1:
			t.Fatalf("%s of %s: %+v, want a result", step.status, step.id, got)
		case step.created && got.Results[0].CreatedSuiteID == "":
			t.Errorf("%s of %s: %+v, want a run", step.status, step.id, got)
		case step.repeated && got.Results[0].DuplicateSuiteID != first:
			t.Errorf("%s of %s: %+v, want the run %s", step.status, step.id, got, first)
		}
		if step.created && first == "" {
			first = got.Results[0].CreatedSuiteID
			h.Become(first, apitest.To(v1alpha1.Failed("A test failed.")))
		}
	}
	if suites := h.Suites(); len(suites) != 2 {
		t.Errorf("%d runs, want 2", len(suites))
	}
	if log := h.Audit.String(); !strings.Contains(log, `"deployment":"d-1"`) || !strings.Contains(log, `"status":"inactive"`) {
		t.Errorf("the audit log lacks the reports: %s", log)
	}
}

// TestReportsFailAsTRPC: also before the handler, such as without a key.
func TestReportsFailAsTRPC(t *testing.T) {
	h := startReporting(t)
	type problem struct {
		Status, Number           int
		Name, FailureCode, Field string
	}
	for name, tc := range map[string]struct {
		body   string
		change func(*http.Request)
		want   problem
	}{
		"no key":           {report("d-1", "success"), apitest.Header("Authorization"), problem{401, -32001, "UNAUTHORIZED", "unauthenticated", ""}},
		"GET":              {"{}", apitest.Method("GET"), problem{405, -32005, "METHOD_NOT_SUPPORTED", "method_not_allowed", ""}},
		"another type":     {report("d-1", "success"), apitest.Header("Content-Type", "text/plain"), problem{415, -32015, "UNSUPPORTED_MEDIA_TYPE", "unsupported_media_type", ""}},
		"a large one":      {report("d-1", "success"), func(r *http.Request) { r.ContentLength = 256<<10 + 1 }, problem{413, -32013, "PAYLOAD_TOO_LARGE", "body_too_large", ""}},
		"another status":   {report("d-1", "done"), func(*http.Request) {}, problem{400, -32600, "BAD_REQUEST", "invalid_body", "json.status"}},
		"a broken branch":  {strings.Replace(report("d-1", "success"), `"main"`, `"a\ud83d"`, 1), func(*http.Request) {}, problem{400, -32600, "BAD_REQUEST", "invalid_body", "json.metadata.ref"}},
		"a wrong notified": {`{"branch":"main"}`, func(*http.Request) {}, problem{400, -32600, "BAD_REQUEST", "invalid_body", "json"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.Exchange(apitest.Post(tc.body, apitest.Path(reportPath), tc.change))
			got := apitest.Decode[trpcAnswer](t, w).Error.JSON
			if diff := cmp.Diff(tc.want, problem{w.Code, got.Code, got.Data.Code, got.Data.FailureCode, got.Data.Field}); diff != "" {
				t.Errorf("%s\n%s", diff, w.Body)
			}
			if got.Data.HTTPStatus != w.Code || got.Data.EventID != w.Header().Get("X-Request-Id") || !strings.HasSuffix(got.Message, ".") ||
				w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%v %s", w.Header(), w.Body)
			}
		})
	}
}

// TestReportsTakeNoOptions: the sender of an option believes that no run starts, or that another one does.
func TestReportsTakeNoOptions(t *testing.T) {
	h := startReporting(t)
	for name, tc := range map[string]struct {
		option func(*http.Request)
		code   string
		says   string // empty: accepted
	}{
		"a dry run":              {apitest.Query("dryRun=true"), "invalid_request", "dryRun"},
		"a dry run by header":    {apitest.Header("X-Dry-Run", "true"), "invalid_request", "dryRun"},
		"a dry run in any case":  {apitest.Query("DRYRUN=1"), "invalid_request", "dryRun"},
		"a dry run of a sort":    {apitest.Query("dryRun=perhaps"), "invalid_request", "dryRun"},
		"a rerun":                {apitest.Query("rerun=true"), "invalid_request", "rerun"},
		"a key":                  {apitest.Header("Idempotency-Key", "k-1"), "invalid_idempotency_key", "providerDeploymentId"},
		"two keys":               {apitest.Header("Idempotency-Key", "k-1", "k-2"), "invalid_idempotency_key", "Idempotency-Key"},
		"a query of no language": {apitest.Query("a=%zz"), "invalid_request", "percent-encoded"},
		"no dry run":             {apitest.Query("dryRun=false&rerun=false"), "", ""},
		"other parameters":       {apitest.Query("x=1"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, status := range []string{"success", "pending"} {
				before := len(h.Suites())
				w := h.Exchange(apitest.Post(report("d-"+strings.ReplaceAll(name, " ", "-"), status), apitest.Path(reportPath), tc.option))
				got := apitest.Decode[trpcAnswer](t, w).Error.JSON
				if tc.says == "" {
					if w.Code != http.StatusOK {
						t.Errorf("%s: %d %s", status, w.Code, w.Body)
					}
					continue
				}
				if w.Code != http.StatusBadRequest || got.Data.Code != "BAD_REQUEST" || got.Data.FailureCode != tc.code ||
					!strings.Contains(got.Message, tc.says) {
					t.Errorf("%s: %d %s", status, w.Code, w.Body)
				}
				if len(h.Suites()) != before {
					t.Errorf("%s: a run was started", status)
				}
			}
		})
	}
}
