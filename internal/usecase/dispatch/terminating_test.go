package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const keptFor = "postflight.dev/test"

// keep deletes a Suite with a finalizer, so that it stays, as if its Job and pods were not gone yet.
func (h *harness) keep(id, end string) {
	h.t.Helper()
	h.finish(id, id, end)
	s := h.suites()[0]
	s.Finalizers = []string{keptFor}
	if err := errors.Join(h.cluster.Update(context.Background(), &s), h.cluster.Delete(context.Background(), &s)); err != nil {
		h.t.Fatal(err)
	}
}

// TestSuiteBeingDeleted: a Suite that is being deleted is no duplicate, because soon there is no run.
func TestSuiteBeingDeleted(t *testing.T) {
	rerun := func(t *v1alpha1.Trigger) { t.Spec.Duplicates = v1alpha1.DuplicatesRerunUnsuccessful }
	terminating := apierrors.NewForbidden(suitesResource, "x", errors.New("namespace acme is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	cases := map[string]struct {
		reason  string
		trigger *v1alpha1.Trigger
		end     string
		refusal error // of the second create, in place of that the name is taken
		change  func(*Request)
		starts  string
		says    string
		waits   bool
	}{
		"long":                     {reason: "nothing is promised", trigger: trigger("smoke"), end: "Passed", starts: "failed", says: `is being deleted, and is not gone yet. Send the notification again in a minute.`, waits: true},
		"passed":                   {reason: "how it ended does not matter", trigger: trigger("smoke", rerun), end: "Passed", starts: "failed", says: "is being deleted", waits: true},
		"beyond the quota":         {reason: "the answer has to name the quota", trigger: trigger("smoke"), refusal: quotaUsedUp, starts: "failed", says: "The quota of the namespace is used up"},
		"with its namespace":       {reason: "the contract has a 404 for it", trigger: trigger("smoke"), refusal: terminating, starts: "namespace_gone"},
		"before its end":           {reason: "it will have no result", trigger: trigger("smoke"), starts: "created"},
		"dry run":                  {reason: "the real one would wait", trigger: trigger("smoke"), change: dryRun, starts: "created"},
		"failed, and to run again": {reason: "the next attempt has a name of its own", trigger: trigger("smoke", rerun), end: "Failed", starts: "created"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var creates []fault
			if tc.refusal != nil {
				creates = append([]fault{{}}, repeat(100, fault{err: tc.refusal})...)
			}
			h := start(t, setup{objects: acme(tc.trigger), creates: creates})
			h.keep(h.notify(withSHA).Triggers[0].created(), tc.end)
			if tc.change == nil {
				tc.change = createMode
			}
			got := says(h.dispatch(withSHA, tc.change))
			if !strings.HasPrefix(got, tc.starts+": ") || !strings.Contains(got, tc.says) {
				t.Errorf("%s: %s\nwant %s: %s", tc.reason, got, tc.starts, tc.says)
			}
			if waited := h.clock.Now().Sub(noon); waited > 45*time.Second || (waited > 0) != tc.waits {
				t.Errorf("waited for %s, want any: %v", waited, tc.waits)
			}
		})
	}
}

// TestTerminatingSuite: the Suite is gone at the third attempt, and is created again under the same name.
func TestTerminatingSuite(t *testing.T) {
	looks := 0
	h := start(t, setup{objects: acme(trigger("smoke")), faults: interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, o, opts...)
			if looks++; looks == 3 && err == nil {
				going := o.DeepCopyObject().(client.Object)
				going.SetFinalizers(nil)
				err = c.Update(ctx, going)
			}
			return err
		}}})
	id := h.notify(withSHA).Triggers[0].created()
	h.keep(id, "Passed")
	if got := h.notify(withSHA).Triggers[0].created(); got != id || looks != 3 {
		t.Errorf("created %q after %d looks, want %q after 3", got, looks, id)
	}
	if s := h.suites(); len(s) != 1 || s[0].DeletionTimestamp != nil {
		t.Errorf("%d Suites, want the new one", len(s))
	}
}

// TestOwnSuiteThatIsDeleted: a Suite that this request created is its result, even if it was deleted meanwhile.
func TestOwnSuiteThatIsDeleted(t *testing.T) {
	var h *harness
	creates := 0
	h = start(t, setup{objects: acme(trigger("smoke")), faults: interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if creates++; creates > 1 {
				return c.Create(ctx, o, opts...)
			}
			if err := c.Create(ctx, o, opts...); err != nil {
				return err
			}
			h.keep(o.GetName(), "")
			return refusedConnection
		}}})
	if got := h.notify(withSHA).Triggers[0].created(); got == "" || creates != 2 {
		t.Errorf("%q after %d creates, want it created", got, creates)
	}
}
