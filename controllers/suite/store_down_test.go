package controllers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	suitecontroller "github.com/postflight-dev/postflight/controllers/suite"
)

// fakeStore finds files only once open is true. Stat blocks until unblocked is closed.
type fakeStore struct {
	unblocked chan struct{}
	open      atomic.Bool
}

func (f *fakeStore) Stat(_ context.Context, _ *v1alpha1.Team, path string) (v1alpha1.SuiteInput, error) {
	<-f.unblocked
	if !f.open.Load() {
		return v1alpha1.SuiteInput{}, errors.New("it refuses connections")
	}
	return v1alpha1.SuiteInput{Path: path, Size: 5, ETag: "etag"}, nil
}

func (f *fakeStore) SignDownload(context.Context, string, string, time.Duration) (string, error) {
	return "https://s3.example.com/app.apk", nil
}

// TestStoreIsDown: a run that cannot get its input files lets others overtake it, until the store is back.
func TestStoreIsDown(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	store := &fakeStore{unblocked: make(chan struct{})}
	w.inputs = suitecontroller.InputsConfig{Store: store, Image: "postflight"}
	w.hasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.create(anEnvironment("staging"), aTrigger("smoke"), aTrigger("needy", func(t *v1alpha1.Trigger) {
		t.Spec.Inputs = &v1alpha1.Inputs{Paths: []string{"app.apk"}}
	}))
	w.startManager()

	w.create(aSuite("needy", 0, of("needy")))
	w.create(aSuite("other", 1))
	w.reaches("other", v1alpha1.ReasonQueued, "at position 1 in the queue") // the first request to the store has not failed yet
	close(store.unblocked)
	w.reaches("needy", v1alpha1.ReasonQueued, "Waiting for the store of the input files")
	w.runs("other")

	w.create(aSuite("last", 2))
	w.reaches("last", v1alpha1.ReasonQueued, "at position 1 in the queue")
	store.open.Store(true)
	needy := w.reaches("needy", v1alpha1.ReasonQueued, "at position 1 in the queue")
	if c := meta.FindStatusCondition(needy.Status.Conditions, v1alpha1.ConditionInputsReady); c != nil {
		t.Errorf("the store is back, and the run says %+v", c)
	}
	w.reaches("last", v1alpha1.ReasonQueued, "at position 2 in the queue")
	w.passes("other")
	w.hasJob("needy")
	w.hasNoJob("last")
}

// TestStreamTakesOneSlot: a run that waits for an older one of its stream takes no slot.
func TestStreamTakesOneSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("two", atMost(2)))
	w.create(aSuite("older", 0, of("two"), keyed("k")))
	w.runs("older")
	w.create(aSuite("newer", 1, of("two"), keyed("k")))
	w.reaches("newer", v1alpha1.ReasonQueued, "Waiting for the older run older")
	w.create(aSuite("other", 2, of("two")))
	w.runs("other")
	w.stops("older")
	w.runs("newer")
}
