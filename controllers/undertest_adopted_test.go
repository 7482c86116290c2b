package controllers_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// TestAdoptedJobRemembersItsStart: the answer to the creation of the Job was lost, and something was deployed before the manager found it.
func TestAdoptedJobRemembersItsStart(t *testing.T) {
	t.Parallel()
	w, web := testingWorld(t)
	w.stop()
	run := aSuite("run", 0, testsCommit(1))
	w.create(run)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "run", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("Suite"))}}}
	j.Spec = aTrigger("smoke").Spec.JobTemplate.Spec
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.create(job.WithUnderTest(j, []v1alpha1.TestedWorkload{{
		Repository: "acme/shop", Kind: "Deployment", Namespace: w.ns, Name: "web",
		Start: &v1alpha1.WorkloadVersion{UID: web.UID, Revision: "1", SHA: commit(1), RolledOut: true},
	}}))
	w.change(web, func(o client.Object) { isOf(o.(*appsv1.Deployment), commit(2)) })
	w.rollsOut(web)
	w.startManager()
	w.reaches("run", v1alpha1.ReasonStarting, "")
	w.passes("run")
	w.reaches("run", v1alpha1.ReasonInconclusive, "What was tested changed meanwhile: The Deployment web had 11111111, and has 22222222.")
}
