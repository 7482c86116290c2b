package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Debugging is how to look around where the tests of a run ran.
type Debugging struct {
	Container     string        // waits instead of testing; empty: the one that failed, or the first
	Failed        string        // the container that failed, or ""
	Image         string        // of that container; empty: its own
	For           time.Duration // until Kubernetes stops the pod
	WithoutInputs bool          // does not download the input files again
}

// DebugPodName is the name of the pod in which people look around; a run has one.
func DebugPodName(run string) string { return run + "-debug" }

// DebugPod returns a pod like those of a Job, in which one container waits instead of testing, or why there can be none, as a sentence. A
// pod whose tests have ended cannot be entered any more: the kubelet stops all that is left in it, and starts nothing. The new pod belongs
// to the Suite, with which it is deleted, and not to the run: it counts for nothing. The pod of the run may be nil.
func DebugPod(s *v1alpha1.Suite, j *batchv1.Job, pod *corev1.Pod, d Debugging) (p *corev1.Pod, problem string) {
	template := j.Spec.Template.DeepCopy()
	p = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: DebugPodName(s.Name), Namespace: s.Namespace,
			Labels: debugLabels(template.Labels, s.Name), Annotations: maps.Clone(template.Annotations),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Suite", Name: s.Name, UID: s.UID}},
		},
		Spec: template.Spec,
	}
	p.Spec.RestartPolicy, p.Spec.ActiveDeadlineSeconds = corev1.RestartPolicyNever, DeadlineSeconds(d.For)
	p.Spec.InitContainers = slices.DeleteFunc(p.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == CollectContainer || c.Name == ReadyContainer || c.Name == FetchContainer && d.WithoutInputs
	})
	p.Spec.Volumes = slices.DeleteFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == tokenVolume })
	likeShard(p, pod)
	c := containerToDebug(p, d)
	if c == nil {
		return nil, fmt.Sprintf("The pods of the run %s have no container %q. They have: %s.",
			s.Name, plaintext.Line(d.Container, maxName), containerNames(p))
	}
	wait(c, d)
	return p, ""
}

// DebugContainer returns the container of a DebugPod that waits.
func DebugContainer(p *corev1.Pod) string { return p.Annotations[v1alpha1.AnnotationDebugContainer] }

// debugLabels keep those of the template, which network policies may select, and not those by which pods of the run are found.
func debugLabels(template map[string]string, run string) map[string]string {
	labels := withLabels(template, map[string]string{v1alpha1.LabelDebug: run, v1alpha1.LabelNotBackedUp: "true"})
	delete(labels, v1alpha1.LabelSuite)
	return labels
}

// likeShard lets the containers see the index of a pod of the run, as those of an indexed Job do.
func likeShard(p, pod *corev1.Pod) {
	if pod == nil || pod.Annotations[batchv1.JobCompletionIndexAnnotation] == "" {
		return
	}
	index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, batchv1.JobCompletionIndexAnnotation, index)
	p.Labels[batchv1.JobCompletionIndexAnnotation] = index
	for c := range Containers(&p.Spec) {
		c.Env = withVariables(c.Env, map[string]string{"JOB_COMPLETION_INDEX": index})
	}
}

func containerToDebug(p *corev1.Pod, d Debugging) *corev1.Container {
	find := func(name string) int {
		return slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	}
	i := 0
	if d.Container != "" {
		i = find(d.Container)
	} else if d.Failed != "" {
		i = max(find(d.Failed), 0) // an init container may have failed
	}
	if i < 0 || i >= len(p.Spec.Containers) {
		return nil
	}
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.AnnotationDebugContainer, p.Spec.Containers[i].Name)
	return &p.Spec.Containers[i]
}

func containerNames(p *corev1.Pod) string {
	names := make([]string, len(p.Spec.Containers))
	for i, c := range p.Spec.Containers {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// wait replaces the tests, and what would stop a container that does nothing.
func wait(c *corev1.Container, d Debugging) {
	c.Command, c.Args = []string{"sleep", fmt.Sprint(*DeadlineSeconds(d.For))}, nil
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
	if d.Image != "" {
		c.Image = d.Image
	}
}
