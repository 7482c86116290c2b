package runs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/test/clitest"
	"github.com/postflight-dev/postflight/test/suites"
)

// TestRunsRerunIsRefused: the same as by the server, with the same reason.
func TestRunsRerunIsRefused(t *testing.T) {
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "new"}}
	going := trigger.DeepCopy()
	going.Finalizers, going.DeletionTimestamp = []string{"postflight.dev/test"}, new(metav1.NewTime(clitest.Noon))
	next, _ := rerun.NextAttempt(clitest.Suite("a", clitest.Failed), trigger, "")
	foreign := clitest.Suite(next.Name, func(s *v1alpha1.Suite) { s.Spec.Environment = "elsewhere" })
	terminating := next.DeepCopy()
	terminating.Finalizers, terminating.DeletionTimestamp = []string{"postflight.dev/test"}, new(metav1.NewTime(clitest.Noon))
	last := clitest.Suite("a", clitest.Failed, func(s *v1alpha1.Suite) { s.Spec.Attempt = v1alpha1.MaxAttempt })
	for name, tc := range map[string]struct {
		objects []client.Object
		says    string
	}{
		"no Trigger": {[]client.Object{clitest.Suite("a", clitest.Failed)},
			`the Trigger "smoke" of the run does not exist any more`},
		"the Trigger is being deleted": {[]client.Object{clitest.Suite("a", clitest.Failed), going},
			`the Trigger "smoke" of the run does not exist any more`},
		"too many attempts": {[]client.Object{last, trigger}, "the run a is attempt 1000000, and there can be no more"},
		"the name is taken": {[]client.Object{clitest.Suite("a", clitest.Failed), trigger, foreign},
			"belongs to a Suite that is not an attempt of this run"},
		"the attempt is being deleted": {[]client.Object{clitest.Suite("a", clitest.Failed), trigger, terminating},
			"is being deleted, and is not gone yet"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := clitest.Console()
			r := clitest.Cluster(c, tc.objects...)
			clitest.Fails(t, name, (&RerunOptions{Options: onCluster(r)}).Run(t.Context(), "a"), tc.says)
		})
	}
}

// TestRunsRerunFailed: the same attempt as by the server, and the same refusals.
func TestRunsRerunFailed(t *testing.T) {
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "new"},
		Spec: v1alpha1.TriggerSpec{Results: &v1alpha1.Results{MinTests: 120}}}
	endless, classed := trigger.DeepCopy(), trigger.DeepCopy()
	endless.Spec.Results.MinTests, classed.Spec.TriggerClassName = 0, "web"
	class := &v1alpha1.TriggerClass{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	class.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "e2e"}}
	staging := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "staging"}}
	tests := func(s *v1alpha1.Suite) {
		s.Spec.Trigger.UID, s.UID = "new", "uid-a"
		s.Spec.Deployment.SHA = "5ca1ab1e"
		s.Status.Results = &v1alpha1.TestResults{Tests: 120, Passed: 117, Failed: 3, OnlyTestsFailed: true}
	}
	crashed := func(s *v1alpha1.Suite) { s.Status.Results.OnlyTestsFailed = false }
	later := clitest.Suite("later", clitest.Failed, func(s *v1alpha1.Suite) {
		s.Spec.Deployment.SHA, s.CreationTimestamp = "b776998a", metav1.NewTime(clitest.Noon.Add(time.Hour))
		s.Spec.ReceivedAt, s.Spec.SupersedeKey = nil, "other"
	})
	a := clitest.Suite("a", clitest.Failed, tests)
	j := suites.JobOf(a, trigger, staging)
	for name, tc := range map[string]struct {
		run       *v1alpha1.Suite
		trigger   *v1alpha1.Trigger
		others    []client.Object
		forbidden string // a kind
		says      string
	}{
		"tests failed":           {a, trigger, []client.Object{j}, "", ""},
		"a crash, too":           {clitest.Suite("a", clitest.Failed, tests, crashed), trigger, []client.Object{j}, "", "more than tests failed in the run a"},
		"another deployed":       {a, trigger, []client.Object{j, later}, "", "postflight runs rerun later"},
		"nothing shows how many": {a, endless, []client.Object{suites.JobOf(a, endless, staging)}, "", "Set results.minTests of the Trigger"},
		"other tests":            {a, trigger, []client.Object{suites.JobOf(a, endless, staging)}, "", "was changed after the run a"},
		"no Job":                 {a, trigger, nil, "", "the Job of the run a is gone"},
		"a hidden Job":           {a, trigger, nil, "*v1.Job", ""},
		"a hidden class":         {a, classed, []client.Object{class}, "*v1alpha1.TriggerClass", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, out, _ := clitest.Console()
			r := clitest.Cluster(c, append(tc.others, tc.trigger, staging, tc.run)...)
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if fmt.Sprintf("%T", o) == tc.forbidden {
						return apierrors.NewForbidden(schema.GroupResource{}, key.Name, nil)
					}
					return c.Get(ctx, key, o, opts...)
				}})
			err := (&RerunOptions{Options: onCluster(r), Failed: true}).Run(t.Context(), "a")
			if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%v, want %q in it", err, tc.says)
			}
			next := &v1alpha1.Suite{}
			if err == nil {
				if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: strings.TrimSpace(out.String())}, next); err != nil ||
					next.FailedTestsOf() != "a" {
					t.Errorf("%v %+v", err, next.Spec)
				}
			}
		})
	}
}

func TestRunsRerun(t *testing.T) {
	c, out, _ := clitest.Console()
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "new"}}
	r := clitest.Cluster(c, clitest.Suite("a", clitest.Failed), trigger)
	o, source := &RerunOptions{Options: onCluster(r)}, &ClusterRuns{Cluster: &r}
	rerun := func(id string) *v1alpha1.Suite {
		t.Helper()
		out.Reset()
		if err := o.Run(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		s, err := source.getSuite(t.Context(), strings.TrimSpace(out.String()))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	second := rerun("a")
	if by := second.Annotations[v1alpha1.AnnotationRerunBy]; by != "ada" {
		t.Errorf("the attempt says that %q requested it", by)
	}
	if second.Spec.Attempt != 2 || second.Spec.Trigger.UID != "new" || second.Spec.ReceivedAt != nil || second.State() != "" {
		t.Errorf("%+v", second.Spec)
	}
	if again := rerun("a"); again.Name != second.Name {
		t.Errorf("%s was started while %s continues", again.Name, second.Name)
	}
	clitest.Failed(second)
	if err := r.Client.Update(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	third := rerun("a")
	if third.Spec.Attempt != 3 {
		t.Errorf("after the end of the second attempt: %+v", third.Spec)
	}
	clitest.Fails(t, "a run that goes on", o.Run(t.Context(), third.Name), "has not ended")
	clitest.Fails(t, "an unknown run", o.Run(t.Context(), "nope"), `there is no run "nope" in the namespace acme`)
}

// A rerun of a commit that was replaced would test another one, whichever branch it is of.
func TestRunsRerunAfterANewerDeployment(t *testing.T) {
	sha := func(sha string, ago time.Duration) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) {
			s.Spec.Deployment.SHA, s.Spec.SupersedeKey = sha, "main/staging"
			s.Spec.ReceivedAt = new(metav1.NewMicroTime(clitest.Noon.Add(-ago)))
		}
	}
	other := func(s *v1alpha1.Suite) { s.Spec.SupersedeKey = "other/staging" }
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "old"}}
	c, _, _ := clitest.Console()
	r := clitest.Cluster(c, trigger, clitest.Suite("a", sha("a", time.Hour), clitest.Failed),
		clitest.Suite("b", sha("b", time.Minute), clitest.Failed),
		clitest.Suite("another-branch", sha("c", 2*time.Hour), other))
	clitest.Fails(t, "the older one", (&RerunOptions{Options: onCluster(r)}).Run(t.Context(), "a"),
		"b was deployed to staging after a. To test what is there: postflight runs rerun b")
	if err := (&RerunOptions{Options: onCluster(r)}).Run(t.Context(), "b"); err != nil {
		t.Errorf("the newest one: %v", err)
	}
	r = clitest.Cluster(c, trigger, clitest.Suite("b", sha("b", time.Minute), clitest.Failed),
		clitest.Suite("another-branch", sha("c", time.Second), other))
	clitest.Fails(t, "another branch came later", (&RerunOptions{Options: onCluster(r)}).Run(t.Context(), "b"),
		"c was deployed to staging after b")
}

// TestRerunWarnsWithoutTeam: the attempt would queue until exactly one Team owns the namespace.
func TestRerunWarnsWithoutTeam(t *testing.T) {
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke", UID: "new"}}
	team := func(name, namespace string) *v1alpha1.Team {
		return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TeamSpec{Namespace: namespace}}
	}
	for name, tc := range map[string]struct {
		teams []client.Object
		says  string // "": no warning
	}{
		"none":               {nil, `Warning: no Team owns the namespace "acme", so the run queues until exactly one Team owns it.`},
		"of other namespace": {[]client.Object{team("shop", "")}, `Warning: no Team owns the namespace "acme"`},
		"several":            {[]client.Object{team("acme", ""), team("rival", "acme")}, `Warning: several Teams claim the namespace "acme"`},
		"one":                {[]client.Object{team("acme", ""), team("shop", "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, log := clitest.Console()
			objects := append([]client.Object{clitest.Suite("a", clitest.Failed), trigger}, tc.teams...)
			if err := (&RerunOptions{Options: onCluster(clitest.Cluster(c, objects...))}).Run(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if got := log.String(); !strings.Contains(got, tc.says) || tc.says == "" && strings.Contains(got, "Warning") {
				t.Errorf("it says %q", got)
			}
		})
	}
}
