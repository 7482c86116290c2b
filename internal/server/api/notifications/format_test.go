package notifications_test

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/notifications"
	"github.com/postflight-dev/postflight/test/apitest"
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

func formRoute(a *api.API) api.Route {
	return api.Route{Method: http.MethodPost, Path: "/api/webhooks/deploy_form", Action: grant.Notify,
		Handler: func(w http.ResponseWriter, r *exchange.Request) error {
			return a.Topics.Notifications.Notify(w, r, notifications.Format{MediaType: formType, Decode: decodeForm})
		}}
}

// TestSecondFormat: limits, dispatching, audit line and answer do not depend on the format.
func TestSecondFormat(t *testing.T) {
	onMain := func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"main"} }
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke", onMain),
		apitest.Trigger("other", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"x"} }))})
	route := formRoute(h.API)
	h.Handle(append(h.Routes(), route))
	form := apitest.Both(apitest.Path(route.Path), apitest.Header("Content-Type", formType))
	sent := "ref=refs%2Fheads%2Fmain&commit=" + apitest.SHA

	would := apitest.Decode[explainedReply](t, h.Exchange(apitest.Post(sent, form, apitest.Query("dryRun=true"))))
	created := h.Notify(sent, form).Results
	if len(created) != 1 || created[0].TriggerID != "smoke" || created[0].CreatedSuiteID == "" {
		t.Fatalf("%+v, want a run of smoke", created)
	}
	if !reflect.DeepEqual(would.Results[0], created[0]) || len(would.Explanations) != 2 {
		t.Errorf("the dry run said %+v, want the same run, and two explanations", would)
	}
	if again := h.Notify(apitest.WithSHA).Results[0]; again.DuplicateSuiteID != created[0].CreatedSuiteID {
		t.Errorf("in the other format: %+v, want a duplicate", again)
	}
	if line := h.Audit.String(); !strings.Contains(line, `"created":1`) || !strings.Contains(line, route.Path) {
		t.Errorf("the audit log has no line for it: %s", line)
	}

	for name, tc := range map[string]struct {
		request *http.Request
		status  int
		says    string
	}{
		"without a commit":    {apitest.Post("ref=main", form), 400, "The field commit is missing."},
		"of another type":     {apitest.Post(sent, form, apitest.Header("Content-Type", "application/json")), 415, formType},
		"without a key":       {apitest.Post(sent, form, apitest.Header("Authorization")), 401, "API key"},
		"by another method":   {apitest.Post(sent, form, apitest.Method("GET")), 405, "Use POST"},
		"larger than allowed": {apitest.Post(sent, form, func(r *http.Request) { r.ContentLength = 256<<10 + 1 }), 413, "262144"},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.Exchange(tc.request)
			if got := apitest.Decode[httpapi.Problem](t, w); w.Code != tc.status || !strings.Contains(got.Detail, tc.says) {
				t.Errorf("%d %s, want %d and %q", w.Code, got.Detail, tc.status, tc.says)
			}
		})
	}
}
