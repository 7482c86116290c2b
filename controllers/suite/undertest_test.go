package suite_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// testingWorld has a Deployment web of commit 1, which the Environment staging names, and a Trigger.
func testingWorld(t *testing.T) (w *world.World, web *appsv1.Deployment) {
	t.Helper()
	w = world.Empty(t)
	w.HasTeam()
	w.Grant("ClusterRole", world.WorkloadsReader)
	staging := build.Environment("staging")
	web = build.Deployment("web", build.Commit(1))
	w.Create(staging, web, build.Trigger("smoke"))
	w.RollsOut(web)
	w.StartManager()
	w.NamesWorkloads(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop"})
	w.HasDeployed(staging, build.Commit(1)+" true sha256:1111")
	return w, web
}

func testsCommit(n int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Spec.Deployment.SHA, s.Spec.Deployment.Repository, s.Spec.SupersedeKey = build.Commit(n), "acme/shop", "main"
	}
}

// ends are the ways in which the tests of a run end.
var testEnds = map[string]struct {
	end   func(w *world.World, name string)
	state string
}{
	"passed": {(*world.World).Passes, v1alpha1.ReasonPassed},
	"failed": {func(w *world.World, name string) { w.Exits(name, 1) }, v1alpha1.ReasonFailed},
}

// TestUnderTestIsRecorded with the digests at the start and at the end. A restart in between changes nothing.
func TestUnderTestIsRecorded(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	for name, end := range testEnds {
		w.Start(build.Suite(name, 0, testsCommit(1), build.Keyed(name)))
		restarts(w, web)
		end.end(w, name)
		s := w.Reaches(name, end.state, "")
		tested := s.Status.UnderTest
		if tested == nil || len(tested.Workloads) != 1 || tested.Changed != "" || s.Status.RepeatedBy != "" {
			t.Fatalf("%+v", tested)
		}
		start, is := tested.Workloads[0].Start, tested.Workloads[0].End
		if start.SHA != build.Commit(1) || is == nil || is.SHA != build.Commit(1) || is.Revision == start.Revision || len(is.Digests) != 1 || is.Digests[0] != start.Digests[0] || !is.RolledOut {
			t.Errorf("%+v, %+v", start, is)
		}
	}
}

// restarts rolls out the same image again.
func restarts(w *world.World, d *appsv1.Deployment) {
	w.T.Helper()
	w.Change(d, func(o client.Object) {
		o.(*appsv1.Deployment).Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": fmt.Sprint(o.GetGeneration())}
	})
	pods := &corev1.PodList{}
	w.List(pods, client.MatchingLabels(d.Spec.Selector.MatchLabels))
	image := pods.Items[0].Status.ContainerStatuses
	w.Change(d, func(o client.Object) {
		n := 0
		_, _ = fmt.Sscan(o.GetAnnotations()["deployment.kubernetes.io/revision"], &n)
		o.SetAnnotations(map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(n + 1)})
	})
	w.RollsOut(d)
	w.List(pods, client.MatchingLabels(d.Spec.Selector.MatchLabels))
	p := &pods.Items[0]
	w.Status(p, func() { p.Status.ContainerStatuses = image })
	w.Status(d, func() { d.Status.Conditions[0].Message = "It has its pods." }) // its controller writes after the kubelet
}

// TestRolloutUnderARun: the run has no verdict, whether its tests passed or failed, also after a restart of the manager, and is not
// repeated, because its commit is gone.
func TestRolloutUnderARun(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	for name := range testEnds {
		w.Start(build.Suite(name, 0, testsCommit(1), build.Keyed(name)))
	}
	w.Stop()
	w.Change(web, func(o client.Object) { build.SetCommit(o.(*appsv1.Deployment), build.Commit(2)) })
	w.RollsOut(web)
	for name, end := range testEnds {
		end.end(w, name)
	}
	w.StartManager()
	for name := range testEnds {
		s := w.Reaches(name, v1alpha1.ReasonInconclusive,
			"What was tested changed meanwhile: The Deployment web had 11111111, and has 22222222. It is not repeated, because another commit was deployed: ")
		if end := s.Status.UnderTest.Workloads[0].End; end == nil || end.SHA != build.Commit(2) || s.Status.RepeatedBy != "" || s.Status.DecidedBy != "" {
			t.Errorf("%+v %q", s.Status.UnderTest, s.Status.RepeatedBy)
		}
	}
}

// TestAnotherCommitUnderTest: GitOps deploys what CI has notified later, or never.
func TestAnotherCommitUnderTest(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	for name, end := range testEnds {
		w.Start(build.Suite(name, 0, testsCommit(2), build.Keyed(name)))
		end.end(w, name)
		s := w.Reaches(name, v1alpha1.ReasonInconclusive, "What was tested is not what was notified: The Deployment web had 11111111 all the time, not 22222222.")
		if s.Status.RepeatedBy != "" || s.Status.UnderTest.Changed != "" {
			t.Errorf("%+v", s.Status)
		}
	}
	w.RollsOutCommit(web, 2)
	w.Start(build.Suite("later", 1, testsCommit(2)))
	w.Passes("later")
	w.Reaches("later", v1alpha1.ReasonPassed, "")
}

// TestRepeatsOnce a run of which another repository was deployed meanwhile, and no second time.
func TestRepeatsOnce(t *testing.T) {
	t.Parallel()
	w, _ := testingWorld(t)
	api := build.Deployment("api", build.Commit(5))
	w.Create(api)
	w.RollsOut(api)
	staging := build.Environment("staging")
	w.NamesWorkloads(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop"}, v1alpha1.Workload{Name: "api", Repository: "acme/api"})
	w.Ready(staging, "True", world.WorkloadsRead, "")

	w.Start(build.Suite("first", 0, testsCommit(1)))
	w.RollsOutCommit(api, 6)
	w.Passes("first")
	first := w.Reaches("first", v1alpha1.ReasonInconclusive, "The Deployment api had 55555555, and has 66666666. The run ")
	again := first.Status.RepeatedBy
	w.Runs(again)
	s := w.Reaches(again, v1alpha1.ReasonRunning, "")
	if s.Annotations[v1alpha1.AnnotationRepeats] != "first" || s.Spec.Deployment != first.Spec.Deployment || s.Spec.Attempt != 2 {
		t.Errorf("%+v", s)
	}
	w.RollsOutCommit(api, 7)
	w.Exits(again, 1)
	if s = w.Reaches(again, v1alpha1.ReasonInconclusive, "It repeated a run already."); s.Status.RepeatedBy != "" {
		t.Error(s.Status.RepeatedBy)
	}
}

// TestWorkloadIsDeletedUnderARun, or may not be read any more: nobody knows what was tested.
func TestWorkloadIsDeletedUnderARun(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	w.Create(build.Suite("first", 0, testsCommit(1), repeatsAnother), build.Suite("second", 1, testsCommit(1), build.Keyed("other"), repeatsAnother))
	w.Runs("first")
	w.Runs("second")
	mayReadWorkloads(w, true)
	w.Must(w.Client.DeleteAllOf(context.Background(), &rbacv1.RoleBinding{}, client.InNamespace(w.NS)))
	mayReadWorkloads(w, false)
	w.Passes("first")
	w.Reaches("first", v1alpha1.ReasonInconclusive, "The Deployment web cannot be read any more: The manager may not read objects of kind Deployment")
	w.Grant("ClusterRole", world.WorkloadsReader)
	mayReadWorkloads(w, true)
	w.Delete(web)
	w.Passes("second")
	w.Reaches("second", v1alpha1.ReasonInconclusive, "The Deployment web cannot be read any more: ")
}

// mayReadWorkloads waits until the API server knows whether the manager may.
func mayReadWorkloads(w *world.World, want bool) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("the manager may read workloads: %t", want), func() string {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:postflight-system:postflight-manager",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: w.NS, Group: "apps", Resource: "deployments", Verb: "list"},
		}}
		w.Must(w.Client.Create(context.Background(), review))
		if review.Status.Allowed != want {
			return review.Status.Reason
		}
		return ""
	})
}

func repeatsAnother(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationRepeats: "earlier"}
}

// TestNothingIsKnownUnderTest: without workloads, and where none can be read, tests decide as ever.
func TestNothingIsKnownUnderTest(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	staging := build.Environment("staging")
	w.Start(build.Suite("without", 0))
	w.Passes("without")
	if s := w.Reaches("without", v1alpha1.ReasonPassed, ""); s.Status.UnderTest != nil {
		t.Errorf("%+v", s.Status.UnderTest)
	}
	w.NamesWorkloads(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop"})
	w.Ready(staging, "False", world.WorkloadsUnknown, "")
	w.Start(build.Suite("unreadable", 1))
	w.Passes("unreadable")
	s := w.Reaches("unreadable", v1alpha1.ReasonPassed, "")
	if tested := s.Status.UnderTest; tested == nil || tested.Workloads[0].Start.UID != "" || tested.Workloads[0].End.Message == "" {
		t.Errorf("%+v", tested)
	}
}

// TestAdoptedJobRemembersItsStart: the answer to the creation of the Job was lost, and something was deployed before the manager found it.
func TestAdoptedJobRemembersItsStart(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	w.Stop()
	run := build.Suite("run", 0, testsCommit(1))
	w.Create(run)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "run", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("Suite"))}}}
	j.Spec = build.Trigger("smoke").Spec.JobTemplate.Spec
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.Create(job.WithUnderTest(j, []v1alpha1.TestedWorkload{{
		Repository: "acme/shop", Kind: "Deployment", Namespace: w.NS, Name: "web",
		Start: &v1alpha1.WorkloadVersion{UID: web.UID, Revision: "1", SHA: build.Commit(1), RolledOut: true},
	}}))
	w.Change(web, func(o client.Object) { build.SetCommit(o.(*appsv1.Deployment), build.Commit(2)) })
	w.RollsOut(web)
	w.StartManager()
	w.Reaches("run", v1alpha1.ReasonStarting, "")
	w.Passes("run")
	w.Reaches("run", v1alpha1.ReasonInconclusive, "What was tested changed meanwhile: The Deployment web had 11111111, and has 22222222.")
}

// TestWorkloadsCannotBeRead, as if a webhook that converts them did not answer: runs say so, and neither pass nor wait for ever.
func TestWorkloadsCannotBeRead(t *testing.T) {
	t.Parallel()
	w, _ := testingWorld(t)
	w.Stop()
	f := &fault{method: "GET", path: "/deployments", code: http.StatusInternalServerError, body: []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no webhook.","code":500}`), fixed: true}
	w.ManagerConfig.Wrap(f.wrap)
	w.StartManager()
	w.Start(build.Suite("first", 0, testsCommit(1)))
	f.breaks()
	w.Passes("first")
	w.Reaches("first", v1alpha1.ReasonRunning, "The tests have ended. Nobody knows what was tested: what runs in the Environment staging cannot be read: ")
	w.Create(build.Suite("second", 1, testsCommit(1), build.Keyed("other")))
	w.Reaches("second", v1alpha1.ReasonQueued, "Waiting for the API server to accept the Job: what runs in the Environment staging cannot be read: ")
	w.Clock.MoveOn(time.Hour)
	w.Touch("first")
	w.Reaches("first", v1alpha1.ReasonInconclusive, "Nobody knows what was tested: what runs in the Environment staging cannot be read: ")
}

func (f *fault) breaks() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fixed = false
}
