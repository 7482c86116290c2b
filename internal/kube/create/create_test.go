package create_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/kube/create"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/build"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

// answers keeps the last answer of an API server.
type answers struct {
	http.RoundTripper
	last []byte
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	a.last, err = io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(a.last))
	return response, err
}

// TestCreate: a Suite of a notification is as the API server has it afterwards, but for its managed fields and the default of its status,
// and the API server does not send it back.
func TestCreate(t *testing.T) {
	s := apiserver.New(t)
	ns := s.Namespace(t)
	caller, err := rest.HTTPClientFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	seen := &answers{RoundTripper: caller.Transport}
	caller.Transport = seen
	c, err := create.New(s.Config, client.Options{HTTPClient: caller, Scheme: s.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	got := notified(t, ns)
	if err := c.Create(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(seen.last, []byte(`"uid"`)) || bytes.Contains(seen.last, []byte(`"spec"`)) {
		t.Errorf("the API server sent more than metadata back: %s", seen.last)
	}
	want := &v1alpha1.Suite{}
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(got), want); err != nil {
		t.Fatal(err)
	}
	want.ManagedFields, want.Status, want.TypeMeta = nil, got.Status, got.TypeMeta
	if diff := cmp.Diff(want, got); diff != "" || got.UID == "" || got.CreationTimestamp.IsZero() {
		t.Errorf("-the API server's +the client's\n%s", diff)
	}
	if err := c.Create(t.Context(), notified(t, ns)); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second Suite of the name: %v", err)
	}
	wrong := build.In(ns, build.Suite("smoke-2", 0))
	wrong.Spec.Attempt = -1
	if err := c.Create(t.Context(), wrong); !apierrors.IsInvalid(err) {
		t.Errorf("a Suite that is not allowed: %v", err)
	}
	e := build.In(ns, build.Environment("staging"))
	if err := c.Create(t.Context(), e); err != nil || len(e.ManagedFields) == 0 {
		t.Errorf("another kind: %v, %v", e, err)
	}
	dry := build.In(ns, build.Suite("smoke-3", 0))
	if err := c.Create(t.Context(), dry, client.DryRunAll); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(dry), &v1alpha1.Suite{}); !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run: %v", err)
	}
}

func notified(t *testing.T, namespace string) *v1alpha1.Suite {
	t.Helper()
	n, err := notification.Decode([]byte(`{"branch":"main","sha":"0123456789abcdef","variables":{"REGION":"eu"}}`))
	if err != nil {
		t.Fatal(err)
	}
	trigger := build.In(namespace, build.Trigger("smoke"))
	trigger.UID = "5d8f2d3c-6a3d-4d5b-9a55-0c7d8e9fabcd"
	return suite.New(suite.Request{Trigger: trigger, Environment: "staging", Origin: v1alpha1.OriginNotification, Notification: n,
		RequestID: "r", ReceivedAt: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Attempt: 1})
}
