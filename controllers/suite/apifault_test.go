package suite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/world"
)

var jobs = schema.GroupResource{Group: "batch", Resource: "jobs"}

// fault answers requests of the manager instead of the API server, until it is fixed.
type fault struct {
	method, path string // the end of it
	within       string // the body of the request; empty: any
	code         int
	body         []byte

	mu    sync.Mutex
	fixed bool
	met   int
}

// faultyWorld is a new world whose manager gets the fault as its answer.
func faultyWorld(t *testing.T, f *fault) *world.World {
	t.Helper()
	w := world.Empty(t)
	w.HasTeam()
	w.ManagerConfig.Wrap(f.wrap)
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	w.StartManager()
	return w
}

func (f *fault) wrap(next http.RoundTripper) http.RoundTripper {
	return world.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.fixed || r.Method != f.method || !strings.HasSuffix(r.URL.Path, f.path) || !bodyHas(r, f.within) {
			return next.RoundTrip(r)
		}
		f.met++
		return &http.Response{StatusCode: f.code, Header: http.Header{"Content-Type": {contentType(f.body)}},
			Body: io.NopCloser(bytes.NewReader(f.body)), Request: r}, nil
	})
}

// bodyHas reads the body, and restores it for the request.
func bodyHas(r *http.Request, text string) bool {
	if text == "" {
		return true
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && bytes.Contains(body, []byte(text))
}

func contentType(body []byte) string {
	if json.Valid(body) {
		return "application/json"
	}
	return "text/html"
}

func (f *fault) fix() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fixed = true
}

func (f *fault) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.met
}

// jobAnswer is an error with which the API server answers the creation of a Job.
func jobAnswer(err *apierrors.StatusError) *fault {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	body, _ := json.Marshal(status)
	return &fault{method: "POST", path: "/jobs", code: int(status.Code), body: body}
}

func forbidden(why string) *fault {
	return jobAnswer(apierrors.NewForbidden(jobs, "run", errors.New(why)))
}

// TestTemporaryErrorsOfCreate: an error that the API server returns only while it starts must not end a run.
func TestTemporaryErrorsOfCreate(t *testing.T) {
	cases := map[string]struct {
		reason  string
		fault   *fault
		message string
	}{
		"NotReady": {"admission has not synced", forbidden("not yet ready to handle request"), "not yet ready to handle request"},
		"NoRoles": {"a role is missing, or not loaded yet", forbidden(`User "system:serviceaccount:p:m" cannot create resource "jobs" in API group "batch"`),
			`cannot create resource "jobs"`},
		"QuotaUnknown": {"a new quota has not been counted", forbidden("status unknown for quota: jobs"), "status unknown for quota"},
		"Proxy": {"a load balancer has no backend",
			&fault{method: "POST", path: "/jobs", code: http.StatusNotFound, body: []byte("<html>no backend</html>")}, "the server could not find"},
		"Webhook": {"a required webhook does not answer", jobAnswer(apierrors.NewInternalError(errors.New(`failed calling webhook "w"`))),
			`failed calling webhook "w"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := faultyWorld(t, tc.fault)
			w.Create(build.Suite("run", 0))
			w.Reaches("run", v1alpha1.ReasonQueued, "Waiting for the API server to accept the Job: ")
			w.Reaches("run", v1alpha1.ReasonQueued, tc.message)
			tc.fault.fix()
			w.HasJob("run") // without another event of the Suite
		})
	}
}

// TestJobTooLarge: a Job that is too large ends the run, whichever limit it exceeds.
func TestJobTooLarge(t *testing.T) {
	cases := map[string]struct {
		reason string
		fault  *fault
	}{
		"Etcd":      {"the limit of etcd for a request", jobAnswer(apierrors.NewInternalError(errors.New("etcdserver: request is too large")))},
		"GRPC":      {"the limit of the connection to etcd", jobAnswer(apierrors.NewInternalError(errors.New("trying to send message larger than max (2100000 vs. 2097152)")))},
		"APIServer": {"the API server's own limit", jobAnswer(apierrors.NewRequestEntityTooLargeError("limit is 3145728"))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := faultyWorld(t, tc.fault)
			w.Create(build.Suite("run", 0))
			w.Reaches("run", v1alpha1.ReasonError, "The API server refused the Job")
			if got := tc.fault.times(); got != 1 {
				t.Errorf("%s: the manager tried %d times, want 1", tc.reason, got)
			}
		})
	}
}

// TestNotFoundByAProxy: a load balancer without a backend also answers 404, which must not end a run.
func TestNotFoundByAProxy(t *testing.T) {
	t.Parallel()
	f := &fault{method: "GET", path: "/jobs/run", code: http.StatusNotFound, body: []byte("<html>no backend</html>")}
	w := faultyWorld(t, f)
	w.Start(build.Suite("run", 0))
	w.PodStops("run")
	w.Must(w.Client.Delete(t.Context(), w.HasJob("run"), client.PropagationPolicy("Background")))
	poll.True(t, "the manager reads the Job", func() bool { return f.times() >= 3 }) // the first answer would already end the run
	w.Reaches("run", v1alpha1.ReasonRunning, "")
	f.fix()
	w.Reaches("run", v1alpha1.ReasonError, "The Job run was deleted before it ended")
}
