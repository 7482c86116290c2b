package api

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// A second format of notifications, such as an HTML form sends, is a decoder, a handler and a route:

const formType = "application/x-www-form-urlencoded"

func decodeForm(body []byte) (*notification.Notification, error) {
	values, err := url.ParseQuery(string(body))
	if err != nil || !values.Has("commit") {
		return nil, &notification.InvalidError{Field: "commit", Reason: "is missing"}
	}
	return &notification.Notification{Branch: values.Get("ref"), SHA: values.Get("commit"), HostingService: v1alpha1.GitHub}, nil
}

func (a *API) deployForm(w http.ResponseWriter, r *Request) error {
	return a.notify(w, r, format{formType, decodeForm})
}

func (a *API) formRoute() Route {
	return Route{http.MethodPost, "/api/webhooks/deploy_form", a.deployForm, grant.Notify}
}

// TestSecondFormat: limits, dispatching, audit line and answer do not depend on the format.
func TestSecondFormat(t *testing.T) {
	onMain := func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"main"} }
	h := start(t, setup{objects: acme(trigger("smoke", onMain), trigger("other", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"x"} }))})
	h.mux = h.newMux(append(h.routes(), h.formRoute()))
	form := both(path(h.formRoute().Path), header("Content-Type", formType))
	sent := "ref=refs%2Fheads%2Fmain&commit=" + sha

	would := decode[explainedReply](t, h.exchange(post(sent, form, query("dryRun=true"))))
	created := h.notify(sent, form).Results
	if len(created) != 1 || created[0].TriggerID != "smoke" || created[0].CreatedSuiteID == "" {
		t.Fatalf("%+v, want a run of smoke", created)
	}
	if !reflect.DeepEqual(would.Results[0], created[0]) || len(would.Explanations) != 2 {
		t.Errorf("the dry run said %+v, want the same run, and two explanations", would)
	}
	if again := h.notify(withSHA).Results[0]; again.DuplicateSuiteID != created[0].CreatedSuiteID {
		t.Errorf("in the other format: %+v, want a duplicate", again)
	}
	if line := h.audit.String(); !strings.Contains(line, `"created":1`) || !strings.Contains(line, h.formRoute().Path) {
		t.Errorf("the audit log has no line for it: %s", line)
	}

	for name, tc := range map[string]struct {
		request *http.Request
		status  int
		says    string
	}{
		"without a commit":    {post("ref=main", form), 400, "The field commit is missing."},
		"of another type":     {post(sent, form, header("Content-Type", "application/json")), 415, formType},
		"without a key":       {post(sent, form, header("Authorization")), 401, "API key"},
		"by another method":   {post(sent, form, method("GET")), 405, "Use POST"},
		"larger than allowed": {post(sent, form, func(r *http.Request) { r.ContentLength = 256<<10 + 1 }), 413, "262144"},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.exchange(tc.request)
			if got := decode[problem](t, w); w.Code != tc.status || !strings.Contains(got.Detail, tc.says) {
				t.Errorf("%d %s, want %d and %q", w.Code, got.Detail, tc.status, tc.says)
			}
		})
	}
}
