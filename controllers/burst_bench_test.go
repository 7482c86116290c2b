package controllers_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/job"
)

const (
	burst       = 1000
	concurrency = 16 // as many as the manager reconciles at once
)

// BenchmarkBurst creates many Suites at once and waits until all their Jobs exist, beside creating the
// same Jobs, with the same concurrency and the same rights, on the same API server. The clock starts
// with the creation of the first Suite, so that what the Suites themselves cost the API server is
// counted too. It is not in the second line, about a backlog that a manager finds when it starts.
func BenchmarkBurst(b *testing.B) {
	w := emptyWorld(b)
	w.create(anEnvironment("staging"), aTrigger("smoke"))
	raw := w.rawJobs()

	for b.Loop() {
		mgr := w.runManager(controllers.CacheOptions())
		began := time.Now()
		w.suites("burst", burst)
		w.jobsExist(mgr, burst)
		printRate("SUITE_BURST", burst/time.Since(began).Seconds(), raw)
		w.suitesTell(mgr)
		w.stop()

		w.suites("backlog", burst)
		began = time.Now()
		w.jobsExist(w.runManager(controllers.CacheOptions()), 2*burst)
		printRate("SUITE_BACKLOG", burst/time.Since(began).Seconds(), raw)
		w.stop()
	}
}

func printRate(name string, rate, raw float64) {
	fmt.Printf("%s suites=%d jobs_per_second=%.0f raw_jobs_per_second=%.0f ratio=%.2f\n", name, burst, rate, raw, rate/raw)
}

// suites are created with few variables, each in a stream of its own.
func (w *world) suites(prefix string, n int) {
	w.t.Helper()
	w.parallel(w.Client, n, func(i int) client.Object {
		name := fmt.Sprintf("%s-%05d", prefix, i)
		return aSuite(name, i, keyed(name), func(s *v1alpha1.Suite) { s.Namespace = w.ns })
	})
}

// rawJobs is how many Jobs a second the API server takes.
func (w *world) rawJobs() float64 {
	w.t.Helper()
	c, err := client.New(w.config, client.Options{Scheme: w.Scheme})
	w.must(err)
	ns := w.Namespace(w.t)
	began := time.Now()
	w.parallel(c, burst, func(i int) client.Object {
		s := aSuite(fmt.Sprintf("raw-%05d", i), i)
		s.Namespace, s.UID = ns, types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
		return job.Build(s, aTrigger("smoke"), anEnvironment("staging"))
	})
	return burst / time.Since(began).Seconds()
}

// parallel creates n objects.
func (w *world) parallel(c client.Client, n int, object func(i int) client.Object) {
	w.t.Helper()
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for i := range numbers {
				if err := c.Create(context.Background(), object(i)); err != nil {
					w.t.Error(err)
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
}

// suitesTell waits until the words for every Job are written, so that none are left for another manager.
func (w *world) suitesTell(mgr ctrl.Manager) {
	w.t.Helper()
	w.eventually("every Suite tells of its Job", func() string {
		list := &v1alpha1.SuiteList{}
		w.must(mgr.GetCache().List(context.Background(), list, inNamespace(w), client.UnsafeDisableDeepCopy))
		for _, s := range list.Items {
			if s.Status.JobName == "" {
				return s.Name + " does not"
			}
		}
		return ""
	})
}

// jobsExist asks the manager's own cache, which costs the API server nothing.
func (w *world) jobsExist(mgr ctrl.Manager, n int) {
	w.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		jobs := &batchv1.JobList{}
		w.must(mgr.GetCache().List(context.Background(), jobs, inNamespace(w), client.UnsafeDisableDeepCopy))
		if len(jobs.Items) >= n {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d Jobs exist, want %d", len(jobs.Items), n)
		}
	}
}
