package controllers_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// testingWorld has a Deployment web of commit 1, which the Environment staging names, and a Trigger.
func testingWorld(t *testing.T) (w *world, web *appsv1.Deployment) {
	t.Helper()
	w = emptyWorld(t)
	w.hasTeam()
	w.grant("ClusterRole", workloadsReader)
	staging := anEnvironment("staging")
	web = aDeployment("web", commit(1))
	w.create(staging, web, aTrigger("smoke"))
	w.rollsOut(web)
	w.startManager()
	w.names(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop"})
	w.has(staging, commit(1)+" true sha256:1111")
	return w, web
}

func testsCommit(n int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Spec.Deployment.SHA, s.Spec.Deployment.Repository, s.Spec.SupersedeKey = commit(n), "acme/shop", "main"
	}
}

// ends are the ways in which the tests of a run end.
var testEnds = map[string]struct {
	end   func(w *world, name string)
	state string
}{
	"passed": {(*world).passes, v1alpha1.ReasonPassed},
	"failed": {func(w *world, name string) { w.exits(name, 1) }, v1alpha1.ReasonFailed},
}

// TestUnderTestIsRecorded with the digests at the start and at the end. A restart in between changes nothing.
func TestUnderTestIsRecorded(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	for name, end := range testEnds {
		w.create(aSuite(name, 0, testsCommit(1), keyed(name)))
		w.runs(name)
		w.restarts(web)
		end.end(w, name)
		s := w.reaches(name, end.state, "")
		tested := s.Status.UnderTest
		if tested == nil || len(tested.Workloads) != 1 || tested.Changed != "" || s.Status.RepeatedBy != "" {
			t.Fatalf("%+v", tested)
		}
		start, is := tested.Workloads[0].Start, tested.Workloads[0].End
		if start.SHA != commit(1) || is == nil || is.SHA != commit(1) || is.Revision == start.Revision || len(is.Digests) != 1 || is.Digests[0] != start.Digests[0] || !is.RolledOut {
			t.Errorf("%+v, %+v", start, is)
		}
	}
}

// restarts rolls out the same image again.
func (w *world) restarts(d *appsv1.Deployment) {
	w.t.Helper()
	w.change(d, func(o client.Object) {
		o.(*appsv1.Deployment).Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": fmt.Sprint(o.GetGeneration())}
	})
	pods := &corev1.PodList{}
	w.must(w.Client.List(context.Background(), pods, client.InNamespace(w.ns), client.MatchingLabels(d.Spec.Selector.MatchLabels)))
	image := pods.Items[0].Status.ContainerStatuses
	w.change(d, func(o client.Object) {
		n := 0
		_, _ = fmt.Sscan(o.GetAnnotations()["deployment.kubernetes.io/revision"], &n)
		o.SetAnnotations(map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(n + 1)})
	})
	w.rollsOut(d)
	w.must(w.Client.List(context.Background(), pods, client.InNamespace(w.ns), client.MatchingLabels(d.Spec.Selector.MatchLabels)))
	p := &pods.Items[0]
	w.status(p, func() { p.Status.ContainerStatuses = image })
}

// TestRolloutUnderARun: the run has no verdict, whether its tests passed or failed, also after a restart of the manager, and is not repeated,
// because its commit is gone.
func TestRolloutUnderARun(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	for name := range testEnds {
		w.create(aSuite(name, 0, testsCommit(1), keyed(name)))
		w.runs(name)
	}
	w.stop()
	w.change(web, func(o client.Object) { isOf(o.(*appsv1.Deployment), commit(2)) })
	w.rollsOut(web)
	for name, end := range testEnds {
		end.end(w, name)
	}
	w.startManager()
	for name := range testEnds {
		s := w.reaches(name, v1alpha1.ReasonInconclusive,
			"What was tested changed meanwhile: The Deployment web had 11111111, and has 22222222. It is not repeated, because another commit was deployed: ")
		if end := s.Status.UnderTest.Workloads[0].End; end == nil || end.SHA != commit(2) || s.Status.RepeatedBy != "" || s.Status.DecidedBy != "" {
			t.Errorf("%+v %q", s.Status.UnderTest, s.Status.RepeatedBy)
		}
	}
}

// TestAnotherCommitUnderTest: GitOps deploys what CI has notified later, or never.
func TestAnotherCommitUnderTest(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	for name, end := range testEnds {
		w.create(aSuite(name, 0, testsCommit(2), keyed(name)))
		w.runs(name)
		end.end(w, name)
		s := w.reaches(name, v1alpha1.ReasonInconclusive, "What was tested is not what was notified: The Deployment web had 11111111 all the time, not 22222222.")
		if s.Status.RepeatedBy != "" || s.Status.UnderTest.Changed != "" {
			t.Errorf("%+v", s.Status)
		}
	}
	w.rollsOutCommit(web, 2)
	w.create(aSuite("later", 1, testsCommit(2)))
	w.runs("later")
	w.passes("later")
	w.reaches("later", v1alpha1.ReasonPassed, "")
}

// TestRepeatsOnce a run of which another repository was deployed meanwhile, and no second time.
func TestRepeatsOnce(t *testing.T) {
	t.Parallel()
	w, _ := testingWorld(t)
	api := aDeployment("api", commit(5))
	w.create(api)
	w.rollsOut(api)
	staging := anEnvironment("staging")
	w.names(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop"}, v1alpha1.Workload{Name: "api", Repository: "acme/api"})
	w.ready(staging, "True", workloadsRead, "")

	w.create(aSuite("first", 0, testsCommit(1)))
	w.runs("first")
	w.rollsOutCommit(api, 6)
	w.passes("first")
	first := w.reaches("first", v1alpha1.ReasonInconclusive, "The Deployment api had 55555555, and has 66666666. The run ")
	again := first.Status.RepeatedBy
	w.runs(again)
	s := w.reaches(again, v1alpha1.ReasonRunning, "")
	if s.Annotations[v1alpha1.AnnotationRepeats] != "first" || s.Spec.Deployment != first.Spec.Deployment || s.Spec.Attempt != 2 {
		t.Errorf("%+v", s)
	}
	w.rollsOutCommit(api, 7)
	w.exits(again, 1)
	if s = w.reaches(again, v1alpha1.ReasonInconclusive, "It repeated a run already."); s.Status.RepeatedBy != "" {
		t.Error(s.Status.RepeatedBy)
	}
}

// TestWorkloadIsDeletedUnderARun, or may not be read any more: nobody knows what was tested.
func TestWorkloadIsDeletedUnderARun(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	w.create(aSuite("first", 0, testsCommit(1), repeatsAnother), aSuite("second", 1, testsCommit(1), keyed("other"), repeatsAnother))
	w.runs("first")
	w.runs("second")
	w.mayReadWorkloads(true)
	w.must(w.Client.DeleteAllOf(context.Background(), &rbacv1.RoleBinding{}, client.InNamespace(w.ns)))
	w.mayReadWorkloads(false)
	w.passes("first")
	w.reaches("first", v1alpha1.ReasonInconclusive, "The Deployment web cannot be read any more: The manager may not read objects of kind Deployment")
	w.grant("ClusterRole", workloadsReader)
	w.mayReadWorkloads(true)
	w.must(w.Client.Delete(context.Background(), web))
	w.passes("second")
	w.reaches("second", v1alpha1.ReasonInconclusive, "The Deployment web cannot be read any more: ")
}

// mayReadWorkloads waits until the API server knows whether the manager may.
func (w *world) mayReadWorkloads(want bool) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the manager may read workloads: %t", want), func() string {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:postflight-system:postflight-manager",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: w.ns, Group: "apps", Resource: "deployments", Verb: "list"},
		}}
		w.must(w.Client.Create(context.Background(), review))
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
	w := newWorld(t)
	staging := anEnvironment("staging")
	w.create(aSuite("without", 0))
	w.runs("without")
	w.passes("without")
	if s := w.reaches("without", v1alpha1.ReasonPassed, ""); s.Status.UnderTest != nil {
		t.Errorf("%+v", s.Status.UnderTest)
	}
	w.names(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop"})
	w.ready(staging, "False", workloadsUnknown, "")
	w.create(aSuite("unreadable", 1))
	w.runs("unreadable")
	w.passes("unreadable")
	s := w.reaches("unreadable", v1alpha1.ReasonPassed, "")
	if tested := s.Status.UnderTest; tested == nil || tested.Workloads[0].Start.UID != "" || tested.Workloads[0].End.Message == "" {
		t.Errorf("%+v", tested)
	}
}
