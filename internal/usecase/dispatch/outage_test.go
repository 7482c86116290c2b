package dispatch

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/access/delegation"
)

var suitesResource = schema.GroupResource{Group: "postflight.dev", Resource: "suites"}

// faults affect the creates of one test, one after the other. Later creates succeed.
type faults struct {
	mu      sync.Mutex
	creates []fault
	seen    int
	names   map[string]bool
}

// fault is done to one create: it may write before it fails, or hang until the client gives up.
type fault struct {
	write bool
	hang  bool
	err   error
}

func (f *faults) create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	f.mu.Lock()
	var next fault
	if f.seen < len(f.creates) {
		next = f.creates[f.seen]
	}
	f.seen++
	if f.names == nil {
		f.names = map[string]bool{}
	}
	f.names[o.GetName()] = true
	f.mu.Unlock()
	if next.write || next == (fault{}) {
		if err := c.Create(ctx, o, opts...); err != nil {
			return err
		}
	}
	if next.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return next.err
}

func repeat(n int, f fault) []fault {
	all := make([]fault, n)
	for i := range all {
		all[i] = f
	}
	return all
}

func status(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func tooMany(seconds int) error { return apierrors.NewTooManyRequests("busy", seconds) }

var refusedConnection = &wrapped{"Post \"https://10.0.0.1:6443/\"", syscall.ECONNREFUSED}

var quotaUsedUp = apierrors.NewForbidden(suitesResource, "smoke-x", errors.New("exceeded quota: runs, requested: count/suites=1, used: 5, limited: 5"))

// noRole is the answer if the manager lacks a role, or while the API server starts.
var noRole = status(403, metav1.StatusReasonForbidden, `suites.postflight.dev "smoke-x" is forbidden: User "system:serviceaccount:postflight-system:postflight-manager" cannot create resource "suites" in API group "postflight.dev" in the namespace "acme"`)

type wrapped struct {
	text string
	err  error
}

func (w *wrapped) Error() string { return w.text + ": " + w.err.Error() }
func (w *wrapped) Unwrap() error { return w.err }

// TestPassingFaults: after an outage that ends, the run is created exactly once.
func TestPassingFaults(t *testing.T) {
	cases := map[string]struct {
		reason  string
		faults  []fault
		atLeast time.Duration
	}{
		"none":                           {reason: "no fault, no wait"},
		"connection refused":             {faults: repeat(5, fault{err: refusedConnection})},
		"connection reset":               {faults: repeat(3, fault{err: syscall.ECONNRESET})},
		"reset after the write":          {reason: "the Suite that is met is our own", faults: []fault{{write: true, err: syscall.ECONNRESET}}},
		"half an answer":                 {reason: "the same", faults: []fault{{write: true, err: io.ErrUnexpectedEOF}}},
		"hangs":                          {faults: repeat(2, fault{hang: true})},
		"hangs after the write":          {reason: "the same", faults: []fault{{write: true, hang: true}}},
		"away, then loses the answer":    {faults: append(repeat(3, fault{err: refusedConnection}), fault{write: true, err: io.EOF})},
		"429":                            {faults: repeat(2, fault{err: tooMany(0)})},
		"429 with Retry-After":           {reason: "the time is kept", faults: []fault{{err: tooMany(7)}}, atLeast: 7 * time.Second},
		"500":                            {faults: repeat(2, fault{err: apierrors.NewInternalError(errors.New("etcdserver: leader changed"))})},
		"500 without a reason":           {faults: []fault{{err: status(500, "", "rpc error")}}},
		"502":                            {faults: []fault{{err: status(502, "", "bad gateway")}}},
		"503":                            {faults: []fault{{err: apierrors.NewServiceUnavailable("starting")}}},
		"503 after the write":            {faults: []fault{{write: true, err: apierrors.NewServiceUnavailable("stopping")}}},
		"504":                            {faults: []fault{{write: true, err: apierrors.NewTimeoutError("slow", 2)}}, atLeast: 2 * time.Second},
		"server timeout":                 {faults: []fault{{err: apierrors.NewServerTimeout(suitesResource, "create", 1)}}, atLeast: time.Second},
		"the manager's token is renewed": {faults: []fault{{err: apierrors.NewUnauthorized("expired")}}},
		"a conflict over the quota":      {faults: []fault{{err: apierrors.NewConflict(schema.GroupResource{Resource: "resourcequotas"}, "q", errors.New("modified"))}}},
		"roles not known yet":            {faults: repeat(2, fault{err: noRole})},
		"policies not known yet":         {faults: repeat(2, fault{err: apierrors.NewForbidden(suitesResource, "x", errors.New("not yet ready to handle request"))})},
		"custom resources not known yet": {faults: repeat(2, fault{err: apierrors.NewGenericServerResponse(404, "post", suitesResource, "", "404 page not found", 0, true)})},
		"a proxy's 403":                  {faults: repeat(2, fault{err: apierrors.NewGenericServerResponse(403, "post", suitesResource, "", "<html>", 0, true)})},
		"lost, then beyond the quota":    {reason: "it was created, by this request, and used the quota up", faults: []fault{{write: true, err: io.EOF}, {err: quotaUsedUp}}},
		"a quota not counted yet":        {faults: []fault{{err: apierrors.NewForbidden(suitesResource, "x", errors.New("status unknown for quota: q"))}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, setup{objects: acme(trigger("smoke")), creates: tc.faults})
				got := h.notify(withSHA).Triggers[0]
				suites := h.suites()
				if len(suites) != 1 || got.created() != suites[0].Name {
					t.Errorf("%s: %d Suites and %+v, want one, created", tc.reason, len(suites), got)
				}
				if len(h.faults.names) != 1 {
					t.Errorf("%d names were tried, want the same one always", len(h.faults.names))
				}
				if waited := h.clock.Now().Sub(noon); waited < tc.atLeast || waited > 10*time.Second {
					t.Errorf("waited %s, want from %s to 10s", waited, tc.atLeast)
				}
				if n := h.Retrying(); n != 0 {
					t.Errorf("%d notifications wait after the result", n)
				}
				if again := h.notify(withSHA).Triggers[0]; again.duplicate() != got.created() {
					t.Errorf("sent again: %+v, want a duplicate", again)
				}
			})
		})
	}
}

// TestLastingFaults tests faults that last longer than the budget, or are final.
func TestLastingFaults(t *testing.T) {
	forever := func(f fault) []fault { return repeat(1000, f) }
	forbiddenBy := func(message string) error {
		return apierrors.NewForbidden(suitesResource, "smoke-x", errors.New(message))
	}
	terminating := apierrors.NewForbidden(suitesResource, "x", errors.New("namespace acme is being terminated"))
	terminating.ErrStatus.Details.Causes = append(terminating.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	noNamespace := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "acme")
	noNamespace.ErrStatus.Details.Kind = "namespaces" // as the admission of a real API server has it
	cases := map[string]struct {
		faults []fault
		starts string   // what the sender reads
		says   []string // its parts
		tries  int      // exactly, unless it is 0
	}{
		"connection refused":       {faults: forever(fault{err: refusedConnection}), starts: "unavailable", says: []string{"did not answer within 45s", "not created twice"}},
		"hangs":                    {faults: forever(fault{hang: true}), starts: "unavailable"},
		"429 with a long wait":     {faults: forever(fault{err: tooMany(60)}), starts: "unavailable", tries: 1},
		"500":                      {faults: forever(fault{err: apierrors.NewInternalError(errors.New("broken"))}), starts: "unavailable"},
		"quota":                    {faults: forever(fault{err: quotaUsedUp}), starts: "failed", says: []string{"The quota of the namespace is used up", "exceeded quota: runs", "limited: 5"}, tries: 1},
		"a policy":                 {faults: forever(fault{err: forbiddenBy("no deployments on Friday.")}), starts: "failed", says: []string{"The API server refused the Suite: no deployments on Friday."}, tries: 1},
		"a policy that cannot":     {faults: forever(fault{err: forbiddenBy("you cannot deploy a resource on Friday")}), starts: "failed", says: []string{"The API server refused the Suite: you cannot deploy a resource on Friday."}, tries: 1},
		"no right":                 {faults: forever(fault{err: noRole}), starts: "failed", says: []string{"The manager may not create the Suite"}},
		"no roles after an outage": {faults: append(repeat(1, fault{err: refusedConnection}), forever(fault{err: noRole})...), starts: "unavailable"},
		"invalid":                  {faults: forever(fault{err: status(422, metav1.StatusReasonInvalid, `Suite.postflight.dev "x" is invalid: spec.variables: Too many`)}), starts: "failed", says: []string{"The API server refused the Suite: spec.variables: Too many."}, tries: 1},
		"the namespace is missing": {faults: forever(fault{err: noNamespace}), starts: "namespace_gone", says: []string{"Run not found"}},
		"the namespace is deleted": {faults: forever(fault{err: terminating}), starts: "namespace_gone", tries: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, setup{objects: acme(trigger("smoke")), creates: tc.faults})
				got := says(h.dispatch(withSHA))
				if !strings.HasPrefix(got, tc.starts+": ") {
					t.Fatalf("%s, want %s", got, tc.starts)
				}
				for _, part := range tc.says {
					if !strings.Contains(got, part) {
						t.Errorf("%s, want %q in it", got, part)
					}
				}
				if strings.Contains(got, "10.0.0.1") || strings.Contains(got, "serviceaccount") {
					t.Errorf("it reveals internals: %s", got)
				}
				if tc.tries != 0 && h.faults.seen != tc.tries {
					t.Errorf("%d tries, want %d", h.faults.seen, tc.tries)
				}
				if waited := h.clock.Now().Sub(noon); waited > 45*time.Second {
					t.Errorf("waited for %s, want at most 45s", waited)
				}
			})
		})
	}
}

// TestForbiddenAfterOutage: while the API server starts, it says that the manager lacks a role. A notification that comes only then, and sees
// nothing else, must not be told that it has no run: its sender would send it again, and get one.
func TestForbiddenAfterOutage(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke")), creates: repeat(1000, fault{err: refusedConnection})})
	if got := says(h.dispatch(withSHA)); !strings.HasPrefix(got, "unavailable: ") {
		t.Fatal(got)
	}
	h.faults.creates = repeat(10000, fault{err: noRole})
	if got := says(h.dispatch(withSHA)); !strings.HasPrefix(got, "unavailable: ") {
		t.Errorf("While the API server starts: %s", got)
	}
	h.clock.Step(startsWithin)
	if got := says(h.dispatch(withSHA)); !strings.HasPrefix(got, "failed: The manager may not create the Suite") {
		t.Errorf("Long after the outage: %s", got)
	}
}

// TestOutageElsewhere: while another cluster is away, a right that the manager lacks in its own cluster is still named.
func TestOutageElsewhere(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke")), creates: repeat(1000, fault{err: noRole})})
	h.noteOutage(&delegation.Error{Message: "does not answer", Cause: syscall.ECONNREFUSED})
	if got := says(h.dispatch(withSHA)); !strings.HasPrefix(got, "failed: The manager may not create the Suite") {
		t.Error(got)
	}
}
