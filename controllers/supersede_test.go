package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

func TestNewerSupersedesOlder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	main := keyed("main/staging")
	w.create(aSuite("older", 0, main))
	w.runs("older")

	w.create(aSuite("newer", 1, main))
	w.stopping("older")
	w.reaches("older", v1alpha1.ReasonRunning, "Superseded by newer")
	w.reaches("newer", v1alpha1.ReasonQueued, "Waiting for the older run older")
	w.touch("newer") // only the end of the older one may start it
	w.hasNoJob("newer")

	w.stops("older")
	ended := w.reaches("older", v1alpha1.ReasonSuperseded, "Superseded by newer")
	if ended.Status.SupersededBy != "newer" || ended.Status.CompletionTime == nil {
		t.Errorf("status of a superseded run: %+v", ended.Status)
	}
	w.runs("newer")
	w.passes("newer")
	w.reaches("newer", v1alpha1.ReasonPassed, "")
}

// TestArrivesLate: runs are ordered by the receipt of their notifications, not by the creation of the Suites.
func TestArrivesLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("newest", 9, keyed("k")))
	w.runs("newest")
	w.create(aSuite("late", 3, keyed("k")))
	w.reaches("late", v1alpha1.ReasonSuperseded, "Superseded by newest")
	w.hasNoJob("late")
	w.reaches("newest", v1alpha1.ReasonRunning, "The tests are running")
}

// TestNotifiedAgain: a run whose deployment is notified again is the newest of its stream, also if a Suite of an older notification
// appears afterwards.
func TestNotifiedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("deployed", 0, keyed("k")))
	w.runs("deployed")
	w.notifiedAgain("deployed", 5)
	w.create(aSuite("held", 3, keyed("k")))
	w.reaches("held", v1alpha1.ReasonSuperseded, "Superseded by deployed")
	w.hasNoJob("held")
	w.reaches("deployed", v1alpha1.ReasonRunning, "The tests are running")
	w.passes("deployed")
	w.reaches("deployed", v1alpha1.ReasonPassed, "")
}

func (w *world) notifiedAgain(name string, seconds int) {
	w.t.Helper()
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
	w.status(s, func() {
		s.Status.NotifiedAgainAt = new(metav1.NewMicroTime(w.began.Add(time.Duration(seconds) * time.Second).UTC()))
	})
}

func TestOtherStreamsAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("checkout"), anEnvironment("production"))
	others := []string{"branch", "environment", "sibling", "none"}
	w.create(
		aSuite("branch", 0, keyed("develop/staging")),
		aSuite("environment", 0, keyed("main/staging"), at("production")),
		aSuite("sibling", 0, keyed("main/staging"), of("checkout")), // of the same notification
		aSuite("none", 0),
		aSuite("older", 0, keyed("main/staging")),
	)
	for _, name := range append(others, "older") {
		w.runs(name)
	}
	w.create(aSuite("newer", 1, keyed("main/staging")))
	w.stops("older")
	w.runs("newer")
	for _, name := range others {
		w.touch(name)
		w.reaches(name, v1alpha1.ReasonRunning, "The tests are running")
		if w.hasJob(name).DeletionTimestamp != nil {
			t.Errorf("the Job of %s, of another stream, is being deleted", name)
		}
	}
}

// TestBurst: in the end the newest run is running, and only the first and the newest ever started.
func TestBurst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const runs = 10
	name := func(i int) string { return fmt.Sprintf("run-%02d", i) }
	w.create(aSuite(name(0), 0, keyed("k")))
	w.runs(name(0))
	for i := 1; i < runs; i++ {
		w.create(aSuite(name(i), i, keyed("k")))
	}
	for i := 1; i < runs-1; i++ { // each would run if the first one stopped before the next was known
		w.reaches(name(i), v1alpha1.ReasonSuperseded, "")
	}
	w.stops(name(0))
	newest := name(runs - 1)
	w.hasJob(newest)
	w.reaches(name(0), v1alpha1.ReasonSuperseded, "")
	jobs := &batchv1.JobList{}
	w.must(w.Client.List(context.Background(), jobs, inNamespace(w)))
	unfinished := slices.DeleteFunc(jobs.Items, func(j batchv1.Job) bool { return outcome.CompletionTime(&j) != nil })
	if len(unfinished) != 1 || unfinished[0].Name != newest {
		t.Errorf("got %d unfinished Jobs, want that of %s", len(unfinished), newest)
	}
	if got := w.wire.count("POST jobs"); got != 2 {
		t.Errorf("%d Jobs were created, want the first and the newest", got)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("one", atMost(1)))
	w.create(aSuite("running", 0, of("one")))
	w.runs("running")
	w.create(aSuite("queued", 1, of("one")))
	w.reaches("queued", v1alpha1.ReasonQueued, "at position 1")

	w.cancel("queued", "")
	w.reaches("queued", v1alpha1.ReasonCanceled, "Canceled by setting spec.cancel")
	w.hasNoJob("queued")

	w.cancel("running", "ada@example.com")
	w.stopping("running")
	w.reaches("running", v1alpha1.ReasonRunning, "Stopping the pods of this run")
	w.stops("running")
	w.reaches("running", v1alpha1.ReasonCanceled, "Canceled by ada@example.com")
}

// TestCancelComesTooLate: a run that has passed remains Passed.
func TestCancelComesTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aSuite("run", 0))
	w.runs("run")
	w.passes("run")
	w.reaches("run", v1alpha1.ReasonPassed, "")
	w.cancel("run", "ada@example.com")
	w.create(aSuite("next", 1)) // whose Job shows that the manager has reconciled
	w.hasJob("next")
	w.reaches("run", v1alpha1.ReasonPassed, "")
	if w.hasJob("run").DeletionTimestamp != nil {
		t.Error("the Job of a run that passed, with its log, was deleted")
	}
}
