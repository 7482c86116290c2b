package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
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
			mgr := w.runManager(w.cacheOptions(other))
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
			if held := w.cachedTriggerBytes(mgr); held > 64<<10 {
				t.Errorf("%d bytes of Triggers are cached", held)
			}
			w.create(aTrigger("last"))
			w.isReady(w.ns, "last", "Watching")
		})
	}
}

func (w *world) cachedTriggerBytes(mgr ctrl.Manager) (bytes int64) {
	w.t.Helper()
	list := &v1alpha1.TriggerList{}
	w.must(mgr.GetCache().List(w.t.Context(), list))
	for i := range list.Items {
		bytes += bounded.Size(&list.Items[i])
	}
	return bytes
}

// TestLargeTriggersAtStart: a manager that starts reads them one by one.
func TestLargeTriggersAtStart(t *testing.T) {
	w := emptyWorld(t)
	w.hasTeam()
	w.create(anEnvironment("staging"))
	w.hasTriggers("large", 40, withBytes(400<<10))
	mgr := w.runManager(w.cacheOptions())
	w.isReady(w.ns, "large-00", "Watching")
	w.isReady(w.ns, "large-39", v1alpha1.ReasonTooLarge)
	if held := w.cachedTriggerBytes(mgr); held > 8<<20 || held < 7<<20 {
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

// TestLargeSuitesAndJobs: what others write into the metadata of 150 Suites and 80 Jobs costs a manager little memory, and runs end.
func TestLargeSuitesAndJobs(t *testing.T) {
	w := emptyWorld(t)
	w.hasTeam()
	other := w.Namespace(t)
	w.create(aTeam(other, "", func(t *v1alpha1.Team) { t.Spec.Suspended = true }), anEnvironment("staging"), aTrigger("smoke"))
	cached := w.runManager(w.cacheOptions(other)).GetCache()
	w.isReady(w.ns, "smoke", "Watching")
	empty := heap()
	const suites, jobs = 150, 80
	large := strings.Repeat("x", 120<<10)
	w.parallel(suites, func(i int) error {
		s := w.arrives(aSuite(fmt.Sprintf("large-%03d", i), i, func(s *v1alpha1.Suite) {
			s.Namespace, s.Labels = other, manyLabels(1000)
			s.Annotations = map[string]string{"postflight.dev/x": large, v1alpha1.AnnotationCanceledBy: large}
		}))
		return w.Client.Create(context.Background(), s)
	})
	w.parallel(jobs, func(i int) error {
		s := aSuite(fmt.Sprintf("job-%03d", i), i)
		s.Namespace, s.UID = other, "none"
		j := jobOf(s)
		j.OwnerReferences, j.Spec.Suspend = nil, new(true)
		j.Annotations = map[string]string{v1alpha1.AnnotationUnderTest: large, v1alpha1.AnnotationStopRequested: large}
		return w.Client.Create(context.Background(), j)
	})
	w.eventually("the cache has all", func() string {
		runs, remembered := &v1alpha1.SuiteList{}, &batchv1.JobList{}
		w.must(cached.List(context.Background(), runs, client.InNamespace(other)))
		w.must(cached.List(context.Background(), remembered, client.InNamespace(other)))
		if len(runs.Items) == suites && len(remembered.Items) == jobs {
			return ""
		}
		return fmt.Sprintf("%d Suites, %d Jobs", len(runs.Items), len(remembered.Items))
	})
	grown := int64(heap()) - int64(empty)
	t.Logf("the heap has grown by %d KiB", grown>>10)
	if grown > 24<<20 {
		t.Errorf("%d Suites and %d Jobs take %d MiB", suites, jobs, grown>>20)
	}
	s := aSuite("mine", 0, func(s *v1alpha1.Suite) {
		s.Labels, s.Finalizers = manyLabels(500), []string{"shop.example.com/keep"}
		s.Annotations = map[string]string{"postflight.dev/x": large, "shop.example.com/ticket": "SHOP-7"}
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: w.ns, UID: "n"}}
	})
	w.create(s)
	was := s.DeepCopy()
	w.runs("mine")
	w.passes("mine")
	is := w.reaches("mine", v1alpha1.ReasonPassed, "")
	metadata := func(s *v1alpha1.Suite) []any { return []any{s.Labels, s.Annotations, s.Finalizers, s.OwnerReferences} }
	if diff := cmp.Diff(metadata(was), metadata(is)); diff != "" {
		t.Errorf("the run has changed the metadata of the Suite: -was +is\n%.2000s", diff)
	}
	w.change(is, func(o client.Object) { o.SetFinalizers(nil) })
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
	w := emptyWorld(t)
	w.hasTeam()
	w.create(anEnvironment("staging"), aTrigger("smoke"))
	cached := w.runManager(w.cacheOptions()).GetCache()
	w.parallel(80, func(i int) error {
		s := aSuite(fmt.Sprintf("job-%03d", i), i)
		s.Namespace, s.UID = w.ns, "none"
		j := jobOf(s)
		j.OwnerReferences, j.Spec.Suspend = nil, new(true)
		j.Annotations = map[string]string{v1alpha1.AnnotationUnderTest: strings.Repeat("x", 120<<10)}
		return w.Client.Create(context.Background(), j)
	})
	w.eventually("the share is used up", func() string {
		list := &batchv1.JobList{}
		w.must(cached.List(context.Background(), list, client.InNamespace(w.ns)))
		for _, j := range list.Items {
			if j.Annotations[v1alpha1.AnnotationMemoryOmitted] != "" {
				return ""
			}
		}
		return fmt.Sprintf("%d Jobs", len(list.Items))
	})
	s := aSuite("mine", 0)
	w.create(s)
	j := w.hasJob("mine")
	w.change(j, func(o client.Object) {
		o.SetAnnotations(map[string]string{
			v1alpha1.AnnotationTimeout: "30m",
			v1alpha1.AnnotationUnderTest: `[{"kind":"Deployment","namespace":"shop","name":"web","start":{"revision":"` + strings.Repeat("7", 100) + `"}},` +
				strings.Repeat(" ", 120<<10) + `{"kind":"Deployment","namespace":"shop","name":"api","start":{"revision":"7"}}]`,
		})
	})
	w.eventually("the cache lacks what the Job remembers", func() string {
		w.must(cached.Get(context.Background(), w.key("mine"), j))
		if j.Annotations[v1alpha1.AnnotationMemoryOmitted] != "" {
			return ""
		}
		return fmt.Sprint(len(j.Annotations))
	})
	w.runs("mine")
	w.passes("mine")
	w.eventually("what was under test is known", func() string {
		w.must(w.Client.Get(context.Background(), w.key("mine"), s))
		if u := s.Status.UnderTest; s.Finished() && u != nil && len(u.Workloads) == 2 {
			return ""
		}
		return fmt.Sprintf("%+v", s.Status)
	})
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
