package lead

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/postflight-dev/postflight/test/poll"
)

// TestBacklogEndsWithItsTerm: a term ends while a request is worked on and others wait. The metrics of the queue show that
// no longer, and the next term counts from nothing.
func TestBacklogEndsWithItsTerm(t *testing.T) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	before := gauge(t, "workqueue_depth", "of-no-controller") // of earlier runs of this test
	other := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "of-no-controller"})
	defer other.ShutDown()
	other.Add("waits")
	for _, backlog := range []int{4, 2} {
		end := beginTerm(t, NewTerm(mgr), backlog)
		awaitGauge(t, "workqueue_depth", "backlog", func(depth float64) bool { return depth == float64(backlog) })
		awaitGauge(t, "workqueue_unfinished_work_seconds", "backlog", func(seconds float64) bool { return seconds > 0 })
		awaitGauge(t, "workqueue_longest_running_processor_seconds", "backlog", func(seconds float64) bool { return seconds > 0 })
		end()
		for _, name := range []string{"workqueue_depth", "workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds"} {
			if got := gauge(t, name, "backlog"); got != 0 {
				t.Errorf("%s is %g after the term, want 0", name, got)
			}
		}
	}
	other.Add("waits, too")
	if got := gauge(t, "workqueue_depth", "of-no-controller"); got != before+2 {
		t.Errorf("a queue that continues has the depth %g, want 2", got-before)
	}
}

// TestQueuesEndWithTheTerm: what waits when the lead is lost waits in the queue of the next leader, and not in two.
func TestQueuesEndWithTheTerm(t *testing.T) {
	const name = "of-a-term-that-ends"
	q := priorityqueue.New[ctrl.Request](name)
	q.Add(ctrl.Request{})
	awaitGauge(t, "workqueue_depth", name, func(depth float64) bool { return depth == 1 })
	q.ShutDown()
	if err := clearQueues(); err != nil {
		t.Error(err)
	}
	if depth := gauge(t, "workqueue_depth", name); depth != 0 {
		t.Errorf("after the term, %v wait in its queue", depth)
	}
}

// beginTerm has a controller that never gets through with the first of its requests.
func beginTerm(t *testing.T, term *Term, backlog int) (end func()) {
	t.Helper()
	var waiting workqueue.TypedRateLimitingInterface[reconcile.Request]
	c, err := controller.New("backlog",
		term, controller.Options{Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			<-ctx.Done()
			return reconcile.Result{}, poll.Wait(poll.Limit, "the queue has ended, so that nobody takes the others", func() string {
				if waiting.ShuttingDown() {
					return ""
				}
				return "it has not ended"
			})
		})})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		waiting = queue
		for i := range backlog + 1 {
			request := reconcile.Request{}
			request.Name = fmt.Sprint(i)
			queue.Add(request)
		}
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- term.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func awaitGauge(t *testing.T, name, queue string, good func(float64) bool) {
	t.Helper()
	poll.Until(t, name+" is as expected", func() string {
		if value := gauge(t, name, queue); !good(value) {
			return fmt.Sprintf("it is %g", value)
		}
		return ""
	})
}

// gauge adds up the values of a metric of a queue.
func gauge(t *testing.T, name, queue string) (sum float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && strings.Contains(m.String(), `"`+queue+`"`) {
				sum += m.GetGauge().GetValue()
			}
		}
	}
	return sum
}
