package suite_test

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/world"
)

// BenchmarkQueueCPU prints the CPU time of a leader per Suite that arrives in a queue, with its message, and per queued
// Suite that is deleted, in queues of several lengths behind a team limit of 1. The client of the benchmark runs in the
// same process: what the same requests cost without a manager is subtracted.
func BenchmarkQueueCPU(b *testing.B) {
	for b.Loop() {
		for _, n := range []int{0, 1000, 4000, 16000} {
			queueCPU(b, benchSize(n))
		}
	}
}

func queueCPU(b *testing.B, queued int) {
	changed := benchSize(2000)
	w := world.Empty(b)
	w.HasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	clientArrives := cpuTime(func() { w.Parallel(changed, createQueued(w, "raw", 0)) })
	clientDeletes := cpuTime(func() { w.Parallel(changed, deleteQueued(w, "raw")) })
	w.RunManager(controllers.CacheOptions(w.NewBounds()))
	defer w.Stop()
	w.Parallel(queued+1, createQueued(w, "queued", 1))
	awaitStatuses(w, queued+1)
	arrives := cpuTime(func() {
		w.Parallel(changed, createQueued(w, "new", 2))
		awaitStatuses(w, queued+1+changed)
	})
	deletes := cpuTime(func() {
		w.Parallel(changed, deleteQueued(w, "new"))
		time.Sleep(2 * time.Second) // until the watches have reported the last ones
	})
	fmt.Printf("QUEUE_CPU queued=%d ms_per_arrival=%.2f ms_per_deletion=%.2f\n", queued,
		msPer(changed, arrives-clientArrives), msPer(changed, deletes-clientDeletes))
}

func msPer(n int, d time.Duration) float64 { return d.Seconds() * 1000 / float64(n) }

// benchSize is smaller with POSTFLIGHT_BENCH_SMALL=1, which shows that a benchmark works, and no figure.
func benchSize(n int) int {
	if os.Getenv("POSTFLIGHT_BENCH_SMALL") == "1" {
		return n / 40
	}
	return n
}

func createQueued(w *world.World, prefix string, second int) func(int) error {
	return func(i int) error {
		s := usualSuite(w, fmt.Sprintf("%s-%05d", prefix, i), second)
		s.Spec.SupersedeKey, s.Spec.Deployment.SHA = s.Name, s.Name // neither a newer one, nor another attempt
		return w.Client.Create(context.Background(), w.Arrives(s))
	}
}

func deleteQueued(w *world.World, prefix string) func(int) error {
	return func(i int) error {
		s := build.In(w.NS, build.Suite(fmt.Sprintf("%s-%05d", prefix, i), 0))
		return w.Client.Delete(context.Background(), s, client.PropagationPolicy("Background"))
	}
}

// awaitStatuses waits for as many writes to the status of Suites. To look at the Suites would cost CPU time.
func awaitStatuses(w *world.World, n int) {
	w.T.Helper()
	w.Must(poll.Wait(10*time.Minute, "the Suites have a status", func() string {
		if got := w.Wire.Count("PATCH suites/status"); got < n {
			return fmt.Sprintf("%d of %d", got, n)
		}
		return ""
	}))
}

// cpuTime is how much this process uses for f.
func cpuTime(f func()) time.Duration {
	before := usage()
	f()
	return usage() - before
}

func usage() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
