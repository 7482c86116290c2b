package world

import (
	"runtime"
	"sync"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/build"
)

// JobOf is the Job of a run of the Trigger "smoke".
func JobOf(run *v1alpha1.Suite) *batchv1.Job {
	return job.Build(run, build.Trigger("smoke"), build.Environment("staging"))
}

// concurrency is how many objects the manager reconciles at once.
const concurrency = 16

// Parallel calls do n times, on several goroutines.
func (w *World) Parallel(n int, do func(i int) error) {
	w.T.Helper()
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for i := range numbers {
				if err := do(i); err != nil {
					w.T.Error(err)
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

// Heap is how many bytes of memory are in use.
func Heap() uint64 {
	var m runtime.MemStats
	for range 3 { // the second and the third run free what finalizers and pools hold
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
