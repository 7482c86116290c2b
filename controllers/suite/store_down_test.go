package suite_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	suitecontroller "github.com/postflight-dev/postflight/controllers/suite"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
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
	w := world.Empty(t)
	store := &fakeStore{unblocked: make(chan struct{})}
	w.Inputs = suitecontroller.InputsConfig{Store: store, Image: "postflight"}
	w.HasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.Create(build.Environment("staging"), build.Trigger("smoke"), build.Trigger("needy", func(t *v1alpha1.Trigger) {
		t.Spec.Inputs = &v1alpha1.Inputs{Paths: []string{"app.apk"}}
	}))
	w.StartManager()

	w.Create(build.Suite("needy", 0, build.OfTrigger("needy")))
	w.Create(build.Suite("other", 1))
	w.Reaches("other", v1alpha1.ReasonQueued, "at position 1 in the queue") // the first request to the store has not failed yet
	close(store.unblocked)
	w.Reaches("needy", v1alpha1.ReasonQueued, "Waiting for the store of the input files")
	w.Runs("other")

	w.Create(build.Suite("last", 2))
	w.Reaches("last", v1alpha1.ReasonQueued, "at position 1 in the queue")
	store.open.Store(true)
	needy := w.Reaches("needy", v1alpha1.ReasonQueued, "at position 1 in the queue")
	if c := meta.FindStatusCondition(needy.Status.Conditions, v1alpha1.ConditionInputsReady); c != nil {
		t.Errorf("the store is back, and the run says %+v", c)
	}
	w.Reaches("last", v1alpha1.ReasonQueued, "at position 2 in the queue")
	w.Passes("other")
	w.HasJob("needy")
	w.HasNoJob("last")
}

// TestStreamTakesOneSlot: a run that waits for an older one of its stream takes no slot.
func TestStreamTakesOneSlot(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("two", build.AtMost(2)))
	w.Start(build.Suite("older", 0, build.OfTrigger("two"), build.Keyed("k")))
	w.Create(build.Suite("newer", 1, build.OfTrigger("two"), build.Keyed("k")))
	w.Reaches("newer", v1alpha1.ReasonQueued, "Waiting for the older run older")
	w.Start(build.Suite("other", 2, build.OfTrigger("two")))
	w.Stops("older")
	w.Runs("newer")
}
