package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// withBytes gives a Trigger a job template of that size.
func withBytes(n int) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LARGE", Value: strings.Repeat("x", n)}}
	}
}

func in(namespace string) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Namespace = namespace }
}

// hasTriggers creates Triggers with names like "large-07".
func (w *world) hasTriggers(name string, n int, change ...func(*v1alpha1.Trigger)) {
	w.t.Helper()
	for i := range n {
		w.create(aTrigger(fmt.Sprintf("%s-%02d", name, i), change...))
	}
}

// isReady waits until the Ready condition of a Trigger has a reason.
func (w *world) isReady(namespace, name, reason string) {
	w.t.Helper()
	w.eventually(name+" is "+reason, func() string {
		t := &v1alpha1.Trigger{}
		w.must(w.Client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, t))
		c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady)
		if c != nil && c.Reason == reason {
			return ""
		}
		return fmt.Sprintf("%+v", c)
	})
}

// TestLargeTriggers: 40 Triggers of 1.3 MiB, in a namespace with a Team or without one, cost a manager no memory to speak of, and other
// teams notice nothing.
func TestLargeTriggers(t *testing.T) {
	for name, owned := range map[string]bool{"with a Team": true, "without a Team": false} {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld(t)
			w.hasTeam()
			other := w.Namespace(t)
			if owned {
				w.create(aTeam(other, ""))
			}
			w.create(anEnvironment("staging"), aTrigger("before"))
			w.startManager(other)
			w.isReady(w.ns, "before", "Watching")
			empty := heap()
			w.hasTriggers("large", 40, in(other), withBytes(1300<<10))
			w.create(aTrigger("after"))
			w.isReady(w.ns, "after", "Watching")
			if grown := int64(heap()) - int64(empty); grown > 16<<20 {
				t.Fatalf("40 Triggers of 1.3 MiB take %d MiB", grown>>20)
			}
			for i := range 40 {
				w.isReady(other, fmt.Sprintf("large-%02d", i), v1alpha1.ReasonTooLarge)
			}
			if held := w.bounds.Held(&v1alpha1.Trigger{}); held > 64<<10 {
				t.Errorf("%d bytes of Triggers are cached", held)
			}
			w.create(aTrigger("last"))
			w.isReady(w.ns, "last", "Watching")
		})
	}
}

// TestLargeTriggersAtStart: a manager that starts reads them one by one.
func TestLargeTriggersAtStart(t *testing.T) {
	w := emptyWorld(t)
	w.hasTeam()
	w.create(anEnvironment("staging"))
	w.hasTriggers("large", 40, withBytes(400<<10))
	w.startManager()
	w.isReady(w.ns, "large-00", "Watching")
	w.isReady(w.ns, "large-39", v1alpha1.ReasonTooLarge)
	if held := w.bounds.Held(&v1alpha1.Trigger{}); held > 8<<20 || held < 7<<20 {
		t.Errorf("%d bytes of Triggers are cached, and 8 MiB are allowed", held)
	}
}

// TestRoomForTriggers: the oldest Triggers of a namespace work, and the others once there is room.
func TestRoomForTriggers(t *testing.T) {
	w := emptyWorld(t)
	w.hasTeam()
	other := w.Namespace(t)
	w.create(aTeam(other, ""), anEnvironment("staging"))
	w.startManager(other)
	w.hasTriggers("large", 24, withBytes(400<<10))
	w.create(aTrigger("small"))
	w.isReady(w.ns, "large-00", "Watching")
	w.isReady(w.ns, "small", v1alpha1.ReasonTooLarge)
	w.create(aTrigger("theirs", in(other)))
	w.isReady(other, "theirs", "EnvironmentMissing")
	for i := range 10 {
		w.must(w.Client.Delete(context.Background(), aTrigger(fmt.Sprintf("large-%02d", i), in(w.ns))))
	}
	w.isReady(w.ns, "large-23", "Watching")
	w.isReady(w.ns, "small", "Watching")
}

// TestTriggersBeforeTheirTeam: Triggers without a Team share a bound, and have their own as soon as they have a Team.
func TestTriggersBeforeTheirTeam(t *testing.T) {
	w := emptyWorld(t)
	full := w.Namespace(t)
	w.startManager(full)
	w.hasTriggers("large", 24, in(full), withBytes(400<<10))
	w.isReady(full, "large-23", v1alpha1.ReasonTooLarge)
	w.create(anEnvironment("staging"), aTrigger("small"))
	w.isReady(w.ns, "small", v1alpha1.ReasonTooLarge)
	w.hasTeam()
	w.isReady(w.ns, "small", "Watching")
}

// TestManyVariables: the variables of a namespace's unfinished runs take 8 MiB of the cache at most, and the other runs still have them.
func TestManyVariables(t *testing.T) {
	w := emptyWorld(t)
	team := w.hasTeam(func(t *v1alpha1.Team) { t.Spec.Suspended = true }) // no run ends
	w.create(anEnvironment("staging"), aTrigger("smoke"))
	cached := w.runManager(w.cacheOptions()).GetCache()
	const runs = 160
	w.parallel(runs, func(i int) error {
		s := w.arrives(aSuite(fmt.Sprintf("run-%03d", i), i, func(s *v1alpha1.Suite) {
			s.Namespace = w.ns
			s.Spec.Variables = v1alpha1.Variables{"LARGE": strings.Repeat("x", 30<<10), "MORE": strings.Repeat("y", 30<<10)}
		}))
		return w.Client.Create(context.Background(), s)
	})
	kept, omitted := 0, ""
	w.eventually("the cache has all runs", func() string {
		list := &v1alpha1.SuiteList{}
		w.must(cached.List(context.Background(), list, client.InNamespace(w.ns)))
		kept, omitted = 0, ""
		for _, s := range list.Items {
			if kept += len(s.Spec.Variables["LARGE"]) + len(s.Spec.Variables["MORE"]); len(s.Spec.Variables) == 0 {
				omitted = s.Name
			}
		}
		if len(list.Items) == runs {
			return ""
		}
		return fmt.Sprintf("%d", len(list.Items))
	})
	if omitted == "" || kept > 8<<20 {
		t.Fatalf("the cache has %d bytes of variables, and no run lacks them: %q", kept, omitted)
	}
	w.change(team, func(o client.Object) { o.(*v1alpha1.Team).Spec.Suspended = false })
	j := w.hasJob(omitted)
	for _, e := range j.Spec.Template.Spec.Containers[0].Env {
		if e.Name == "LARGE" && len(e.Value) == 30<<10 {
			return
		}
	}
	t.Errorf("the Job of %s lacks its variables", omitted)
}
