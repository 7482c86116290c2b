package outcome

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Collect reads the reports from the pods of a run. It returns nil if no pod with a directory for results has begun its tests.
func Collect(pods []corev1.Pod) *results.Collected { return collectFrom(pods, false) }

// collectFrom counts workers of a queue that failed without a report: they have taken work from the queue.
func collectFrom(pods []corev1.Pod, workers bool) *results.Collected {
	var c *results.Collected
	var reports []results.Pod
	for _, p := range slices.SortedFunc(slices.Values(pods), byCreation) {
		if !job.KeepsResults(&p.Spec) || !testsBegan(&p) {
			if c != nil && succeeded(&p) {
				c.Lost = append(c.Lost, fmt.Sprintf("The pod %s does not say what became of its results.", p.Name))
			}
			continue
		}
		if c == nil {
			c = &results.Collected{}
		}
		summary, missing := report(&p)
		switch {
		case !hasCollector(&p):
			c.NoStore = true
		case missing != "":
			c.Missing = append(c.Missing, missing)
			if succeeded(&p) {
				c.Lost = append(c.Lost, missing)
			} else if workers {
				reports = append(reports, reportOf(&p, results.Summary{}))
			}
		default:
			reports = append(reports, reportOf(&p, summary))
		}
	}
	for i := range reports {
		reports[i].Worker = workers
	}
	if c != nil {
		c.Summary = results.Merge(reports)
	}
	return c
}

// collected also reports pods that are gone.
func collected(j *batchv1.Job, pods []corev1.Pod) *results.Collected {
	c := collectFrom(pods, isQueue(&j.Spec))
	if c == nil {
		return nil
	}
	c.Summary.Apply(job.QuarantinesOf(j))
	passes, failures := endedPods(j)
	if gone := passes + failures - count(pods, func(p *corev1.Pod) bool { return ended(*p) }); gone > 0 {
		c.Missing = append(c.Missing, fmt.Sprintf("%d of the %d pods that ended are gone, and what they reported with them.", gone,
			passes+failures))
	}
	if gone := passes - count(pods, succeeded); gone > 0 {
		c.Lost = append(c.Lost, fmt.Sprintf("%d of the %d pods that succeeded are gone.", gone, passes))
	}
	return c
}

func hasCollector(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == job.CollectContainer })
}

// report returns the termination message of a pod's collector (the last, if it was restarted during the tests), or why there is none.
func report(p *corev1.Pod) (s results.Summary, missing string) {
	i := slices.IndexFunc(p.Status.InitContainerStatuses, func(cs corev1.ContainerStatus) bool { return cs.Name == job.CollectContainer })
	if i < 0 {
		return s, fmt.Sprintf("The pod %s does not say what became of its results.", p.Name)
	}
	cs := p.Status.InitContainerStatuses[i]
	for _, t := range []*corev1.ContainerStateTerminated{cs.State.Terminated, cs.LastTerminationState.Terminated} {
		if t == nil || t.FinishedAt.Time.Before(testsFinished(p)) { // it was stopped before, and has not seen everything
			continue
		}
		if s, ok := results.ParseMessage(t.Message); ok {
			return s, ""
		}
	}
	return s, notReported(p, cs)
}

// testsFinished is when the last container of the tests ended, or zero.
func testsFinished(p *corev1.Pod) (last time.Time) {
	for _, cs := range testStatuses(p) {
		if t := cs.State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

func notReported(p *corev1.Pod, cs corev1.ContainerStatus) string {
	t := cs.State.Terminated
	switch {
	case p.Status.Reason == evicted:
		return fmt.Sprintf("The pod %s was evicted before the collector of its results had reported.", p.Name)
	case t == nil:
		return fmt.Sprintf("The collector of the results of pod %s has not reported; its node may be gone.", p.Name)
	case t.ExitCode == 0:
		return fmt.Sprintf("The collector of the results of pod %s ended without a report.", p.Name)
	default:
		return fmt.Sprintf("The collector of the results of pod %s was stopped before it had reported: it exited with %s%s.",
			p.Name, exitCode(t), strings.TrimRight(quoted(plaintext.Line(t.Message, maxSummary), ""), ". "))
	}
}

func reportOf(p *corev1.Pod, s results.Summary) results.Pod {
	r := results.Pod{
		Name: p.Name, Started: p.CreationTimestamp.Time, Ended: finishedAt(p), Failed: ended(*p) &&
			!succeeded(p), Ignored: endedBadly(p), Summary: s,
	}
	if i, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil {
		r.Index = &i
	}
	return r
}
