package runs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	corev1 "k8s.io/api/core/v1"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// podPollInterval is how often logs that are followed look for a pod.
const podPollInterval = time.Second

// copyLogs copies the logs of the pods that exist, oldest first. With Follow, it waits for pods until the run has
// ended.
func (c *ClusterRuns) copyLogs(ctx context.Context, id string, o client.LogOptions, to io.Writer) error {
	l := &podLogs{ClusterRuns: c, LogOptions: o, to: &lineWriter{Writer: to, atStart: true}, copied: map[string]bool{}}
	printed := ""
	for {
		s, err := c.getSuite(ctx, id)
		if err != nil {
			return err
		}
		if err := l.copyNew(ctx, s); err != nil {
			return err
		}
		switch {
		case len(l.copied) > 0 && (s.Finished() || !o.Follow):
			return l.lost
		case s.Finished() || !o.Follow:
			return withoutLog(s)
		}
		if message := messageOf(s); message != printed && len(l.copied) == 0 {
			c.Console.Note("%s: %s", stateOf(s), message)
			printed = message
		}
		if err := transfer.Sleep(ctx, podPollInterval); err != nil {
			return err
		}
	}
}

// withoutLog says why there is no log.
func withoutLog(s *v1alpha1.Suite) error {
	archived := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionArchived)
	if s.Finished() && archived != nil {
		return fmt.Errorf("no pod of the run %s has such a log any more. %s To read what is archived, set POSTFLIGHT_URL and "+
			"POSTFLIGHT_API_KEY of the team, and leave out -n, --context and --kubeconfig", s.Name, archived.Message)
	}
	return fmt.Errorf("no pod of the run %s has such a log. Its state is %s: %s", s.Name, stateOf(s), messageOf(s))
}

// podLogs copies logs of one run.
type podLogs struct {
	*ClusterRuns
	client.LogOptions

	to     *lineWriter
	copied map[string]bool // by the name of the pod
	lost   error           // the first error of a log
}

// copyNew copies the logs of the pods that have one by now.
func (l *podLogs) copyNew(ctx context.Context, s *v1alpha1.Suite) error {
	var list corev1.PodList
	err := l.Client.List(ctx, &list, crclient.InNamespace(s.Namespace), crclient.MatchingLabels{v1alpha1.LabelSuite: s.Name})
	if err != nil {
		return l.ExplainError(err, "pods")
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return l.copied[p.Name] || l.Pod != "" && p.Name != l.Pod || !l.hasLog(&p)
	})
	slices.SortStableFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	several := len(l.copied)+len(pods) > 1
	for i := range pods {
		if err := l.copyPod(ctx, &pods[i], several); err != nil {
			return err
		}
		l.copied[pods[i].Name] = true
	}
	return nil
}

// copyPod returns an error if nothing can be copied at all. A log that is gone does not hide the others.
func (l *podLogs) copyPod(ctx context.Context, pod *corev1.Pod, several bool) error {
	containers := l.containers(pod)
	if len(containers) == 0 {
		return fmt.Errorf("the pod %s has no container %q, but %s", pod.Name, l.Container, strings.Join(allNames(pod), ", "))
	}
	for _, container := range containers {
		if several || len(containers) > 1 {
			l.to.header(pod.Name, container)
		}
		err := l.copyLog(ctx, pod, container)
		if ctx.Err() != nil {
			return err
		}
		if err != nil && l.lost == nil {
			l.lost = err
		}
	}
	return nil
}

func (l *podLogs) copyLog(ctx context.Context, pod *corev1.Pod, container string) error {
	options := &corev1.PodLogOptions{Container: container, Follow: l.Follow, Previous: l.Previous}
	if l.Tail != nil {
		options.TailLines = new(int64(*l.Tail))
	}
	log, err := l.Pods.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return l.ExplainError(err, fmt.Sprintf("the log of %s/%s", pod.Name, container))
	}
	defer log.Close()
	_, err = io.Copy(l.to, log)
	return err
}

// hasLog reports whether the pod has the log to print. With --follow, that is the log of the tests, not of a
// step before them.
func (l *podLogs) hasLog(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodPending {
		return true
	}
	if l.Container == "" {
		return !l.Follow && blockingStep(pod) != nil
	}
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(s corev1.ContainerStatus) bool { return s.Name == l.Container && started(s) })
}

// containers returns the names to print: the container that the user named, or all that test. If none of these has started, it returns
// the init container that blocks them.
func (l *podLogs) containers(pod *corev1.Pod) []string {
	if l.Container != "" {
		return slices.DeleteFunc(allNames(pod), func(name string) bool { return name != l.Container })
	}
	if step := blockingStep(pod); step != nil && !slices.ContainsFunc(pod.Status.ContainerStatuses, started) {
		l.Console.Note("No test has started. This is the log of the init container %s, which %s.", step.Name, progressOf(*step))
		return []string{step.Name}
	}
	return names(pod.Spec.Containers)
}

func started(s corev1.ContainerStatus) bool {
	return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
}

func allNames(pod *corev1.Pod) []string {
	return append(names(pod.Spec.InitContainers), names(pod.Spec.Containers)...)
}

func names(containers []corev1.Container) []string {
	var names []string
	for _, container := range containers {
		names = append(names, container.Name)
	}
	return names
}

// blockingStep returns the init container that keeps the others from starting: a failed one, or else the last that has started. It
// returns nil if none has.
func blockingStep(pod *corev1.Pod) *corev1.ContainerStatus {
	var step *corev1.ContainerStatus
	for i := range pod.Status.InitContainerStatuses {
		s := &pod.Status.InitContainerStatuses[i]
		if _, failed := exitOf(*s); failed {
			return s
		}
		if started(*s) {
			step = s
		}
	}
	return step
}

// exitOf is the exit code of a container that has ended, and may be about to start again.
func exitOf(s corev1.ContainerStatus) (code int32, failed bool) {
	for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if t != nil {
			return t.ExitCode, t.ExitCode != 0 && s.State.Running == nil
		}
	}
	return 0, false
}

func progressOf(s corev1.ContainerStatus) string {
	code, failed := exitOf(s)
	switch {
	case failed:
		return fmt.Sprintf("failed with exit code %d", code)
	case s.State.Running != nil:
		return "is running"
	default:
		return "has ended"
	}
}

// lineWriter knows whether the next byte starts a line.
type lineWriter struct {
	io.Writer

	atStart bool
}

func (w *lineWriter) Write(b []byte) (int, error) {
	if len(b) > 0 {
		w.atStart = b[len(b)-1] == '\n'
	}
	return w.Writer.Write(b)
}

// header names the log that follows, as the server does.
func (w *lineWriter) header(pod, container string) {
	if !w.atStart {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "==> %s/%s <==\n", pod, container)
}

// stateOf and messageOf are what is said of a run that waits for its log.
func stateOf(s *v1alpha1.Suite) string {
	if state := s.State(); state != "" {
		return state
	}
	return v1alpha1.ReasonQueued
}

func messageOf(s *v1alpha1.Suite) string {
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		return c.Message
	}
	return unseen
}
