package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// withBytes gives a Trigger a job template of that size.
func withBytes(n int) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LARGE", Value: strings.Repeat("x", n)}}
	}
}

func createdIn(namespace string) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Namespace = namespace }
}

// hasTriggers creates Triggers with names like "large-07".
func hasTriggers(w *world.World, name string, n int, change ...func(*v1alpha1.Trigger)) {
	w.T.Helper()
	for i := range n {
		w.Create(build.Trigger(fmt.Sprintf("%s-%02d", name, i), change...))
	}
}

// keepsAtMost: the heap has grown by that many MiB at most, once what is still being decoded is gone (on a busy machine, some 5 MiB).
func keepsAtMost(w *world.World, empty uint64, mib int64) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("the manager keeps %d MiB at most", mib), func() string {
		grown := int64(world.Heap()) - int64(empty)
		if grown <= mib<<20 {
			w.T.Logf("the heap has grown by %d KiB", grown>>10)
			return ""
		}
		return fmt.Sprintf("%d KiB", grown>>10)
	})
}

// TestLargeTriggers: 40 Triggers of 1.3 MiB, in a namespace with a Team or without one, cost a manager no memory to speak of, and other
// teams notice nothing.
func TestLargeTriggers(t *testing.T) {
	for name, owned := range map[string]bool{"with a Team": true, "without a Team": false} {
		t.Run(name, func(t *testing.T) {
			w := world.Empty(t)
			w.HasTeam()
			other := w.Namespace(t)
			if owned {
				w.Create(build.Team(other, ""))
			}
			w.Create(build.Environment("staging"), build.Trigger("before"))
			mgr := w.RunManager(w.CacheOptions(other))
			w.HasCondition(build.Trigger("before"), v1alpha1.ConditionReady, "Watching", "")
			empty := world.Heap()
			hasTriggers(w, "large", 40, createdIn(other), withBytes(1300<<10))
			w.Create(build.Trigger("after"))
			w.HasCondition(build.Trigger("after"), v1alpha1.ConditionReady, "Watching", "")
			keepsAtMost(w, empty, 16)
			for i := range 40 {
				w.HasCondition(build.Trigger(fmt.Sprintf("large-%02d", i), createdIn(other)), v1alpha1.ConditionReady, v1alpha1.ReasonTooLarge, "")
			}
			if held := cachedTriggerBytes(w, mgr); held > 64<<10 {
				t.Errorf("%d bytes of Triggers are cached", held)
			}
			w.Create(build.Trigger("last"))
			w.HasCondition(build.Trigger("last"), v1alpha1.ConditionReady, "Watching", "")
		})
	}
}

func cachedTriggerBytes(w *world.World, mgr ctrl.Manager) (bytes int64) {
	w.T.Helper()
	list := &v1alpha1.TriggerList{}
	w.Must(mgr.GetCache().List(w.T.Context(), list))
	for i := range list.Items {
		bytes += bounded.Size(&list.Items[i])
	}
	return bytes
}

// TestLargeTriggersAtStart: a manager that starts reads them one by one.
func TestLargeTriggersAtStart(t *testing.T) {
	w := world.Empty(t)
	w.HasTeam()
	w.Create(build.Environment("staging"))
	hasTriggers(w, "large", 40, withBytes(400<<10))
	mgr := w.RunManager(w.CacheOptions())
	w.HasCondition(build.Trigger("large-00"), v1alpha1.ConditionReady, "Watching", "")
	w.HasCondition(build.Trigger("large-39"), v1alpha1.ConditionReady, v1alpha1.ReasonTooLarge, "")
	if held := cachedTriggerBytes(w, mgr); held > 8<<20 || held < 7<<20 {
		t.Errorf("%d bytes of Triggers are cached, and 8 MiB are allowed", held)
	}
}

// TestRoomForTriggers: the oldest Triggers of a namespace work, and the others once there is room.
func TestRoomForTriggers(t *testing.T) {
	w := world.Empty(t)
	w.HasTeam()
	other := w.Namespace(t)
	w.Create(build.Team(other, ""), build.Environment("staging"))
	w.StartManager(other)
	hasTriggers(w, "large", 24, withBytes(400<<10))
	w.Create(build.Trigger("small"))
	w.HasCondition(build.Trigger("large-00"), v1alpha1.ConditionReady, "Watching", "")
	w.HasCondition(build.Trigger("small"), v1alpha1.ConditionReady, v1alpha1.ReasonTooLarge, "")
	w.Create(build.Trigger("theirs", createdIn(other)))
	w.HasCondition(build.Trigger("theirs", createdIn(other)), v1alpha1.ConditionReady, "EnvironmentMissing", "")
	for i := range 10 {
		w.Delete(build.Trigger(fmt.Sprintf("large-%02d", i)))
	}
	w.HasCondition(build.Trigger("large-23"), v1alpha1.ConditionReady, "Watching", "")
	w.HasCondition(build.Trigger("small"), v1alpha1.ConditionReady, "Watching", "")
}

// TestTriggersBeforeTheirTeam: Triggers without a Team share a bound, and have their own as soon as they have a Team.
func TestTriggersBeforeTheirTeam(t *testing.T) {
	w := world.Empty(t)
	full := "0-" + w.NS // objects of the same second are ordered by their namespaces
	w.Must(w.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: full}}))
	w.StartManager(full)
	hasTriggers(w, "large", 24, createdIn(full), withBytes(400<<10))
	w.HasCondition(build.Trigger("large-23", createdIn(full)), v1alpha1.ConditionReady, v1alpha1.ReasonTooLarge, "")
	w.Create(build.Environment("staging"), build.Trigger("small"))
	w.HasCondition(build.Trigger("small"), v1alpha1.ConditionReady, v1alpha1.ReasonTooLarge, "")
	w.HasTeam()
	w.HasCondition(build.Trigger("small"), v1alpha1.ConditionReady, "Watching", "")
}

// TestLargeSuitesAndJobs: what others write into the metadata of 150 Suites and 80 Jobs costs a manager little memory, and runs end.
func TestLargeSuitesAndJobs(t *testing.T) {
	w := world.Empty(t)
	w.HasTeam()
	other := w.Namespace(t)
	w.Create(build.Team(other, "", func(t *v1alpha1.Team) { t.Spec.Suspended = true }), build.Environment("staging"), build.Trigger("smoke"))
	cached := w.RunManager(w.CacheOptions(other)).GetCache()
	w.HasCondition(build.Trigger("smoke"), v1alpha1.ConditionReady, "Watching", "")
	empty := world.Heap()
	const suites, jobs = 150, 80
	large := strings.Repeat("x", 120<<10)
	w.Parallel(suites, func(i int) error {
		s := w.Arrives(build.Suite(fmt.Sprintf("large-%03d", i), i, func(s *v1alpha1.Suite) {
			s.Namespace, s.Labels = other, manyLabels(1000)
			s.Annotations = map[string]string{"postflight.dev/x": large, v1alpha1.AnnotationCanceledBy: large}
		}))
		return w.Client.Create(context.Background(), s)
	})
	w.Parallel(jobs, func(i int) error {
		s := build.Suite(fmt.Sprintf("job-%03d", i), i)
		s.Namespace, s.UID = other, "none"
		j := world.JobOf(s)
		j.OwnerReferences, j.Spec.Suspend = nil, new(true)
		j.Annotations = map[string]string{v1alpha1.AnnotationUnderTest: large, v1alpha1.AnnotationStopRequested: large}
		return w.Client.Create(context.Background(), j)
	})
	w.Eventually("the cache has all", func() string {
		runs, remembered := &v1alpha1.SuiteList{}, &batchv1.JobList{}
		w.Must(cached.List(context.Background(), runs, client.InNamespace(other)))
		w.Must(cached.List(context.Background(), remembered, client.InNamespace(other)))
		if len(runs.Items) == suites && len(remembered.Items) == jobs {
			return ""
		}
		return fmt.Sprintf("%d Suites, %d Jobs", len(runs.Items), len(remembered.Items))
	})
	keepsAtMost(w, empty, 24)
	s := build.Suite("mine", 0, func(s *v1alpha1.Suite) {
		s.Labels, s.Finalizers = manyLabels(500), []string{"shop.example.com/keep"}
		s.Annotations = map[string]string{"postflight.dev/x": large, "shop.example.com/ticket": "SHOP-7"}
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: w.NS, UID: "n"}}
	})
	w.Create(s)
	was := s.DeepCopy()
	w.Runs("mine")
	w.Passes("mine")
	is := w.Reaches("mine", v1alpha1.ReasonPassed, "")
	metadata := func(s *v1alpha1.Suite) []any { return []any{s.Labels, s.Annotations, s.Finalizers, s.OwnerReferences} }
	if diff := cmp.Diff(metadata(was), metadata(is)); diff != "" {
		t.Errorf("the run has changed the metadata of the Suite: -was +is\n%.2000s", diff)
	}
	w.Change(is, func(o client.Object) { o.SetFinalizers(nil) })
}

func manyLabels(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("shop.example.com/label-%04d", i)] = "x"
	}
	return all
}

// TestJobsBeyondTheirShare: a run whose Job finds no room in the cache still knows what the Job remembers.
func TestJobsBeyondTheirShare(t *testing.T) {
	w := world.Empty(t)
	w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	cached := w.RunManager(w.CacheOptions()).GetCache()
	w.Parallel(80, func(i int) error {
		s := build.Suite(fmt.Sprintf("job-%03d", i), i)
		s.Namespace, s.UID = w.NS, "none"
		j := world.JobOf(s)
		j.OwnerReferences, j.Spec.Suspend = nil, new(true)
		j.Annotations = map[string]string{v1alpha1.AnnotationUnderTest: strings.Repeat("x", 120<<10)}
		return w.Client.Create(context.Background(), j)
	})
	w.Eventually("the share is used up", func() string {
		list := &batchv1.JobList{}
		w.Must(cached.List(context.Background(), list, client.InNamespace(w.NS)))
		for _, j := range list.Items {
			if j.Annotations[v1alpha1.AnnotationMemoryOmitted] != "" {
				return ""
			}
		}
		return fmt.Sprintf("%d Jobs", len(list.Items))
	})
	s := build.Suite("mine", 0)
	w.Create(s)
	j := w.HasJob("mine")
	w.Change(j, func(o client.Object) {
		o.SetAnnotations(map[string]string{
			v1alpha1.AnnotationTimeout: "30m",
			v1alpha1.AnnotationUnderTest: `[{"kind":"Deployment","namespace":"shop","name":"web","start":{"revision":"` + strings.Repeat("7", 100) + `"}},` +
				strings.Repeat(" ", 120<<10) + `{"kind":"Deployment","namespace":"shop","name":"api","start":{"revision":"7"}}]`,
		})
	})
	w.Eventually("the cache lacks what the Job remembers", func() string {
		w.Must(cached.Get(context.Background(), w.Key("mine"), j))
		if j.Annotations[v1alpha1.AnnotationMemoryOmitted] != "" {
			return ""
		}
		return fmt.Sprint(len(j.Annotations))
	})
	w.Runs("mine")
	w.Passes("mine")
	w.Await("what was under test is known", s, func() bool {
		return s.Finished() && s.Status.UnderTest != nil && len(s.Status.UnderTest.Workloads) == 2
	})
}

// TestManyVariables: the variables of a namespace's unfinished runs take 8 MiB of the cache at most, and the other runs still have them.
func TestManyVariables(t *testing.T) {
	w := world.Empty(t)
	team := w.HasTeam(func(t *v1alpha1.Team) { t.Spec.Suspended = true }) // no run ends
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	cached := w.RunManager(w.CacheOptions()).GetCache()
	const runs = 160
	w.Parallel(runs, func(i int) error {
		s := w.Arrives(build.Suite(fmt.Sprintf("run-%03d", i), i, func(s *v1alpha1.Suite) {
			s.Namespace = w.NS
			s.Spec.Variables = v1alpha1.Variables{"LARGE": strings.Repeat("x", 30<<10), "MORE": strings.Repeat("y", 30<<10)}
		}))
		return w.Client.Create(context.Background(), s)
	})
	kept, omitted := 0, ""
	w.Eventually("the cache has all runs", func() string {
		list := &v1alpha1.SuiteList{}
		w.Must(cached.List(context.Background(), list, client.InNamespace(w.NS)))
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
	w.Change(team, func(o client.Object) { o.(*v1alpha1.Team).Spec.Suspended = false })
	j := w.HasJob(omitted)
	for _, e := range j.Spec.Template.Spec.Containers[0].Env {
		if e.Name == "LARGE" && len(e.Value) == 30<<10 {
			return
		}
	}
	t.Errorf("the Job of %s lacks its variables", omitted)
}
