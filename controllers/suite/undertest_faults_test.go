package suite_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// TestWorkloadsCannotBeRead, as if a webhook that converts them did not answer: runs say so, and neither pass nor wait for ever.
func TestWorkloadsCannotBeRead(t *testing.T) {
	t.Parallel()
	w, _ := testingWorld(t)
	w.Stop()
	f := &fault{method: "GET", path: "/deployments", code: http.StatusInternalServerError, body: []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no webhook.","code":500}`), fixed: true}
	w.ManagerConfig.Wrap(f.wrap)
	w.StartManager()
	w.Start(build.Suite("first", 0, testsCommit(1)))
	f.breaks()
	w.Passes("first")
	w.Reaches("first", v1alpha1.ReasonRunning, "The tests have ended. Nobody knows what was tested: what runs in the Environment staging cannot be read: ")
	w.Create(build.Suite("second", 1, testsCommit(1), build.Keyed("other")))
	w.Reaches("second", v1alpha1.ReasonQueued, "Waiting for the API server to accept the Job: what runs in the Environment staging cannot be read: ")
	w.Clock.MoveOn(time.Hour)
	w.Touch("first")
	w.Reaches("first", v1alpha1.ReasonInconclusive, "Nobody knows what was tested: what runs in the Environment staging cannot be read: ")
}

func (f *fault) breaks() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fixed = false
}
