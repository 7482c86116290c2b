package replicas

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// BenchmarkAllowedBy prints how long the API server takes for a Job that an APIKey allows, and for one that Triggers allow, each of which
// it looks at. The Jobs are not stored.
func BenchmarkAllowedBy(b *testing.B) {
	s := apiserver.Own(b, apiserver.Options{})
	tm := newTeam(b, s)
	if _, err := s.Kubectl(b, "apply", "-k", "../../config/policy"); err != nil {
		b.Fatal(err)
	}
	manager, err := k8sclient.New(s.Manager(b), k8sclient.Options{Scheme: s.Scheme})
	if err != nil {
		b.Fatal(err)
	}
	create := func(namespace string, hasKey bool) error {
		run := rawSuite(tm.usualTrigger("smoke"), "any")
		run.Namespace, run.UID = namespace, "any"
		return manager.Create(b.Context(), job.WithAllowedBy(job.Build(run, tm.usualTrigger("smoke"), tm.environment()), hasKey), k8sclient.DryRunAll)
	}
	stray, made := s.Namespace(b), 0
	for b.Loop() {
		for _, n := range []int{1, 10, 100, 1000} {
			for ; made < n-1; made++ { // the team has one
				tm.create(tm.usualTrigger(fmt.Sprintf("usual-%d", made)))
			}
			poll.True(b, "the policies are in force", func() bool {
				return create(stray, true) != nil && create(stray, false) != nil && create(tm.namespace, true) == nil && create(tm.namespace, false) == nil
			})
			var byKey, byTrigger []time.Duration
			for range 21 { // in turn, as the speed of a machine changes
				byKey = append(byKey, timed(b, func() error { return create(tm.namespace, true) }))
				byTrigger = append(byTrigger, timed(b, func() error { return create(tm.namespace, false) }))
			}
			slices.Sort(byKey)
			slices.Sort(byTrigger)
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			fmt.Printf("ALLOWED_BY triggers=%d key_ms=%.1f trigger_ms=%.1f least_key_ms=%.1f least_trigger_ms=%.1f\n",
				n, ms(byKey[10]), ms(byTrigger[10]), ms(byKey[0]), ms(byTrigger[0]))
		}
	}
}

// usualTrigger is as large as one with a script and the Secrets of a team.
func (tm *team) usualTrigger(name string) *v1alpha1.Trigger {
	t := tm.trigger(name)
	c := &t.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	c.Command = []string{"sh", "-c", strings.Repeat("npm ci && npx playwright test\n", 20)}
	for i := range 20 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"},
		}})
	}
	return t
}

func timed(b *testing.B, do func() error) time.Duration {
	b.Helper()
	began := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
