package queue_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// The steps of TestQueueModel that put Environments on hold, or deploy to those that have to settle.

// hold begins, prolongs or ends a hold.
func (m *queueModel) hold(t *rapid.T) {
	environment := anyEnvironment(t)
	until := m.now.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "of 10 seconds")) * 10 * time.Second)
	if until.Equal(m.now) {
		until = time.Time{}
	}
	m.held[environment] = until
	m.queue.SetHold(environment, until)
}

func anyEnvironment(t *rapid.T) string {
	return fmt.Sprintf("environment-%d", rapid.IntRange(0, 2).Draw(t, "environment"))
}

// settling changes or removes spec.settle.
func (m *queueModel) settling(t *rapid.T) {
	environment := anyEnvironment(t)
	quiet := rapid.IntRange(0, 8).Draw(t, "quiet")
	if m.settle[environment] = nil; quiet > 0 {
		m.settle[environment] = settleIn(time.Duration(quiet)*time.Second, time.Duration(rapid.IntRange(0, 20).Draw(t, "at most"))*time.Second).Spec.Settle
	}
	m.setSettle(environment)
}

func (m *queueModel) rolledOut(t *rapid.T) {
	environment := anyEnvironment(t)
	m.rollout[environment] = t0.Add(time.Duration(rapid.IntRange(0, m.arrived+1).Draw(t, "seconds")) * time.Second)
	m.setSettle(environment)
}

func (m *queueModel) setSettle(environment string) {
	m.queue.SetSettle(m.environment(environment), func() []*v1alpha1.Suite { return m.existing(environment) })
}

func (m *queueModel) environment(name string) *v1alpha1.Environment {
	e := anEnvironment()
	e.Name, e.Spec.Settle = name, m.settle[name]
	if at, known := m.rollout[name]; known {
		e.Status.Deployed = []v1alpha1.Deployed{{Since: new(metav1.NewTime(at))}}
	}
	return e
}

// existing returns all runs of an Environment, also those that have ended.
func (m *queueModel) existing(environment string) []*v1alpha1.Suite {
	all := slices.AppendSeq(slices.Collect(maps.Values(m.suites)), maps.Values(m.ended))
	return slices.DeleteFunc(all, func(s *v1alpha1.Suite) bool { return s.Spec.Environment != environment })
}

// expire deletes a run that has ended.
func (m *queueModel) expire(t *rapid.T) {
	names := slices.Sorted(maps.Keys(m.ended))
	if len(names) == 0 {
		t.Skip("there is none")
	}
	name := rapid.SampledFrom(names).Draw(t, "run")
	delete(m.ended, name)
	m.queue.Delete(name)
}

// pass is time that passes.
func (m *queueModel) pass(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
	m.queue.EndWaits(m.now)
}

// waiting reports which runs wait for the end of a hold, or for their Environment to settle.
func (m *queueModel) waiting() func(*v1alpha1.Suite) bool {
	waits := map[string]bool{}
	for i := range 3 {
		e := m.environment(fmt.Sprintf("environment-%d", i))
		settled, _ := queue.BurstOf(e, m.existing(e.Name)).Settled(e)
		waits[e.Name] = settled.After(m.now) || m.held[e.Name].After(m.now)
	}
	return func(s *v1alpha1.Suite) bool { return waits[s.Spec.Environment] }
}
