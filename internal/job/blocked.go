package job

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/plaintext"
)

// blocked says why a pod cannot start, or cannot go on, and what to do; empty where nothing is wrong.
func blocked(p *corev1.Pod) string {
	if why := unscheduled(p); why != "" {
		return why
	}
	for _, cs := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if why := waiting(p, cs); why != "" {
			return why
		}
	}
	return ""
}

func unscheduled(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		if c.Reason == corev1.PodReasonSchedulingGated {
			return blockedPrefix + "its scheduling gates are closed, and whoever put them there has to open them."
		}
		return blockedPrefix + "no node can take it: " + plaintext.Line(c.Message, maxQuote)
	}
	return ""
}

func waiting(p *corev1.Pod, cs corev1.ContainerStatus) string {
	if failsAgain(p, cs) {
		return lastFailure(p, cs)
	}
	w := cs.State.Waiting
	if w == nil {
		return ""
	}
	why := strings.TrimRight(cmp.Or(plaintext.Line(withoutPrefixes(w.Message), maxQuote), plaintext.Line(w.Reason, maxName)), ".")
	switch w.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return ""
	case "ErrImageNeverPull":
		return fmt.Sprintf("%sthe image %q of %s is not on the node, and its imagePullPolicy is Never.",
			blockedPrefix, plaintext.Line(image(p, cs), maxName), title(p, cs.Name))
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return fmt.Sprintf("%sthe image %q of %s cannot be pulled: %s. Check its name and tag, and the imagePullSecrets.",
			blockedPrefix, plaintext.Line(image(p, cs), maxName), title(p, cs.Name), why)
	case "CreateContainerConfigError":
		return fmt.Sprintf("%s%s cannot be configured: %s. Create what is missing, or correct the jobTemplate of the Trigger.",
			blockedPrefix, title(p, cs.Name), why)
	default:
		return fmt.Sprintf("%s%s waits (%s): %s.", blockedPrefix, title(p, cs.Name), plaintext.Line(w.Reason, maxName), why)
	}
}

// failsAgain tells a container that ended and will be restarted in place. Between two starts it is
// shown as terminated, or as waiting.
func failsAgain(p *corev1.Pod, cs corev1.ContainerStatus) bool {
	if w := cs.State.Waiting; w != nil {
		return w.Reason == "CrashLoopBackOff"
	}
	t := cs.State.Terminated
	return t != nil && t.ExitCode != 0 && (p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure || isSidecar(p, cs.Name))
}

// lastFailure leaves out the kubelet's own message: it counts seconds, and would make for a write of
// the status with each.
func lastFailure(p *corev1.Pod, cs corev1.ContainerStatus) string {
	t := cmp.Or(cs.State.Terminated, cs.LastTerminationState.Terminated)
	if t == nil {
		return fmt.Sprintf("The %s fails, and is restarted.", title(p, cs.Name))
	}
	return fmt.Sprintf("The %s fails, and is restarted. %s%s%s", title(p, cs.Name), lastExitPrefix, exitCode(t), quoted(t.Message, "."))
}

// image as the template names it: the status may hold what the runtime made of it.
func image(p *corev1.Pod, cs corev1.ContainerStatus) string {
	for c := range containers(&p.Spec) {
		if c.Name == cs.Name {
			return c.Image
		}
	}
	return cs.Image
}

// pullPrefixes come and go as the kubelet pulls and backs off in turn. Without them the message stays
// the same, and the status of the Suite is not written each time.
var pullPrefixes = regexp.MustCompile(`^(Back-off pulling image "[^"]*": )?` +
	`((ErrImagePull|ImageInspectError|RegistryUnavailable|SignatureValidationFailed): )?(rpc error: code = \w+ desc = )?` +
	`(failed to pull and unpack image "[^"]*": )?(failed to resolve (reference|image) "[^"]*": )?`)

func withoutPrefixes(message string) string { return pullPrefixes.ReplaceAllString(message, "") }
