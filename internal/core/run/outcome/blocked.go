package outcome

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

func blocked(p *corev1.Pod) (State, bool) {
	if why := unscheduled(p); why != "" {
		return cannotStart(why), true
	}
	for _, cs := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if restarts(p, cs) {
			return lastFailure(p, cs), true
		}
		if why := waiting(p, cs); why != "" {
			s := cannotStart(why)
			s.Unpulled = unpulled(cs)
			switch {
			case needsChange(cs):
				s.HopelessSince = waitsSince(p)
			case unknownImage(cs):
				s.HopelessSince = pullsSince(p).Add(pushPatience)
			}
			return s, true
		}
	}
	return State{}, false
}

// needsChange reports whether only a person can help: the image name is invalid, or a Secret, a ConfigMap or a key of them is missing.
func needsChange(cs corev1.ContainerStatus) bool {
	w := cs.State.Waiting
	if w == nil {
		return false
	}
	switch w.Reason {
	case "InvalidImageName", "ErrImageNeverPull":
		return true
	case "CreateContainerConfigError":
		return !cacheNotSynced.MatchString(w.Message)
	default:
		return false
	}
}

// pushPatience is how long a registry may lack an image: another step of the pipeline may still push it. The kubelet looks five times.
const pushPatience = 2 * time.Minute

func unknownImage(cs corev1.ContainerStatus) bool {
	w := cs.State.Waiting
	return w != nil && w.Reason == "ImagePullBackOff" && unknownToRegistry.MatchString(w.Message)
}

// pullsSince is when the kubelet turned to the image that it cannot pull: it starts one container after the other.
func pullsSince(p *corev1.Pod) time.Time {
	since := waitsSince(p)
	for _, cs := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if r := cs.State.Running; r != nil && r.StartedAt.After(since) {
			since = r.StartedAt.Time
		}
	}
	return since
}

// unknownToRegistry matches what containerd and CRI-O say of a tag, a repository or a host that does not exist.
var unknownToRegistry = regexp.MustCompile(`code = NotFound|: not found$|manifest unknown|name unknown|no such host`)

// cacheNotSynced matches a kubelet that tries again to read a Secret or ConfigMap. It may come after a long pull of the image, so the wait
// alone does not make the pod hopeless.
var cacheNotSynced = regexp.MustCompile(`^failed to sync \S+ cache: `)

func waitsSince(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodInitialized && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	if p.Status.StartTime != nil {
		return p.Status.StartTime.Time
	}
	return p.CreationTimestamp.Time
}

func unscheduled(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		if c.Reason == corev1.PodReasonSchedulingGated {
			return "its scheduling gates are closed, and only their owner can open them."
		}
		return "no node can take it: " + plaintext.Line(c.Message, maxQuote)
	}
	return ""
}

func waiting(p *corev1.Pod, cs corev1.ContainerStatus) string {
	w := cs.State.Waiting
	if w == nil {
		return ""
	}
	why := strings.TrimRight(cmp.Or(plaintext.Line(withoutPrefixes(w.Message), maxQuote), plaintext.Line(w.Reason, maxName)), ".")
	switch w.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return ""
	case "ErrImageNeverPull":
		return fmt.Sprintf("the image %q of %s is not on the node, and its imagePullPolicy is Never.",
			plaintext.Line(image(p, cs), maxName), title(p, cs.Name))
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return fmt.Sprintf("the image %q of %s cannot be pulled: %s. %s",
			plaintext.Line(image(p, cs), maxName), title(p, cs.Name), why, imageHint(cs.Name))
	case "CreateContainerConfigError":
		return fmt.Sprintf("%s cannot be configured: %s. Create what is missing, or correct the jobTemplate of the Trigger.",
			title(p, cs.Name), why)
	default:
		return fmt.Sprintf("%s waits (%s): %s.", title(p, cs.Name), plaintext.Line(w.Reason, maxName), why)
	}
}

func imageHint(container string) string {
	if job.IsOwn(container) {
		return "It is Postflight's own image: its operator chooses it with --image, and the imagePullSecrets of the jobTemplate have to fit " +
			"its registry."
	}
	return "Check its name and tag, and the imagePullSecrets."
}

// restarts reports whether a container failed and will be restarted in place. Kubernetes restarts no sidecar once the tests have ended.
func restarts(p *corev1.Pod, cs corev1.ContainerStatus) bool {
	if w := cs.State.Waiting; w != nil {
		return w.Reason == "CrashLoopBackOff"
	}
	t := cs.State.Terminated
	if t == nil || t.ExitCode == 0 {
		return false
	}
	if isSidecar(p, cs.Name) {
		return testsEnded(p).IsZero()
	}
	return p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
}

// lastFailure omits the kubelet's message: it counts seconds, and each change would cost a write of the status.
func lastFailure(p *corev1.Pod, cs corev1.ContainerStatus) State {
	fails := fmt.Sprintf("The %s fails, and is restarted.", title(p, cs.Name))
	t := cmp.Or(cs.State.Terminated, cs.LastTerminationState.Terminated)
	if t == nil {
		return doing(fails)
	}
	problem := "It last exited with " + exitCode(t) + quoted(t.Message, ".")
	return State{Condition: v1alpha1.Running(fails + " " + problem), PodProblem: problem}
}

// image returns the name in the template, because the status may have a resolved one.
func image(p *corev1.Pod, cs corev1.ContainerStatus) string {
	for c := range job.Containers(&p.Spec) {
		if c.Name == cs.Name {
			return c.Image
		}
	}
	return cs.Image
}

// pullPrefixes alternate while the kubelet pulls and backs off, and each change would cost a write of the status.
var pullPrefixes = regexp.MustCompile(`^(Back-off pulling image "[^"]*": )?` +
	`((ErrImagePull|ImageInspectError|RegistryUnavailable|SignatureValidationFailed): )?(rpc error: code = \w+ desc = )?` +
	`(failed to pull and unpack image "[^"]*": )?(failed to resolve (reference|image) "[^"]*": )?`)

func withoutPrefixes(message string) string { return pullPrefixes.ReplaceAllString(message, "") }
