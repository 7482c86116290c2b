package outcome

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// excuse lets a run pass whose Job failed only because quarantined tests failed. Its message says why it does not, after the counts and
// before the log command, which pages cut off.
func excuse(s State, j *batchv1.Job, end *batchv1.JobCondition, pods []corev1.Pod, c *results.Collected) State {
	if s.Condition.Reason != v1alpha1.ReasonFailed || c == nil || !c.Summary.OnlyQuarantined() {
		return s
	}
	problem := unexcused(j, end, pods, c)
	if problem == "" {
		judgment := c.Judge(job.RequirementOf(j))
		if problem = judgment.Problem; problem == "" {
			return State{Condition: passed(j, pods, c, judgment.By), DecidedBy: judgment.By, Killed: killedForMemory(pods)}
		}
		s.DecidedBy, problem = judgment.By, strings.TrimSuffix(strings.TrimSpace(problem+" "+judgment.Advice), ".")
	}
	s.Condition.Message = "That does not excuse the run: " + problem + ". " + s.Condition.Message
	return s
}

// unexcused returns why something besides quarantined tests may have failed, or "". In doubt, the run fails: each pod whose work counts
// has to have ended by itself, with a report in which quarantined tests failed and no others.
func unexcused(j *batchv1.Job, end *batchv1.JobCondition, pods []corev1.Pod, c *results.Collected) string {
	template := j.Spec.Template.Spec
	switch {
	case job.RequirementOf(j).Policy == v1alpha1.RequireNothing:
		return "with results.require: Nothing, the exit code alone decides"
	case end.Reason != batchv1.JobReasonBackoffLimitExceeded && end.Reason != batchv1.JobReasonFailedIndexes:
		return fmt.Sprintf("the Job ended for another reason (%s)", end.Reason)
	case template.RestartPolicy != corev1.RestartPolicyNever:
		return "its containers restart in place; set restartPolicy: Never in the jobTemplate"
	case len(template.Containers) != 1:
		return "its pods have several containers, and a report does not say whose it is; use one container for the tests"
	case len(c.Missing) > 0:
		return "reports are missing. " + strings.TrimSuffix(c.Missing[0], ".")
	}
	last, problem := lastPods(j, pods)
	for i := range last {
		problem = cmp.Or(problem, otherFailure(&last[i], j.Spec.Template.Spec.Containers[0].Name))
	}
	return problem
}

// lastPods returns the last pod of each part of the work. The problem is that a part has none, because the Job was stopped before.
func lastPods(j *batchv1.Job, pods []corev1.Pod) (last []corev1.Pod, problem string) {
	if !job.IsIndexed(&j.Spec) {
		if isQueue(&j.Spec) || ptr.Deref(j.Spec.Completions, 1) != 1 || len(pods) == 0 {
			return nil, "its pods have no indexes, so their failure may have stopped others; set completionMode: Indexed in the jobTemplate"
		}
		return []corev1.Pod{slices.MaxFunc(pods, byCreation)}, ""
	}
	byIndex := map[string]corev1.Pod{}
	for _, p := range slices.SortedFunc(slices.Values(pods), byCreation) {
		byIndex[p.Annotations[batchv1.JobCompletionIndexAnnotation]] = p
	}
	for i := range int(ptr.Deref(j.Spec.Completions, 1)) {
		p, exists := byIndex[fmt.Sprint(i)]
		if !exists {
			return nil, fmt.Sprintf("nothing is known of shard %d; leave backoffLimit out of the jobTemplate, so that a shard does not stop others",
				i)
		}
		last = append(last, p)
	}
	return last, ""
}

// otherFailure returns why a pod may have failed for another reason than quarantined tests, or "".
func otherFailure(p *corev1.Pod, tests string) string {
	if succeeded(p) && !wasStopped(p) {
		return "" // a report is required of it, too
	}
	if !hasFailed(p) || !ended(*p) || wasStopped(p) {
		return fmt.Sprintf("the pod %s was stopped", p.Name)
	}
	own, missing := report(p)
	if missing != "" || own.Reports == 0 || own.Unread > 0 || !own.OnlyQuarantined() {
		return fmt.Sprintf("the pod %s failed, and its own report shows no quarantined failure", p.Name)
	}
	for _, cs := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		t := cs.State.Terminated
		switch {
		case isSidecar(p, cs.Name), !job.InTemplate(&p.Spec, cs.Name):
		case t == nil:
			return fmt.Sprintf("nobody knows how the %s of pod %s ended", title(p, cs.Name), p.Name)
		case t.ExitCode == 0:
		case cs.Name != tests:
			return fmt.Sprintf("the %s failed", title(p, cs.Name))
		case !ranOnceWithoutSignal(cs) || t.Reason != "Error" || !ofFailedTests(t.ExitCode, own.Failed):
			return fmt.Sprintf("the %s exited with %s, which a test runner does not do because of failed tests. Let it exit with 1 then",
				title(p, cs.Name), exitCode(t))
		}
	}
	return ""
}

// ofFailedTests reports whether a test runner exits with a code because tests failed: most exit with 1, and Mocha and Cypress with their
// number. 126 and 127 are what shells say of a command that they cannot start, which may come after the tests.
func ofFailedTests(code, failed int32) bool { return code == 1 || code == failed && code < 126 }

// maxNotes bounds the Quarantines that a message names.
const maxNotes = 3

// countsAgain says which Quarantines have expired whose tests failed, and how many were left out.
func countsAgain(j *batchv1.Job, c *results.Collected) string {
	if c == nil {
		return ""
	}
	var notes []string
	applied := job.QuarantinesOf(j)
	for _, r := range applied.Rules {
		names := func(f v1alpha1.TestFailure) bool { return f.ExpiredQuarantine == r.Name }
		if i := slices.IndexFunc(c.Summary.Failures, names); r.Expired && i >= 0 && len(notes) < maxNotes {
			notes = append(notes, fmt.Sprintf("The Quarantine %s has expired: since %s, %q counts again. ", r.Name, r.Until,
				c.Summary.Failures[i].Name))
		}
	}
	if applied.Omitted > 0 {
		notes = append(notes, fmt.Sprintf("Quarantines that were left out: %d. A run applies at most 20 of them, with 200 tests. ",
			applied.Omitted))
	}
	return strings.Join(notes, "")
}
