package suite_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

func inNamespace(w *world.World) client.ListOption { return client.InNamespace(w.NS) }

// TestSlotsAreFreedHoweverARunEnds: the runs get the only slot one after another, in the order of their receipt.
func TestSlotsAreFreedHoweverARunEnds(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("one", build.AtMost(1)))
	ends := []func(name string){
		w.Passes,
		func(name string) { w.Exits(name, 1) },
		w.Expires,
		func(name string) { w.Cancel(name, ""); w.Stops(name) },
		func(name string) {
			w.Delete(w.HasJob(name))
			w.PodStops(name)
		},
		func(name string) { // a newer one of its stream, which is behind the others in the queue
			w.Create(build.Suite("newer", 99, build.OfTrigger("one"), build.Keyed(name)))
			w.Stops(name)
		},
		func(name string) { deleteSuite(w, name) },
	}
	name := func(i int) string { return fmt.Sprintf("run-%d", i) }
	for i := range ends {
		w.Create(build.Suite(name(i), i, build.OfTrigger("one"), build.Keyed(name(i))))
		if i == 0 {
			w.Runs(name(0))
		}
	}
	for i, end := range ends {
		if i > 0 {
			w.Runs(name(i))
		}
		if i+1 < len(ends) {
			w.Reaches(name(i+1), v1alpha1.ReasonQueued, "at position 1 in the queue")
			w.HasNoJob(name(i + 1))
		}
		end(name(i))
	}
	w.HasJob("newer")
}

// deleteSuite acts as kubectl delete and the garbage collector.
func deleteSuite(w *world.World, name string) {
	w.T.Helper()
	w.Delete(build.Suite(name, 0))
	w.Delete(w.HasJob(name))
}

func TestPlacesInTheQueue(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("one", build.AtMost(1)))
	w.Start(build.Suite("running", 0, build.OfTrigger("one")))
	w.Create(build.Suite("third", 3, build.OfTrigger("one")), build.Suite("first", 1, build.OfTrigger("one")), build.Suite("second", 2, build.OfTrigger("one")))
	w.Reaches("first", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.Reaches("second", v1alpha1.ReasonQueued, "at position 2 in the queue")
	w.Reaches("third", v1alpha1.ReasonQueued, "at position 3 in the queue")

	w.Create(build.Suite("unlimited", 4)) // of another Trigger
	w.Runs("unlimited")

	w.Cancel("first", "")
	w.Reaches("second", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.Passes("running")
	w.Runs("second")
	w.Reaches("third", v1alpha1.ReasonQueued, "at position 1 in the queue")

	w.Change(build.Trigger("one"), func(o client.Object) { o.(*v1alpha1.Trigger).Spec.MaxConcurrentSuites = 2 })
	w.Runs("third")
}

// TestQueueNamesTheLimit: a queued run says which limit holds it, also after that became another while the run did not move.
func TestQueueNamesTheLimit(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("one", build.AtMost(2)))
	for i, name := range []string{"a", "b"} {
		w.Start(build.Suite(name, i, build.OfTrigger("one"), build.Keyed(name)))
	}
	w.Create(build.Suite("c", 2, build.OfTrigger("one"), build.Keyed("c")))
	w.Reaches("c", v1alpha1.ReasonQueued, "at position 1 in the queue: maxConcurrentSuites of the Trigger one is 2.")
	w.Change(build.Trigger("one"), func(o client.Object) { o.(*v1alpha1.Trigger).Spec.MaxConcurrentSuites = 1 })
	w.Reaches("c", v1alpha1.ReasonQueued, "at position 1 in the queue: maxConcurrentSuites of the Trigger one is 1.")
	w.Change(build.Environment("staging"), func(o client.Object) { o.(*v1alpha1.Environment).Spec.MaxConcurrentSuites = 2 })
	w.Change(build.Trigger("one"), func(o client.Object) { o.(*v1alpha1.Trigger).Spec.MaxConcurrentSuites = 3 })
	w.Reaches("c", v1alpha1.ReasonQueued, "at position 1 in the queue: maxConcurrentSuites of the Environment staging is 2.")
}

func TestLimitOfTheTeam(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	team := w.HasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 2 })
	w.Create(build.Environment("staging"), build.Trigger("smoke"), build.Trigger("checkout"))
	w.StartManager()
	w.Create(build.Suite("a", 0), build.Suite("b", 1, build.OfTrigger("checkout")))
	w.Runs("a")
	w.Runs("b")
	w.Create(build.Suite("c", 2), build.Suite("d", 3, build.OfTrigger("checkout")))
	w.Reaches("c", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.Reaches("d", v1alpha1.ReasonQueued, "at position 2 in the queue")

	w.Change(team, func(o client.Object) { o.(*v1alpha1.Team).Spec.Suspended = true })
	w.Reaches("c", v1alpha1.ReasonQueued, "The team is suspended")
	w.Reaches("d", v1alpha1.ReasonQueued, "The team is suspended")
	w.Passes("a")
	w.Reaches("a", v1alpha1.ReasonPassed, "")
	w.Touch("c")
	w.Reaches("c", v1alpha1.ReasonQueued, "The team is suspended")
	w.HasNoJob("c")

	w.Change(team, func(o client.Object) { o.(*v1alpha1.Team).Spec.Suspended = false })
	w.Runs("c")
	w.Reaches("d", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.Change(team, func(o client.Object) { o.(*v1alpha1.Team).Spec.MaxConcurrentSuites = 0 })
	w.Runs("d")
}

// TestManyRunsForOneSlot: runs that are reconciled at the same time may all see that the slot is free.
func TestManyRunsForOneSlot(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("three", build.AtMost(3)))
	const runs = 20
	for i := range runs {
		w.Create(build.Suite(fmt.Sprintf("run-%02d", i), i, build.OfTrigger("three")))
	}
	w.Reaches(fmt.Sprintf("run-%02d", runs-1), v1alpha1.ReasonQueued, "Waiting for a slot")
	for i := range 3 {
		w.HasJob(fmt.Sprintf("run-%02d", i))
	}
	jobs := &batchv1.JobList{}
	w.List(jobs)
	if len(jobs.Items) != 3 {
		t.Errorf("%d runs are active, want 3", len(jobs.Items))
	}
}
