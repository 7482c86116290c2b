package deployed_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// TestWorkloadsOfAnotherTeam: anyone who can edit an Environment learns nothing of another team's workloads, whatever kind they have and
// however they are named, although the manager may read them: not what they run, and not whether they exist.
func TestWorkloadsOfAnotherTeam(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	bank, shared := w.Namespace(t), w.Namespace(t)
	w.HasTeam(func(t *v1alpha1.Team) {
		t.Spec.WorkloadNamespaces = []v1alpha1.WorkloadNamespace{{Name: shared, Workloads: []string{"ours"}}}
	})
	for _, ns := range []string{bank, shared} {
		binding := build.Grant("ClusterRole", world.WorkloadsReader)
		binding.Namespace = ns
		w.Create(binding)
		w.Create(foreignWorkloads(ns)...)
	}
	w.Create(build.Trigger("smoke"))
	w.StartManager()
	ways := map[string]func(*v1alpha1.Workload){
		"name":   func(x *v1alpha1.Workload) { x.Name = "vault" },
		"absent": func(x *v1alpha1.Workload) { x.Name = "nobody" },
		"selector": func(x *v1alpha1.Workload) {
			x.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "vault"}}
		},
		"expression": func(x *v1alpha1.Workload) {
			x.Name, x.SHA = "vault", &v1alpha1.WorkloadValue{Expression: "object.metadata.labels['code']"}
		},
		"notify": func(x *v1alpha1.Workload) { x.Name, x.Notify = "vault", true },
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		for ns, of := range map[string]string{bank: "bank", shared: "shared"} {
			says := map[string]string{}
			for way, by := range ways {
				e := build.Environment(strings.ToLower(fmt.Sprintf("%s-%s-%s", kind, of, way)))
				named := v1alpha1.Workload{Kind: kind, Namespace: ns, Repository: "acme/shop"}
				by(&named)
				e.Spec.Workloads = []v1alpha1.Workload{named}
				w.Create(e)
				w.Ready(e, "False", world.WorkloadsUnknown, "")
				s := build.Suite(e.Name, 0, build.InEnvironment(e.Name))
				w.Create(s)
				w.Runs(s.Name)
				w.Passes(s.Name)
				run := w.Reaches(s.Name, v1alpha1.ReasonPassed, "")
				text, err := json.Marshal([]any{e.Status, run.Status, w.Events(e)})
				w.Must(err)
				if strings.Contains(string(text), "9999999") || strings.Contains(string(text), "s3cr3t") {
					t.Errorf("%s tells of another team: %s", e.Name, text)
				}
				says[way] = strings.ReplaceAll(e.Status.Conditions[0].Message, named.Name, "NAME")
			}
			if says["name"] != says["absent"] {
				t.Errorf("%s in %s: an object that exists is told from one that does not: %q, %q", kind, of, says["name"], says["absent"])
			}
		}
	}
}

// foreignWorkloads are one of each kind, of commit 9.
func foreignWorkloads(ns string) []client.Object {
	meta := metav1.ObjectMeta{Namespace: ns, Name: "vault", Labels: map[string]string{"app": "vault", "code": "s3cr3t"}}
	selector := &metav1.LabelSelector{MatchLabels: meta.Labels}
	pods := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels, Annotations: map[string]string{"postflight.dev/sha": build.Commit(9)}}}
	pods.Spec.Containers = []corev1.Container{{Name: "web", Image: "registry.example.com/vault:" + build.Commit(9)}}
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: pods}},
		&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: pods}},
		&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pods}},
	}
}

// TestForeignWorkloadsCanBeRead: the test above would pass as well if nothing could be read.
func TestForeignWorkloadsCanBeRead(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	w.HasTeam()
	w.Grant("ClusterRole", world.WorkloadsReader)
	w.Create(foreignWorkloads(w.NS)...)
	w.StartManager()
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		e := build.Environment(strings.ToLower(kind))
		w.Create(e)
		w.NamesWorkloads(e, v1alpha1.Workload{Kind: kind, Name: "vault", SHA: &v1alpha1.WorkloadValue{Expression: "object.metadata.labels['code']"}})
		w.Await(kind+" is read", e, func() bool { return len(e.Status.Deployed) > 0 && e.Status.Deployed[0].Workloads[0].SHA == "s3cr3t" })
	}
}
