package controllers_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestWorkloadsCannotBeRead, as if a webhook that converts them did not answer: runs say so, and neither pass nor wait for ever.
func TestWorkloadsCannotBeRead(t *testing.T) {
	t.Parallel()
	w, _ := testingWorld(t)
	w.stop()
	f := &fault{method: "GET", path: "/deployments", code: http.StatusInternalServerError, body: []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no webhook.","code":500}`), fixed: true}
	w.config.Wrap(f.wrap)
	w.startManager()
	w.create(aSuite("first", 0, testsCommit(1)))
	w.runs("first")
	f.breaks()
	w.passes("first")
	w.reaches("first", v1alpha1.ReasonRunning, "The tests have ended. Nobody knows what was tested: what runs in the Environment staging cannot be read: ")
	w.create(aSuite("second", 1, testsCommit(1), keyed("other")))
	w.reaches("second", v1alpha1.ReasonQueued, "Waiting for the API server to accept the Job: what runs in the Environment staging cannot be read: ")
	w.clock.moveOn(time.Hour)
	w.touch("first")
	w.reaches("first", v1alpha1.ReasonInconclusive, "Nobody knows what was tested: what runs in the Environment staging cannot be read: ")
}

func (f *fault) breaks() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fixed = false
}
