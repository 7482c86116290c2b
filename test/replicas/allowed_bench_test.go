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

// BenchmarkAllowedBy prints how long the API server takes for a Job that an APIKey allows, for one that an Environment allows, as in a
// namespace without an APIKey, and for one that Triggers allow, each of which it looks at. The Jobs are not stored.
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
	allowedBy := func(hasKey bool, unlabeled ...*v1alpha1.Environment) func(namespace string) error {
		return func(namespace string) error {
			run := rawSuite(tm.usualTrigger("smoke"), "any")
			run.Namespace, run.UID = namespace, "any"
			built := job.Build(run, tm.usualTrigger("smoke"), tm.environment())
			return manager.Create(b.Context(), job.WithAllowedBy(built, hasKey, unlabeled), k8sclient.DryRunAll)
		}
	}
	ways := []func(namespace string) error{allowedBy(true), allowedBy(false, tm.environment()), allowedBy(false)}
	stray, made := s.Namespace(b), 0
	for b.Loop() {
		for _, n := range []int{1, 10, 100, 1000} {
			for ; made < n-1; made++ { // the team has one
				tm.create(tm.usualTrigger(fmt.Sprintf("usual-%d", made)))
			}
			poll.True(b, "the policies are in force", func() bool {
				return !slices.ContainsFunc(ways, func(create func(string) error) bool { return create(stray) == nil || create(tm.namespace) != nil })
			})
			took := make([][]float64, len(ways))
			for range 21 { // in turn, as the speed of a machine changes
				for i, create := range ways {
					took[i] = append(took[i], float64(timed(b, func() error { return create(tm.namespace) }).Microseconds())/1000)
				}
			}
			for i := range took {
				slices.Sort(took[i])
			}
			fmt.Printf("ALLOWED_BY triggers=%d key_ms=%.1f environment_ms=%.1f trigger_ms=%.1f", n, took[0][10], took[1][10], took[2][10])
			fmt.Printf(" least_key_ms=%.1f least_environment_ms=%.1f least_trigger_ms=%.1f\n", took[0][0], took[1][0], took[2][0])
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
