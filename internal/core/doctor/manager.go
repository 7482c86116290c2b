package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

const checkManager = "manager"

// NoManager is the finding for an installation without a Deployment. The leader is the process that renewed the
// Lease during the check, or "".
func NoManager(namespace, leader string) Finding {
	if leader != "" {
		f := ok(checkManager, "%s runs the manager: it has just renewed the Lease. There is no Deployment of the manager in the namespace %s, "+
			"so these are not checked: rights, policies, replicas, certificates and what pods reach.", leader, namespace)
		f.Advice = "Nothing, if the manager is a process outside of the cluster, as with `make dev`. Otherwise install Postflight again."
		return f
	}
	return failure(checkManager, "Install Postflight, or name its namespace with --namespace.",
		"There is no Deployment of the manager in the namespace %s.", namespace)
}

// Manager checks the Deployment and its pods. version is the command line's.
func Manager(d *appsv1.Deployment, pods []corev1.Pod, version string) (findings []Finding) {
	wanted, ready := int32(1), d.Status.ReadyReplicas
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	if ready >= wanted && wanted > 0 {
		findings = append(findings, ok(checkManager, "%d of %d replicas are ready.", ready, wanted))
	} else {
		findings = append(findings, notReady(d, pods, ready, wanted))
	}
	for _, p := range pods {
		for _, c := range p.Status.ContainerStatuses {
			if last := c.LastTerminationState.Terminated; last != nil && last.Reason == "OOMKilled" {
				findings = append(findings, warning(checkManager, "Raise resources.limits.memory; docs/operations/memory.md says how much it needs.",
					"The pod %s has run out of memory, last at %s.", p.Name, last.FinishedAt.UTC().Format("2006-01-02 15:04 MST")))
			}
		}
	}
	if running := versionOf(d); release.MatchString(running) && release.MatchString(version) &&
		strings.TrimPrefix(running, "v") != strings.TrimPrefix(version, "v") {
		findings = append(findings, warning(checkManager, sameCLI, "The manager is version %s, and this command line is %s.", running, version))
	}
	return findings
}

func notReady(d *appsv1.Deployment, pods []corev1.Pod, ready, wanted int32) Finding {
	f := failure(checkManager, "`kubectl describe` and `kubectl logs` of the pods say more.", "%d of %d replicas are ready.", ready, wanted)
	if ready > 0 {
		f.Level = Warning
	}
	if wanted == 0 {
		f.Advice = fmt.Sprintf("Scale the Deployment %s to 2.", d.Name)
	}
	for _, p := range pods {
		if why := podProblem(&p); why != "" {
			f.Message += fmt.Sprintf(" The pod %s: %s.", p.Name, why)
		}
	}
	if len(pods) == 0 && wanted > 0 {
		f.Message += " There are no pods." + replicaFailure(d)
	}
	return f
}

func replicaFailure(d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return " " + c.Message
		}
	}
	return ""
}

// podProblem returns a clause, or "" for a ready pod.
func podProblem(p *corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			return strings.TrimSuffix(w.Reason+": "+strings.TrimSuffix(w.Message, "."), ": ")
		}
	}
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Status == corev1.ConditionFalse &&
			c.Message != ""
	})
	if i < 0 {
		return ""
	}
	return strings.TrimSuffix(p.Status.Conditions[i].Message, ".")
}

// release matches versions that can be compared, unlike names of builds.
var release = regexp.MustCompile(`^v?\d+\.\d+\.\d+`)

// versionOf returns the manager's version: its label, or else the tag of its image.
func versionOf(d *appsv1.Deployment) string {
	if version := d.Labels["app.kubernetes.io/version"]; version != "" {
		return version
	}
	image, _, _ := strings.Cut(Container(d).Image, "@")
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}

// Container returns the container of the manager.
func Container(d *appsv1.Deployment) *corev1.Container {
	for i, c := range d.Spec.Template.Spec.Containers {
		if c.Name == "manager" {
			return &d.Spec.Template.Spec.Containers[i]
		}
	}
	return &corev1.Container{}
}

// Flag returns the last value of a flag of the manager, or "".
func Flag(d *appsv1.Deployment, name string) (value string) {
	c := Container(d)
	for _, arg := range slices.Concat(c.Command, c.Args) {
		if v, found := strings.CutPrefix(arg, "--"+name+"="); found {
			value = v
		}
	}
	return value
}
