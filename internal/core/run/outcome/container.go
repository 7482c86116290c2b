package outcome

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

func containerFailed(j *batchv1.Job, p *corev1.Pod, name string, t *corev1.ContainerStateTerminated) State {
	switch {
	case name == job.FetchContainer:
		return State{Condition: v1alpha1.Error("The input files could not be downloaded" + quoted(t.Message, ": "+exitCode(t)+"."))}
	case name == job.PrepareContainer:
		return noResult(strings.TrimRight("The files for the tests could not be put in place"+quoted(t.Message, ": "+exitCode(t)), ". ") + ".")
	case name == job.ReadyContainer:
		return State{Condition: v1alpha1.Error(notReady(t))}
	case t.Reason == "StartError" || t.Reason == "ContainerCannotRun":
		return State{Condition: v1alpha1.Error(fmt.Sprintf("The %s could not be started, so check its command and its image%s", title(p, name),
			quoted(t.Message, ".")))}
	case t.Reason == lostWithNode:
		return noResult(fmt.Sprintf("The end of the %s was lost with its node.", title(p, name)))
	case t.Reason == outOfMemoryReason:
		return State{Condition: v1alpha1.Failed(outOfMemory(p, name, "The"))}
	default:
		return State{Condition: v1alpha1.Failed(exited(j, p, name, t))}
	}
}

func exited(j *batchv1.Job, p *corev1.Pod, name string, t *corev1.ContainerStateTerminated) string {
	look := ". Its log says more: " + logCommands(j, p.Name, "-c "+name)
	return capital(title(p, name)) + " exited with " + exitCode(t) + attempts(j) + quoted(t.Message, look)
}

func outOfMemory(p *corev1.Pod, name, what string) string {
	limit := memoryLimit(p, name)
	if limit == "" {
		return fmt.Sprintf("%s %s was killed because its node ran out of memory. Set resources.requests.memory in the jobTemplate of the "+
			"Trigger to what the tests need.",
			what, title(p, name))
	}
	return fmt.Sprintf("%s %s was killed because it needed more memory than its limit of %s. Raise resources.limits.memory in the "+
		"jobTemplate of the Trigger.",
		what, title(p, name), limit)
}

// KilledForMemory reports whether the message of a run says that its memory was not enough.
func KilledForMemory(message string) bool {
	return strings.Contains(message, " was killed because its node ran out of memory. ") ||
		strings.Contains(message, " was killed because it needed more memory than its limit of ")
}

func memoryLimit(p *corev1.Pod, name string) string {
	for c := range job.Containers(&p.Spec) {
		if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == name {
			return limit.String()
		}
	}
	if p.Spec.Resources != nil {
		if limit, ok := p.Spec.Resources.Limits[corev1.ResourceMemory]; ok {
			return limit.String()
		}
	}
	return ""
}

func attempts(j *batchv1.Job) string {
	switch {
	case j.Status.FailedIndexes != nil && *j.Status.FailedIndexes != "":
		return fmt.Sprintf(" (failed indexes: %s)", plaintext.Line(*j.Status.FailedIndexes, maxName))
	case j.Status.Failed > 1 && !job.IsIndexed(&j.Spec):
		return fmt.Sprintf(" in the last of %d pods that failed", j.Status.Failed)
	default:
		return ""
	}
}

var meanings = map[int32]string{
	126: "a command that is not executable",
	127: "a command that was not found",
	134: "SIGABRT",
	137: "SIGKILL",
	139: "SIGSEGV",
	143: "SIGTERM",
}

func exitCode(t *corev1.ContainerStateTerminated) string {
	meaning := meanings[t.ExitCode]
	if t.Reason == outOfMemoryReason {
		meaning = "out of memory"
	}
	if meaning == "" {
		return fmt.Sprintf("code %d", t.ExitCode)
	}
	return fmt.Sprintf("code %d (%s)", t.ExitCode, meaning)
}

func title(p *corev1.Pod, name string) string {
	if slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name }) {
		return fmt.Sprintf("init container %q", name)
	}
	return fmt.Sprintf("container %q", name)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
