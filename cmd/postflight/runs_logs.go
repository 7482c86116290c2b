package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/sleep"
)

// podPollInterval is how often logs looks for the pod of a run that has none yet.
const podPollInterval = time.Second

type runsLogsOptions struct {
	cluster
	follow    bool
	container string // empty: all that test
}

func newRunsLogs() *cobra.Command {
	o := &runsLogsOptions{}
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "Print what the tests print",
		Long: `Prints what the containers of the run print. If none has started, because a step before them runs or failed,
it prints the log of that step, such as the download of the input files, and says so.`,
		Example: `  postflight runs logs -f smoke-3f9c2k7q5x0a1b2c -n acme

  # The download of the input files
  postflight runs logs smoke-3f9c2k7q5x0a1b2c -n acme -c postflight-fetch`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if o.format != "" {
				return errors.New("runs logs prints the output of the tests, not JSON: leave out -o")
			}
			return nil
		},
		RunE: o.command(func(ctx context.Context, args []string) error { return o.run(ctx, args[0]) }),
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "wait for the run to start, and print until it ends")
	cmd.Flags().StringVarP(&o.container, "container", "c", "", "only this container of the pod, which may be an init container")
	o.addFlags(cmd)
	_ = cmd.Flags().MarkHidden("output") // it exists to be refused
	return cmd
}

func (o *runsLogsOptions) run(ctx context.Context, name string) error {
	s, err := o.getRun(ctx, name)
	if err != nil {
		return err
	}
	pod, err := o.pod(ctx, s)
	if err != nil {
		return err
	}
	containers := o.containers(pod)
	if len(containers) == 0 {
		return fmt.Errorf("the pod has no container %q, but %s", o.container, strings.Join(allNames(pod), ", "))
	}
	for _, container := range containers {
		prefix := ""
		if len(containers) > 1 {
			prefix = container + "  "
		}
		if err := o.copyLog(ctx, pod, container, prefix); err != nil {
			return err
		}
	}
	return nil
}

// pod returns the newest pod of the run that has the log; with --follow, it waits for one.
func (o *runsLogsOptions) pod(ctx context.Context, s *v1alpha1.Suite) (*corev1.Pod, error) {
	printed := ""
	for {
		var pods corev1.PodList
		err := o.client.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelSuite: s.Name})
		if err != nil {
			return nil, o.explainError(err, "pods")
		}
		slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
		if i := slices.IndexFunc(pods.Items, o.hasLog); i >= 0 {
			return &pods.Items[i], nil
		}
		if s.Finished() || !o.follow {
			return nil, fmt.Errorf("the run %s has no pod with a log. Its state is %s: %s", s.Name, stateOf(s), messageOf(s))
		}
		if message := messageOf(s); message != printed {
			o.console.note("%s: %s", stateOf(s), message)
			printed = message
		}
		if err := sleep.For(ctx, podPollInterval); err != nil {
			return nil, err
		}
		if s, err = o.getRun(ctx, s.Name); err != nil {
			return nil, err
		}
	}
}

// hasLog reports whether the pod has the log to print. With --follow, that is the log of the tests, not of a
// step before them.
func (o *runsLogsOptions) hasLog(pod corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodPending {
		return true
	}
	if o.container == "" {
		return !o.follow && blockingStep(&pod) != nil
	}
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(s corev1.ContainerStatus) bool { return s.Name == o.container && started(s) })
}

func started(s corev1.ContainerStatus) bool {
	return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
}

// containers are those to print: the one that was named, or all that test; if none of these has started, the
// init container that blocks them.
func (o *runsLogsOptions) containers(pod *corev1.Pod) []string {
	if o.container != "" {
		return slices.DeleteFunc(allNames(pod), func(name string) bool { return name != o.container })
	}
	if step := blockingStep(pod); step != nil && !slices.ContainsFunc(pod.Status.ContainerStatuses, started) {
		o.console.note("No test has started. This is the log of the init container %s, which %s.", step.Name, progressOf(*step))
		return []string{step.Name}
	}
	return names(pod.Spec.Containers)
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

// blockingStep is the init container that keeps the others from starting: one that failed, or else the last
// that has started; nil if none has.
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

func (o *runsLogsOptions) copyLog(ctx context.Context, pod *corev1.Pod, container, prefix string) error {
	options := &corev1.PodLogOptions{Container: container, Follow: o.follow}
	log, err := o.pods.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return o.explainError(err, "the log of the pod "+pod.Name)
	}
	defer log.Close()
	if prefix == "" {
		_, err = io.Copy(o.console.out, log)
		return err
	}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			fmt.Fprint(o.console.out, prefix+strings.TrimSuffix(line, "\n")+"\n")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
