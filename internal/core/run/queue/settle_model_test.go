package queue_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestBurstModel changes the deployments of one Environment in random ways. After each of them, the queue, which has only seen the changes,
// must know the burst that is found by looking at all of them.
func TestBurstModel(t *testing.T) {
	tier.PinRapid(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &burstModel{queue: queue.New(), suites: map[string]*v1alpha1.Suite{}, environment: settleIn(time.Second, 0)}
		m.queue.SetSettle(m.environment, m.all)
		t.Repeat(map[string]func(*rapid.T){
			"run":     m.run,
			"end":     m.end,
			"delete":  m.delete,
			"rollout": m.rollout,
			"quiet":   m.quiet,
			"settle":  m.settle,
			"": func(t *rapid.T) {
				if got, want := m.queue.Burst("staging"), queue.BurstOf(m.environment, m.all()); got != want {
					t.Fatalf("%+v, want %+v", got, want)
				}
			},
		})
	})
}

type burstModel struct {
	queue       *queue.Queue
	suites      map[string]*v1alpha1.Suite
	environment *v1alpha1.Environment
}

func (m *burstModel) all() []*v1alpha1.Suite { return slices.Collect(maps.Values(m.suites)) }

func secondOf(t *rapid.T) int { return rapid.IntRange(0, 60).Draw(t, "second") }

// run notifies of a deployment, or again of one.
func (m *burstModel) run(t *rapid.T) {
	name := fmt.Sprintf("run-%d", rapid.IntRange(0, 9).Draw(t, "run"))
	s := m.suites[name]
	switch {
	case s == nil:
		s = aSuite(name, secondOf(t))
	case s.Finished():
		t.Skip("it has ended")
	default:
		s = s.DeepCopy()
		notifiedAgain(secondOf(t))(s)
	}
	if rapid.IntRange(0, 3).Draw(t, "by a person") == 0 {
		rerunBy(s)
	}
	m.set(s)
}

func (m *burstModel) set(s *v1alpha1.Suite) {
	m.suites[s.Name] = s
	m.queue.Set(s)
}

func (m *burstModel) any(t *rapid.T) *v1alpha1.Suite {
	names := slices.Sorted(maps.Keys(m.suites))
	if len(names) == 0 {
		t.Skip("there is none")
	}
	return m.suites[rapid.SampledFrom(names).Draw(t, "run")]
}

func (m *burstModel) end(t *rapid.T) {
	s := m.any(t).DeepCopy()
	inState(v1alpha1.Superseded(""))(s)
	m.set(s)
}

func (m *burstModel) delete(t *rapid.T) {
	s := m.any(t)
	delete(m.suites, s.Name)
	m.queue.Delete(s.Name)
}

func (m *burstModel) rollout(t *rapid.T) {
	m.change(func(e *v1alpha1.Environment) {
		e.Status.Deployed = []v1alpha1.Deployed{{Since: new(metav1.NewTime(after(secondOf(t))))}}
	})
}

func (m *burstModel) quiet(t *rapid.T) {
	m.change(func(e *v1alpha1.Environment) {
		e.Spec.Settle = settleIn(time.Duration(rapid.IntRange(1, 12).Draw(t, "quiet"))*time.Second, 0).Spec.Settle
	})
}

// regroup removes spec.settle, after which the queue knows of no deployments, or sets it again.
func (m *burstModel) settle(*rapid.T) {
	m.change(func(e *v1alpha1.Environment) {
		if e.Spec.Settle != nil {
			e.Spec.Settle = nil
		} else {
			e.Spec.Settle = settleIn(5*time.Second, 0).Spec.Settle
		}
	})
}

func (m *burstModel) change(change func(*v1alpha1.Environment)) {
	m.environment = m.environment.DeepCopy()
	change(m.environment)
	m.queue.SetSettle(m.environment, m.all)
}
