package pages_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// sampleEnvironments are one with several repositories, one that only notifications know, one whose workload cannot be read, and a
// temporary one.
func sampleEnvironments() []client.Object {
	environment := func(name string, deployed ...v1alpha1.Deployed) *v1alpha1.Environment {
		return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: team},
			Spec:   v1alpha1.EnvironmentSpec{URL: "https://" + name + ".shop.example.com"},
			Status: v1alpha1.EnvironmentStatus{Deployed: deployed}}
	}
	ago := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(time.Now().Add(-d))) }
	staging := environment("staging",
		v1alpha1.Deployed{Repository: "acme/pay", SHA: commit("77d01b5e"), Branch: "release/4.2", DeploymentType: "canary",
			Since:      ago(2*time.Hour + 3*minute),
			ReportedBy: v1alpha1.ReportedByNotification, Ready: new(true), Workloads: []v1alpha1.DeployedWorkload{
				workload("Rollout", "pay", commit("77d01b5e"), "", true)}},
		v1alpha1.Deployed{Repository: "acme/search", SHA: "41aa90c2", Branch: "main", Since: ago(74 * time.Hour),
			Previous: &v1alpha1.PreviousDeployment{SHA: "0f3e77aa", Since: ago(100 * time.Hour)}, ReportedBy: v1alpha1.ReportedByWorkload,
			Ready: new(false), Message: "30b1c9d2 comes: 1 of 3 replicas of Deployment indexer have it.", Workloads: []v1alpha1.DeployedWorkload{
				workload("StatefulSet", "search", "41aa90c2", "", true),
				workload("Deployment", "indexer", "30b1c9d2", "1 of 3 replicas of Deployment indexer have it.", false)}},
		v1alpha1.Deployed{Repository: "acme/shop", SHA: commit("9c1d2e3f"), Branch: "feature/pay", DeploymentType: "staging",
			Since:      ago(75 * time.Second),
			ReportedBy: v1alpha1.ReportedByWorkload, Ready: new(true), Workloads: []v1alpha1.DeployedWorkload{
				workload("Deployment", "shop", commit("9c1d2e3f"), "", true)}},
	)
	staging.Spec.Workloads = []v1alpha1.Workload{{Kind: "Deployment", Name: "shop", Repository: "acme/shop"}}
	lab := environment("device-lab")
	lab.Spec.Workloads = []v1alpha1.Workload{{Kind: "Deployment", Name: "phones", Namespace: "lab"}}
	lab.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Invalid",
		Message: "The team's Environments cannot name workloads of other namespaces: ask your operator to list namespace lab in spec.workloadNamespaces of the Team."}}
	preview := environment("pr-318")
	preview.Spec = v1alpha1.EnvironmentSpec{Ephemeral: &v1alpha1.EphemeralEnvironment{
		DeploymentURL: "https://pr-318.shop.example.com", ExpiresAt: metav1.NewTime(time.Now().Add(90 * time.Hour))}}
	production := environment("production",
		v1alpha1.Deployed{Repository: "acme/shop", SHA: commit("b776998c"), Branch: "main", DeploymentType: "production",
			Since: ago(40 * minute), ReportedBy: v1alpha1.ReportedByNotification})
	production.Spec.Gate = &v1alpha1.GateRule{MaxAge: &metav1.Duration{Duration: 24 * time.Hour}}
	return []client.Object{staging, lab, preview, production}
}

func workload(kind, name, sha, message string, ready bool) v1alpha1.DeployedWorkload {
	return v1alpha1.DeployedWorkload{Kind: kind, Namespace: team, Name: name, SHA: sha, Ready: ready, Message: message,
		Digests: []v1alpha1.ImageDigest{{Container: name, Digest: "sha256:" + commit(sha[:8]) + commit(sha[:8])[:24]}}}
}
