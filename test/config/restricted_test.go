package config

import (
	"cmp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// restricted is a namespace that enforces the Pod Security Standard restricted.
type restricted struct {
	*apiserver.Server
	ns string
}

func newRestricted(t *testing.T) *restricted {
	t.Helper()
	s := installed(t)
	r := &restricted{Server: s, ns: s.Namespace(t)}
	label := `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.ns}}
	must(t, s.Client.Patch(t.Context(), namespace, client.RawPatch(types.MergePatchType, []byte(label))))
	poll.True(t, "the standard is in force", func() bool {
		return r.try(t, corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}) != nil
	})
	return r
}

// try asks the API server whether it accepts such a pod.
func (r *restricted) try(t *testing.T, spec corev1.PodSpec) error {
	spec.ServiceAccountName = cmp.Or(spec.ServiceAccountName, "default") // as an admission plugin does that is off here
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: "tried"}, Spec: spec}
	return r.Client.Create(t.Context(), p, client.DryRunAll)
}

func (r *restricted) accepts(t *testing.T, name string, spec corev1.PodSpec) {
	t.Run(name, func(t *testing.T) {
		if err := r.try(t, spec); err != nil {
			t.Error(err)
		}
	})
}

// TestPodsAreRestricted: every pod that this repository ships meets the Pod Security Standard restricted: those of the
// manager, of the samples and the first team, with the containers that the manager adds, and of the integrations.
func TestPodsAreRestricted(t *testing.T) {
	r := newRestricted(t)
	var manager appsv1.Deployment
	get(t, r.Server, "postflight-manager", &manager)
	r.accepts(t, "the manager", manager.Spec.Template.Spec)

	var samples v1alpha1.TriggerList
	must(t, r.Client.List(t.Context(), &samples, client.InNamespace("demo")))
	if len(samples.Items) < 5 {
		t.Errorf("%d samples of Triggers", len(samples.Items))
	}
	for _, trigger := range samples.Items {
		complete, problem, err := index.Complete(t.Context(), r.Client, &trigger)
		if err != nil || problem != "" {
			t.Fatal(problem, err)
		}
		trigger = *complete
		r.accepts(t, "the sample "+trigger.Name, runOf(&trigger))
	}
	r.accepts(t, "the first Trigger of a team", runOf(triggerOf(t, "docs/first-team.md")))
	r.accepts(t, "a template that sets nothing for the whole pod", runOf(onlyContainers(&samples.Items[0])))

	for _, file := range []string{"argocd/postsync.yaml", "flux/job.yaml"} {
		j := &batchv1.Job{}
		must(t, yaml.UnmarshalStrict(integration(t, file, "Job"), j))
		r.accepts(t, file, j.Spec.Template.Spec)
	}
	r.accepts(t, "tekton/task.yaml", stepsOf(t, "tekton/task.yaml"))
	deployment := &appsv1.Deployment{}
	must(t, yaml.UnmarshalStrict(integration(t, "flagger/tester.yaml", "Deployment"), deployment))
	r.accepts(t, "flagger/tester.yaml", deployment.Spec.Template.Spec)
	r.accepts(t, "argo-rollouts/analysis.yaml", jobOfAnalysis(t, "argo-rollouts/analysis.yaml"))
}

// runOf is the pod of a run of a Trigger, with everything that the manager may add to it.
func runOf(trigger *v1alpha1.Trigger) corev1.PodSpec {
	trigger.Spec.Results = &v1alpha1.Results{}
	trigger.Spec.Ready = &v1alpha1.Ready{HTTP: &v1alpha1.ReadyHTTP{URL: "https://staging.example.com/version"}}
	s, e := aSuite(trigger.Namespace, "run"), anEnvironment(trigger.Namespace, "staging")
	j := job.Build(s, trigger, e)
	j = job.WithInputs(j, job.Inputs{Directory: "/inputs", Image: "postflight", Files: []job.File{{Path: "a", URL: "https://a"}}})
	j = job.WithResults(j, job.ResultsOf(trigger, &job.Collector{Image: "postflight", URL: "https://postflight"}))
	j = job.WithProbe(j, s, trigger, e, "postflight")
	return j.Spec.Template.Spec
}

// onlyContainers moves what the template says about the security of all containers to each of its own.
func onlyContainers(trigger *v1alpha1.Trigger) *v1alpha1.Trigger {
	pod := &trigger.Spec.JobTemplate.Spec.Template.Spec
	for i := range pod.Containers {
		c := pod.Containers[i].SecurityContext
		p := pod.SecurityContext
		c.RunAsNonRoot, c.RunAsUser, c.SeccompProfile = p.RunAsNonRoot, p.RunAsUser, p.SeccompProfile
	}
	pod.SecurityContext = nil
	return trigger
}

// triggerOf is the one in the manifests of a page.
func triggerOf(t *testing.T, page string) *v1alpha1.Trigger {
	t.Helper()
	for block := range strings.SplitSeq(read(t, page), "```") {
		manifests, isYAML := strings.CutPrefix(block, "yaml\n")
		for manifest := range strings.SplitSeq(manifests, "\n---\n") {
			trigger := &v1alpha1.Trigger{}
			if isYAML && strings.Contains(manifest, "kind: Trigger\n") && yaml.UnmarshalStrict([]byte(manifest), trigger) == nil {
				return trigger
			}
		}
	}
	t.Fatalf("no Trigger in %s", page)
	return nil
}

// jobOfAnalysis is the pod of the Job that the first AnalysisTemplate of a file starts.
func jobOfAnalysis(t *testing.T, file string) corev1.PodSpec {
	t.Helper()
	var template struct {
		Spec struct {
			Metrics []struct {
				Provider struct {
					Job struct{ Spec batchv1.JobSpec }
				}
			}
		}
	}
	must(t, yaml.Unmarshal(integration(t, file, "AnalysisTemplate"), &template))
	return template.Spec.Metrics[0].Provider.Job.Spec.Template.Spec
}

// stepsOf are the steps of a task of Tekton, which sets nothing for the whole pod by default.
func stepsOf(t *testing.T, file string) (pod corev1.PodSpec) {
	t.Helper()
	var task struct {
		Spec struct {
			Steps   []corev1.Container
			Volumes []corev1.Volume
		}
	}
	must(t, yaml.Unmarshal(integration(t, file, "Task"), &task))
	pod.Containers, pod.Volumes = task.Spec.Steps, task.Spec.Volumes
	for i := range pod.Containers {
		pod.Containers[i].Env = nil // it has parameters of the task
	}
	return pod
}

// integration is the first document of a kind in a file of integrations.
func integration(t *testing.T, file, kind string) []byte {
	t.Helper()
	for document := range strings.SplitSeq(read(t, "integrations/"+file), "\n---\n") {
		if strings.Contains(document, "\nkind: "+kind+"\n") {
			return []byte(document)
		}
	}
	t.Fatalf("%s has no %s", file, kind)
	return nil
}
