package controllers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
)

// warehouse is a store of which a look takes until answers is closed, and is in vain until it is open.
type warehouse struct {
	answers chan struct{}
	open    atomic.Bool
}

func (x *warehouse) Stat(context.Context, string, string) (int64, string, error) {
	<-x.answers
	if !x.open.Load() {
		return 0, "", errors.New("it refuses connections")
	}
	return 5, "etag", nil
}

func (x *warehouse) SignDownload(context.Context, string, string, time.Duration) (string, error) {
	return "https://s3.example.com/app.apk", nil
}

// TestStoreIsDown has a run leave its turn to others while it cannot have its files, and take it again
// once it can.
func TestStoreIsDown(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	store := &warehouse{answers: make(chan struct{})}
	w.inputs = controllers.InputsConfig{Store: store, Image: "postflight"}
	w.hasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.create(anEnvironment("staging"), aTrigger("smoke"), aTrigger("needy", func(t *v1alpha1.Trigger) {
		t.Spec.Inputs = &v1alpha1.Inputs{Paths: []string{"app.apk"}}
	}))
	w.startManager()

	w.create(aSuite("needy", 0, of("needy")))
	w.create(aSuite("other", 1))
	w.reaches("other", v1alpha1.ReasonQueued, "at place 1 of the queue") // nobody knows yet that the store is down
	close(store.answers)
	w.reaches("needy", v1alpha1.ReasonQueued, "Waiting for the store of the input files")
	w.runs("other")

	w.create(aSuite("last", 2))
	w.reaches("last", v1alpha1.ReasonQueued, "at place 1 of the queue")
	store.open.Store(true)
	needy := w.reaches("needy", v1alpha1.ReasonQueued, "at place 1 of the queue")
	if c := meta.FindStatusCondition(needy.Status.Conditions, v1alpha1.ConditionInputsReady); c != nil {
		t.Errorf("the store is back, and the run says %+v", c)
	}
	w.reaches("last", v1alpha1.ReasonQueued, "at place 2 of the queue")
	w.passes("other")
	w.hasJob("needy")
	w.hasNoJob("last")
}

// TestStreamTakesOneSlot: a run behind another of its stream keeps no slot from others.
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
	w.collect("older")
	w.runs("newer")
}
