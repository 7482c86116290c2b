package dispatch

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// run is a run of the Trigger smoke, created that many minutes before noon.
func run(name string, minutesAgo int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name),
			CreationTimestamp: metav1.NewTime(noon.Add(-time.Duration(minutesAgo) * time.Minute))},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke", UID: "uid-smoke"}, Environment: "staging", Attempt: 1,
			Deployment: v1alpha1.Deployment{SHA: sha, Branch: "main"}, SupersedeKey: "main/staging",
			Variables: v1alpha1.Variables{"GREP": "@smoke"},
		},
	}, change...)
}

func is(c metav1.Condition) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{c} }
}

func ofSHA(sha string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = sha }
}

var failed = is(v1alpha1.Failed("Exit code 1."))

func (h *harness) command() Command {
	return Command{Team: h.team, By: "the API key ci", RequestID: "one", ReceivedAt: h.clock.Now()}
}

func (h *harness) suite(name string) *v1alpha1.Suite {
	h.t.Helper()
	s := &v1alpha1.Suite{}
	if err := h.cluster.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		h.t.Fatal(err)
	}
	return s
}

// kindOf is that of an *Error, or the text of another one.
func kindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if err != nil {
		return ErrorKind(err.Error())
	}
	return ""
}

func TestCancel(t *testing.T) {
	cases := map[string]struct {
		run  *v1alpha1.Suite
		kind ErrorKind
		by   string
	}{
		"queued":            {run("r", 1, is(v1alpha1.Queued("1st."))), "", "the API key ci"},
		"running":           {run("r", 1, is(v1alpha1.Running("Tests."))), "", "the API key ci"},
		"new":               {run("r", 1), "", "the API key ci"},
		"being canceled":    {run("r", 1, func(s *v1alpha1.Suite) { s.Spec.Cancel = true }), "", ""},
		"ended as Canceled": {run("r", 1, is(v1alpha1.Canceled("By ada."))), "", ""},
		"failed":            {run("r", 1, failed), RunFinished, ""},
		"superseded":        {run("r", 1, is(v1alpha1.Superseded("By r2."))), RunFinished, ""},
		"another one":       {run("other", 1), RunNotFound, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(tc.run)})
			got, err := h.Cancel(t.Context(), h.command(), "r")
			if kindOf(err) != tc.kind {
				t.Fatalf("%v, want the kind %q", err, tc.kind)
			}
			if err == nil && got.Name != "r" {
				t.Errorf("the answer is the run %s", got.Name)
			}
			stored := h.suite(tc.run.Name)
			if stored.Annotations[v1alpha1.AnnotationCanceledBy] != tc.by || tc.by != "" && !stored.Spec.Cancel {
				t.Errorf("cancel %v by %q, want by %q", stored.Spec.Cancel, stored.Annotations[v1alpha1.AnnotationCanceledBy], tc.by)
			}
		})
	}
}

// TestCancelThroughAnOutage: the answer of the patch is lost, and the first one who canceled stays.
func TestCancelThroughAnOutage(t *testing.T) {
	lost := 0
	h := start(t, setup{objects: acme(run("r", 1)), faults: interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := c.Patch(ctx, o, p, opts...); err != nil {
				return err
			}
			lost++
			return syscall.ECONNRESET
		}}})
	if got, err := h.Cancel(t.Context(), h.command(), "r"); err != nil || !got.Spec.Cancel || lost != 1 {
		t.Errorf("%v after %d patches, want success after one", err, lost)
	}
}

func TestCommandsWhileTheAPIServerIsAway(t *testing.T) {
	h := start(t, setup{objects: acme(run("r", 1)), faults: interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return refusedConnection
		}}})
	_, err := h.Cancel(t.Context(), h.command(), "r")
	if whole, ok := errors.AsType[*Error](err); !ok || whole.Kind != Unavailable || !strings.Contains(whole.Message, "did not answer within 45s, so it is not known whether the run is being canceled") {
		t.Errorf("%v, want that it is not known", err)
	}
	if waited := h.clock.Now().Sub(noon); waited < 40*time.Second || waited > 45*time.Second {
		t.Errorf("gave up after %s, want the budget", waited)
	}
}

func message(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return ""
}
