package controllers

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/postflight-dev/postflight/internal/teamlabel"
)

// TestQueuesEndWithTheTerm: what waits when the lead is lost waits in the queue of the next leader, and not in two.
func TestQueuesEndWithTheTerm(t *testing.T) {
	m, err := NewMetrics(prometheus.NewRegistry(), fake.NewClientBuilder().Build(), teamlabel.New(0), clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	const name = "of-a-term-that-ends"
	q := priorityqueue.New[ctrl.Request](name)
	q.Add(ctrl.Request{})
	for deadline := time.Now().Add(10 * time.Second); depthOf(t, name) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the depth is %v, want 1", depthOf(t, name))
		}
	}
	q.ShutDown()
	m.EndTerm()
	if depth := depthOf(t, name); depth != 0 {
		t.Errorf("after the term, %v wait in its queue", depth)
	}
}

func depthOf(t *testing.T, queue string) (depth float64) {
	t.Helper()
	families, err := crmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.Metric {
			for _, label := range metric.Label {
				if family.GetName() == "workqueue_depth" && label.GetName() == "name" && label.GetValue() == queue {
					depth += metric.GetGauge().GetValue()
				}
			}
		}
	}
	return depth
}
