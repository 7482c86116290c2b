package suite_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/world"
)

// BenchmarkStreamCPU prints the CPU time of a leader per Suite that arrives in a stream, waits, and is superseded by the
// next, after several numbers of runs of the stream have ended, such as those of a branch that is deployed often. As in
// BenchmarkQueueCPU, what the same requests cost without a manager is subtracted.
func BenchmarkStreamCPU(b *testing.B) {
	for b.Loop() {
		for _, n := range []int{0, 1000, 4000} {
			streamCPU(b, benchSize(n))
		}
	}
}

func streamCPU(b *testing.B, ended int) {
	arriving := benchSize(1000)
	w := world.Empty(b)
	w.HasTeam(func(t *v1alpha1.Team) { t.Spec.MaxConcurrentSuites = 1 })
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	unmanaged := cpuTime(func() { w.Parallel(arriving, createInStream(w, "raw", "raw", 0)) })
	w.Parallel(ended, createInStream(w, "ended", "main", 1))
	w.Parallel(ended, supersede(w, "ended"))
	mgr := w.RunManager(controllers.CacheOptions(w.NewBounds()))
	defer w.Stop()
	w.Parallel(1, createInStream(w, "blocker", "blocker", 0))
	awaitUnfinished(w, mgr, 2) // and the newest of the raw ones
	arrive := cpuTime(func() {
		w.Parallel(arriving, createInStream(w, "new", "main", 2))
		awaitUnfinished(w, mgr, 3)
	})
	fmt.Printf("STREAM_CPU ended=%d ms_per_arrival=%.2f\n", ended, msPer(arriving, arrive-unmanaged))
}

// createInStream creates a Suite of a commit of its own.
func createInStream(w *world.World, prefix, stream string, second int) func(int) error {
	return func(i int) error {
		s := usualSuite(w, fmt.Sprintf("%s-%05d", prefix, i), second)
		s.Spec.SupersedeKey, s.Spec.Deployment.SHA = stream, s.Name
		return w.Client.Create(context.Background(), w.Arrives(s))
	}
}

func supersede(w *world.World, prefix string) func(int) error {
	return func(i int) error {
		s := build.In(w.NS, build.Suite(fmt.Sprintf("%s-%05d", prefix, i), 0))
		if err := w.Client.Get(context.Background(), client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		s.Status.Conditions = append(s.Status.Conditions, v1alpha1.Superseded("newer"))
		s.Status.Conditions[0].LastTransitionTime = s.CreationTimestamp
		s.Status.SupersededBy = "newer"
		return w.Client.Status().Update(context.Background(), s)
	}
}

// awaitUnfinished waits until so many Suites have not ended. It looks at these alone, in the cache of the manager.
func awaitUnfinished(w *world.World, mgr ctrl.Manager, n int) {
	w.T.Helper()
	list := &v1alpha1.SuiteList{}
	w.Must(poll.Wait(10*time.Minute, fmt.Sprintf("all Suites but %d have ended", n), func() string {
		w.Must(mgr.GetCache().List(context.Background(), list, inNamespace(w), client.MatchingFields{index.Unfinished: "true"}, client.UnsafeDisableDeepCopy))
		if len(list.Items) != n {
			return fmt.Sprintf("%d have not", len(list.Items))
		}
		return ""
	}))
}
