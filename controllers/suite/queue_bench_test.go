package suite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

const (
	slots   = 10
	drained = 200
)

// BenchmarkQueue ends the runs of a Trigger with few slots as soon as they have a Job, and measures how many start
// per second. It compares a queue of a thousand, among thousands of finished runs, with a queue that is hardly
// longer than the number of runs that start.
func BenchmarkQueue(b *testing.B) {
	for b.Loop() {
		const waiting, finished = 1000, 3000
		short, long := drain(b, drained+slots, 0), drain(b, waiting, finished)
		fmt.Printf("SUITE_QUEUE slots=%d waiting=%d finished=%d runs_per_second=%.0f short_queue_runs_per_second=%.0f ratio=%.2f\n",
			slots, waiting, finished, long, short, long/short)
	}
}

func drain(b *testing.B, waiting, finished int) (perSecond float64) {
	w := world.Empty(b)
	w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("smoke"), build.Trigger("limited", build.AtMost(slots)))
	w.Parallel(finished, func(i int) error { return finish(w, usualSuite(w, fmt.Sprintf("finished-%05d", i), i), 0) })
	mgr := w.RunManager(controllers.CacheOptions(w.NewBounds()))
	defer w.Stop()
	w.Parallel(waiting, func(i int) error {
		name := fmt.Sprintf("waiting-%05d", i)
		s := build.In(w.NS, build.Suite(name, i, build.OfTrigger("limited"), build.Keyed(name)))
		return w.Client.Create(context.Background(), w.Arrives(s))
	})
	awaitStates(w, mgr)
	began := time.Now()
	for ended := map[string]bool{}; len(ended) < drained; time.Sleep(time.Millisecond) {
		endNew(w, mgr, ended)
		if time.Since(began) > 5*time.Minute {
			b.Fatalf("%d runs started, want %d", len(ended), drained)
		}
	}
	return drained / time.Since(began).Seconds()
}

// awaitStates waits until every Suite has a state.
func awaitStates(w *world.World, mgr ctrl.Manager) {
	w.T.Helper()
	w.Eventually("every Suite has a state", func() string {
		list := &v1alpha1.SuiteList{}
		w.Must(mgr.GetCache().List(context.Background(), list, inNamespace(w), client.UnsafeDisableDeepCopy))
		for _, s := range list.Items {
			if s.Status.Conditions == nil {
				return s.Name + " has none"
			}
		}
		return ""
	})
}

// endNew ends the Jobs of the queue that the manager's cache has and that have not ended.
func endNew(w *world.World, mgr ctrl.Manager, ended map[string]bool) {
	w.T.Helper()
	jobs := &batchv1.JobList{}
	w.Must(mgr.GetCache().List(context.Background(), jobs, inNamespace(w), client.MatchingFields{"unfinished": "true"}, client.UnsafeDisableDeepCopy))
	for i := range jobs.Items {
		j := &jobs.Items[i]
		if strings.HasPrefix(j.Name, "waiting-") && !ended[j.Name] {
			ended[j.Name] = true
			w.Must(Complete(w, j.DeepCopy()))
		}
	}
}
