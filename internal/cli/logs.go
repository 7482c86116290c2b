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
	Container string // all where empty
}

// Logs prints what the pods of a run print, or have printed.
func (c *Runs) Logs(ctx context.Context, name string, l Logs) error {
	s, err := c.get(ctx, name)
	if err != nil {
		return err
	}
	pod, err := c.pod(ctx, s, l.Follow)
	if err != nil {
		return err
	}
	containers := containersOf(pod, l.Container)
	if len(containers) == 0 {
		return fmt.Errorf("the pod has no container %q", l.Container)
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

// pod finds the newest pod of the run whose containers have started; it waits for one if asked to.
func (c *Runs) pod(ctx context.Context, s *v1alpha1.Suite, wait bool) (*corev1.Pod, error) {
	told := ""
	for {
		var pods corev1.PodList
		err := c.Cluster.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelSuite: s.Name})
		if err != nil {
			return nil, c.Cluster.explainError(err, "pods")
		}
		if pod := newestStarted(pods.Items); pod != nil {
			return pod, nil
		}
		if s.Finished() || !wait {
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

func newestStarted(pods []corev1.Pod) *corev1.Pod {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for i := range pods {
		if pods[i].Status.Phase != corev1.PodPending {
			return &pods[i]
		}
	}
	return nil
}

func containersOf(pod *corev1.Pod, only string) []string {
	var names []string
	for _, container := range pod.Spec.Containers {
		if only == "" || container.Name == only {
			names = append(names, container.Name)
		}
	}
	return names
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
