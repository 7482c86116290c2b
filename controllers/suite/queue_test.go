package controllers_test

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func inNamespace(w *world) client.ListOption { return client.InNamespace(w.ns) }

// TestSlotsAreFreedHoweverARunEnds: the runs get the only slot one after another, in the order of their receipt.
func TestSlotsAreFreedHoweverARunEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("one", atMost(1)))
	ends := []func(name string){
		w.passes,
		func(name string) { w.exits(name, 1) },
		w.expires,
		func(name string) { w.cancel(name, ""); w.stops(name) },
		func(name string) {
			w.must(w.Client.Delete(context.Background(), w.hasJob(name), client.PropagationPolicy("Background")))
			w.podStops(name)
		},
		func(name string) { // a newer one of its stream, which is behind the others in the queue
			w.create(aSuite("newer", 99, of("one"), keyed(name)))
			w.stops(name)
		},
		func(name string) { w.deleteSuite(name) },
	}
	name := func(i int) string { return fmt.Sprintf("run-%d", i) }
	for i := range ends {
		w.create(aSuite(name(i), i, of("one"), keyed(name(i))))
		if i == 0 {
			w.runs(name(0))
		}
	}
	for i, end := range ends {
		if i > 0 {
			w.runs(name(i))
		}
		if i+1 < len(ends) {
			w.reaches(name(i+1), v1alpha1.ReasonQueued, "at position 1 in the queue")
			w.hasNoJob(name(i + 1))
		}
		end(name(i))
	}
	w.hasJob("newer")
}

// deleteSuite acts as kubectl delete and the garbage collector.
func (w *world) deleteSuite(name string) {
	w.t.Helper()
	w.must(w.Client.Delete(context.Background(), aSuiteNamed(w, name)))
	w.must(w.Client.Delete(context.Background(), w.hasJob(name), client.PropagationPolicy("Background")))
}

func aSuiteNamed(w *world, name string) *v1alpha1.Suite {
	s := aSuite(name, 0)
	s.Namespace = w.ns
	return s
}

func TestPlacesInTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("one", atMost(1)))
	w.create(aSuite("running", 0, of("one")))
	w.runs("running")
	w.create(aSuite("third", 3, of("one")), aSuite("first", 1, of("one")), aSuite("second", 2, of("one")))
	w.reaches("first", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.reaches("second", v1alpha1.ReasonQueued, "at position 2 in the queue")
	w.reaches("third", v1alpha1.ReasonQueued, "at position 3 in the queue")

	w.create(aSuite("unlimited", 4)) // of another Trigger
	w.runs("unlimited")

	w.cancel("first", "")
	w.reaches("second", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.passes("running")
	w.runs("second")
	w.reaches("third", v1alpha1.ReasonQueued, "at position 1 in the queue")

	w.change(aTrigger("one"), func(o client.Object) { o.(*v1alpha1.Trigger).Spec.MaxConcurrentSuites = 2 })
	w.runs("third")
}

// change updates an object, as kubectl edit does.
func (w *world) change(o client.Object, change func(client.Object)) {
	w.t.Helper()
	key := w.key(o.GetName())
	if _, cluster := o.(*v1alpha1.Team); cluster {
		key.Namespace = ""
	}
	w.must(w.Client.Get(context.Background(), key, o))
	was := o.DeepCopyObject().(client.Object)
	change(o)
	w.must(w.Client.Patch(context.Background(), o, client.MergeFrom(was)))
}

func TestLimitOfTheTeam(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	team := w.hasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 2 })
	w.create(anEnvironment("staging"), aTrigger("smoke"), aTrigger("checkout"))
	w.startManager()
	w.create(aSuite("a", 0), aSuite("b", 1, of("checkout")))
	w.runs("a")
	w.runs("b")
	w.create(aSuite("c", 2), aSuite("d", 3, of("checkout")))
	w.reaches("c", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.reaches("d", v1alpha1.ReasonQueued, "at position 2 in the queue")

	w.change(team, func(o client.Object) { o.(*v1alpha1.Team).Spec.Suspended = true })
	w.reaches("c", v1alpha1.ReasonQueued, "The team is suspended")
	w.reaches("d", v1alpha1.ReasonQueued, "The team is suspended")
	w.passes("a")
	w.reaches("a", v1alpha1.ReasonPassed, "")
	w.touch("c")
	w.reaches("c", v1alpha1.ReasonQueued, "The team is suspended")
	w.hasNoJob("c")

	w.change(team, func(o client.Object) { o.(*v1alpha1.Team).Spec.Suspended = false })
	w.runs("c")
	w.reaches("d", v1alpha1.ReasonQueued, "at position 1 in the queue")
	w.change(team, func(o client.Object) { o.(*v1alpha1.Team).Spec.MaxConcurrentSuites = 0 })
	w.runs("d")
}

// TestManyRunsForOneSlot: runs that are reconciled at the same time may all see that the slot is free.
func TestManyRunsForOneSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(aTrigger("three", atMost(3)))
	const runs = 20
	for i := range runs {
		w.create(aSuite(fmt.Sprintf("run-%02d", i), i, of("three")))
	}
	w.reaches(fmt.Sprintf("run-%02d", runs-1), v1alpha1.ReasonQueued, "Waiting for a slot")
	for i := range 3 {
		w.hasJob(fmt.Sprintf("run-%02d", i))
	}
	jobs := &batchv1.JobList{}
	w.must(w.Client.List(context.Background(), jobs, inNamespace(w)))
	if len(jobs.Items) != 3 {
		t.Errorf("%d runs are active, want 3", len(jobs.Items))
	}
}
