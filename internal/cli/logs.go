package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// lookAgain is how often logs looks for the pod of a run that has none yet.
const lookAgain = time.Second

// Logs says what to print of a run's pods.
type Logs struct {
	Follow    bool
	Container string // all that test where empty
}

// Logs prints what the pods of a run print, or have printed.
func (c *Runs) Logs(ctx context.Context, name string, l Logs) error {
	s, err := c.get(ctx, name)
	if err != nil {
		return err
	}
	pod, err := c.pod(ctx, s, l)
	if err != nil {
		return err
	}
	containers := c.containersOf(pod, l.Container)
	if len(containers) == 0 {
		return fmt.Errorf("the pod has no container %q, but %s", l.Container,
			strings.Join(append(names(pod.Spec.InitContainers), names(pod.Spec.Containers)...), ", "))
	}
	for _, container := range containers {
		prefix := ""
		if len(containers) > 1 {
			prefix = container + "  "
		}
		if err := c.copyLog(ctx, pod, container, l.Follow, prefix); err != nil {
			return err
		}
	}
	return nil
}

// pod finds the newest pod of the run with such a log; it waits for one if asked to.
func (c *Runs) pod(ctx context.Context, s *v1alpha1.Suite, l Logs) (*corev1.Pod, error) {
	told := ""
	for {
		var pods corev1.PodList
		err := c.Cluster.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelSuite: s.Name})
		if err != nil {
			return nil, c.Cluster.explainError(err, "pods")
		}
		if pod := newest(pods.Items, l.in); pod != nil {
			return pod, nil
		}
		if s.Finished() || !l.Follow {
			return nil, fmt.Errorf("the run %s has no pod with a log. It is %s: %s", s.Name, state(s), message(s))
		}
		if why := message(s); why != told {
			c.Console.Note("%s: %s", state(s), why)
			told = why
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookAgain):
		}
		if s, err = c.get(ctx, s.Name); err != nil {
			return nil, err
		}
	}
}

func newest(pods []corev1.Pod, with func(*corev1.Pod) bool) *corev1.Pod {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for i := range pods {
		if with(&pods[i]) {
			return &pods[i]
		}
	}
	return nil
}

// in reports whether the pod has the log that is asked for. Who follows a run waits for its tests, and not
// for what goes before them.
func (l Logs) in(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodPending {
		return true
	}
	if l.Container == "" {
		return !l.Follow && firstStep(pod) != nil
	}
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(s corev1.ContainerStatus) bool { return s.Name == l.Container && started(s) })
}

func started(s corev1.ContainerStatus) bool {
	return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
}

// containersOf are those to show: the one that is asked for, or all with the tests, or where none of
// these has started, the init container for which that is so.
func (c *Runs) containersOf(pod *corev1.Pod, only string) []string {
	if only != "" {
		return slices.DeleteFunc(append(names(pod.Spec.InitContainers), names(pod.Spec.Containers)...), func(name string) bool { return name != only })
	}
	if step := firstStep(pod); step != nil && !slices.ContainsFunc(pod.Status.ContainerStatuses, started) {
		c.Console.Note("No test has started. This is the log of the init container %s, which %s.", step.Name, doing(*step))
		return []string{step.Name}
	}
	return names(pod.Spec.Containers)
}

func names(containers []corev1.Container) []string {
	var names []string
	for _, container := range containers {
		names = append(names, container.Name)
	}
	return names
}

// firstStep is the init container that keeps the others from starting: one that failed, or else the last
// that has started; nil where none has.
func firstStep(pod *corev1.Pod) *corev1.ContainerStatus {
	var step *corev1.ContainerStatus
	for i := range pod.Status.InitContainerStatuses {
		s := &pod.Status.InitContainerStatuses[i]
		if _, bad := failure(*s); bad {
			return s
		}
		if started(*s) {
			step = s
		}
	}
	return step
}

// failure is the exit code of a container that failed, and may be about to be started again.
func failure(s corev1.ContainerStatus) (code int32, failed bool) {
	for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if t != nil {
			return t.ExitCode, t.ExitCode != 0 && s.State.Running == nil
		}
	}
	return 0, false
}

func doing(s corev1.ContainerStatus) string {
	code, failed := failure(s)
	switch {
	case failed:
		return fmt.Sprintf("failed with exit code %d", code)
	case s.State.Running != nil:
		return "is running"
	default:
		return "has ended"
	}
}

func (c *Runs) copyLog(ctx context.Context, pod *corev1.Pod, container string, follow bool, prefix string) error {
	options := &corev1.PodLogOptions{Container: container, Follow: follow}
	log, err := c.Cluster.Pods.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return c.Cluster.explainError(err, "the log of the pod "+pod.Name)
	}
	defer log.Close()
	if prefix == "" {
		_, err = io.Copy(c.Console.Out, log)
		return err
	}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			fmt.Fprint(c.Console.Out, prefix+strings.TrimSuffix(line, "\n")+"\n")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
