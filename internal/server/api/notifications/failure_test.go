package notifications_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/test/apitest"
)

// TestDispatchFailures: the status of a notification that failed as a whole depends on the kind of error.
func TestDispatchFailures(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "suites"}, "x", errors.New("namespace acme is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	cases := map[string]struct {
		setup      apitest.Setup
		err        error
		status     int
		code       string
		says       string
		retryAfter string
	}{
		"the API server is unavailable": {err: apitest.ErrRefused, status: 503, code: "unavailable", says: "did not answer within 45s",
			retryAfter: "10"},
		"too many wait for it": {setup: apitest.Setup{Dispatch: func(c *dispatch.Config) { c.Limits.Retrying = 0 }},
			err: apitest.ErrRefused, status: 503, code: "overloaded", says: "as many requests wait for it as", retryAfter: "10"},
		"matching takes too long": {setup: apitest.Setup{Dispatch: func(c *dispatch.Config) { c.Limits.MatchBudget = -time.Second }},
			status: 503, code: "overloaded", says: "more than -1s", retryAfter: "10"},
		"the namespace is deleted": {err: terminating, status: 404, code: "run_not_found", says: "Run not found"},
		"too many match at the time": {setup: apitest.Setup{Dispatch: func(c *dispatch.Config) { c.Limits.MatchWait = -time.Second }},
			status: 503, code: "overloaded", says: "is matching as many", retryAfter: "10"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.setup.Objects = apitest.Acme()
			for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} { // the budget is checked after several Triggers
				tc.setup.Objects = append(tc.setup.Objects, apitest.Trigger(name, costly))
			}
			tc.setup.Faults = interceptor.Funcs{Create: apitest.Refuse(tc.err)}
			w := apitest.Start(t, tc.setup).Exchange(apitest.Post(`{"sha":"` + apitest.SHA + `","variables":{"A":"b"}}`))
			got := apitest.Decode[httpapi.Problem](t, w)
			if w.Code != tc.status || got.FailureCode != tc.code || !strings.Contains(got.Detail, tc.says) || len(got.Results) != 0 {
				t.Errorf("%d %s, want %d %s: %s", w.Code, w.Body, tc.status, tc.code, tc.says)
			}
			if after := w.Header().Get("Retry-After"); after != tc.retryAfter {
				t.Errorf("Retry-After %q, want %q", after, tc.retryAfter)
			}
			apitest.CheckProblem(t, got, w)
		})
	}
}

// costly is an expression whose evaluation on a large variable takes long.
func costly(t *v1alpha1.Trigger) { t.Spec.Match.Expression = "size(notification.variables) > 0" }

// TestUnknownBesideKnown: when the budget ends, the outcome of one Trigger is still unknown.
func TestUnknownBesideKnown(t *testing.T) {
	onlyFor := func(name string, err error) interceptor.Funcs {
		return interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if s, ok := o.(*v1alpha1.Suite); ok && s.Spec.Trigger.Name == name {
				return err
			}
			return c.Create(ctx, o, opts...)
		}}
	}
	t.Run("a run is known", func(t *testing.T) {
		h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("a"), apitest.Trigger("b")),
			Faults: onlyFor("b", apitest.ErrRefused)})
		got := h.Notify(apitest.WithSHA).Results
		if got[0].CreatedSuiteID == "" || !strings.Contains(got[1].FailureReason, "not known whether a run was created") {
			t.Errorf("got %+v, want the created run, and a reason that promises nothing", got)
		}
	})
	t.Run("no run is known", func(t *testing.T) {
		h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("a", apitest.InNowhere), apitest.Trigger("b")),
			Faults: onlyFor("b", apitest.ErrRefused)})
		w := h.Exchange(apitest.Post(apitest.WithSHA))
		got := apitest.Decode[httpapi.Problem](t, w)
		if w.Code != http.StatusServiceUnavailable || len(got.Results) != 1 || got.Results[0].TriggerID != "a" {
			t.Errorf("%d %s, want 503 with the result of a", w.Code, w.Body)
		}
	})
}

func TestClientThatLeavesIsCounted(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke")),
		Faults: interceptor.Funcs{Create: apitest.Refuse(apitest.ErrRefused)},
		Dispatch: func(c *dispatch.Config) {
			c.Sleep = func(ctx context.Context, _ time.Duration) error { leave(); return ctx.Err() }
		}})
	h.Exchange(apitest.Post(apitest.WithSHA).WithContext(ctx))
	if n := h.Counter("postflight_http_requests_total", "499", apitest.DeploySuccessPath); n != 1 {
		t.Errorf("%v requests counted as left by the client, want 1", n)
	}
}
