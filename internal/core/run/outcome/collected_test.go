package outcome

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// reports is a pod whose collector ended with a report of so many failed tests of ten, and a file for each.
func reports(failed int32) func(*corev1.Pod) {
	s := results.Summary{Counts: results.Counts{Reports: 1, Tests: 10, Passed: 10 - failed, Failed: failed}, Files: failed, Bytes: int64(failed)}
	for i := range failed {
		s.Failures = append(s.Failures, v1alpha1.TestFailure{Name: string('a' + i)})
	}
	return collects(exitFor("Completed", 0, 50, results.Message(s)))
}

func collects(state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: job.ResultsVolume})
		sidecar(job.CollectContainer, state)(p)
	}
}

func index(i string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: i}
	}
}

func created(second int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = after(second) }
}

func keepsResults(j *batchv1.Job) {
	j.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: job.ResultsVolume}}
}

var (
	passes = container("test", exitFor("Completed", 0, 40, ""))
	fails  = container("test", exit(1, 40, ""))
)

func TestCollect(t *testing.T) {
	type want struct {
		failed, flaky, files int32
		missing              string // in the sentences; empty: every pod has reported
		noStore              bool
	}
	cases := map[string]struct {
		reason string
		pods   []corev1.Pod
		want   *want
	}{
		"NoResults": {"the Trigger wants none", []corev1.Pod{newPod(corev1.PodSucceeded, passes)}, nil},
		"NotBegun": {"no test wrote anything", []corev1.Pod{
			newPod(corev1.PodFailed, collects(exitFor("Completed", 0, 9, "")), container("test", waits("PodInitializing", "")))}, nil},
		"NoStore": {"the directory is there, and nothing keeps it", []corev1.Pod{
			newPod(corev1.PodSucceeded, passes, func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: job.ResultsVolume}} })}, &want{noStore: true}},
		"One": {"what it says", []corev1.Pod{newPod(corev1.PodFailed, fails, reports(3))}, &want{failed: 3, files: 3}},
		"Retried": {"the last pod counts; what failed only before is flaky", []corev1.Pod{
			newPod(corev1.PodSucceeded, named("b"), created(60), passes, ran("a, b, c", "")),
			newPod(corev1.PodFailed, named("a"), fails, ran("c", "a, b"))}, &want{flaky: 2}},
		"Indexed": {"each index counts", []corev1.Pod{
			newPod(corev1.PodFailed, named("a"), index("0"), fails, reports(2)),
			newPod(corev1.PodFailed, named("b"), index("1"), created(60), fails, reports(3))}, &want{failed: 5, files: 5}},
		"Parallel": {"pods side by side all count", []corev1.Pod{
			newPod(corev1.PodFailed, named("a"), fails, reports(1)),
			newPod(corev1.PodFailed, named("b"), created(10), fails, reports(1))}, &want{failed: 2, files: 2}},
		"Restarted": {"the collector was killed for its memory, and restarted before the end", []corev1.Pod{
			newPod(corev1.PodFailed, fails, collects(exit(137, 50, "")), func(p *corev1.Pod) {
				var reported corev1.Pod
				reports(1)(&reported)
				p.Status.InitContainerStatuses[0].LastTerminationState = reported.Status.InitContainerStatuses[0].State
			})}, &want{failed: 1, files: 1}},
		"Killed": {"the kubelet kills at the end of the grace period", []corev1.Pod{
			newPod(corev1.PodFailed, fails, collects(exit(137, 50, "")))}, &want{missing: "was stopped before it had reported: it exited with code 137 (SIGKILL)."}},
		"Silent": {"another program may have its name", []corev1.Pod{
			newPod(corev1.PodFailed, fails, collects(exitFor("Completed", 0, 50, "hello")))}, &want{missing: "ended without a report"}},
		"Evicted": {"its node was in a hurry", []corev1.Pod{
			newPod(corev1.PodFailed, podReason("Evicted", "out of disk"), fails, collects(exit(137, 50, "")))}, &want{missing: "The pod smoke-1-x was evicted before"}},
		"Lost": {"its node is unreachable", []corev1.Pod{
			newPod(corev1.PodRunning, container("test", runs), collects(runs))}, &want{missing: "its node may be gone"}},
		"NoStatus": {"a kubelet that knows no sidecars", []corev1.Pod{
			newPod(corev1.PodFailed, fails, collects(runs), func(p *corev1.Pod) { p.Status.InitContainerStatuses = nil })}, &want{missing: "does not say what became of its results"}},
		"OneOfTwo": {"what the other says counts", []corev1.Pod{
			newPod(corev1.PodFailed, named("a"), index("0"), fails, reports(2)),
			newPod(corev1.PodFailed, named("b"), index("1"), fails, collects(exit(137, 50, "")))}, &want{failed: 2, files: 2, missing: "of pod b was stopped"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Collect(tc.pods)
			if (got == nil) != (tc.want == nil) {
				t.Fatalf("%s: %+v", tc.reason, got)
			}
			if got == nil {
				return
			}
			missing := strings.Join(got.Missing, " ")
			is := want{got.Summary.Failed, got.Summary.Flaky, got.Summary.Files, tc.want.missing, got.NoStore}
			if is != *tc.want || (missing == "") != (tc.want.missing == "") || !strings.Contains(missing, tc.want.missing) {
				t.Errorf("%s: %+v, %q, want %+v", tc.reason, is, missing, *tc.want)
			}
		})
	}
}

// TestCollectedOfGonePods: pods that ended and do not exist any more have taken their reports with them.
func TestCollectedOfGonePods(t *testing.T) {
	j := newJob(backoffExceeded, keepsResults, func(j *batchv1.Job) { j.Status.Failed = 2 })
	got := Observe(StripJob(j), []corev1.Pod{newPod(corev1.PodFailed, fails, reports(1))}).Collected
	if got == nil || got.Summary.Failed != 1 || len(got.Missing) != 1 || !strings.Contains(got.Missing[0], "1 of the 2 pods that ended are gone") {
		t.Errorf("%+v", got)
	}
	if Observe(j, nil).Collected != nil || !job.KeepsResults(&StripJob(j).Spec.Template.Spec) || job.KeepsResults(&StripJob(newJob()).Spec.Template.Spec) {
		t.Error("a stripped Job does not tell whether its pods keep results")
	}
}

// TestJudged: a Job that is complete is a run that passed only if the reports of its pods show it.
func TestJudged(t *testing.T) {
	const exited = `Container "test" exited with 0, but `
	twoSucceeded := func(j *batchv1.Job) { j.Status.Succeeded = 2 }
	for name, tc := range map[string]struct {
		reason string
		job    *batchv1.Job
		pods   []corev1.Pod
		state  string
		by     v1alpha1.DecidedBy
		says   string
	}{
		"Passed":           {"no test failed", newJob(complete, keepsResults), []corev1.Pod{newPod(corev1.PodSucceeded, passes, reports(0))}, "Passed", "Tests", "The run passed in 41s."},
		"Failed test":      {"the report counts", newJob(complete, keepsResults), []corev1.Pod{newPod(corev1.PodSucceeded, passes, reports(2))}, "Failed", "Tests", exited + "2 of 10 tests failed, the first: a."},
		"Nothing":          {"the Trigger wants it so", newJob(complete, keepsResults, requires(v1alpha1.RequireNothing)), []corev1.Pod{newPod(corev1.PodSucceeded, passes, reports(2))}, "Passed", "ExitCode", "No container failed, so the run passed in 41s (exit code only)."},
		"No results":       {"the Trigger wants none", newJob(complete), []corev1.Pod{newPod(corev1.PodSucceeded, passes)}, "Passed", "ExitCode", "The tests passed in 41s (exit code only)."},
		"No report":        {"nothing shows that tests ran", newJob(complete, keepsResults), []corev1.Pod{newPod(corev1.PodSucceeded, passes, left(results.Summary{}))}, "Failed", "Report", exited + "its tests left no JUnit report"},
		"Collector killed": {"nobody knows what it would have said", newJob(complete, keepsResults), []corev1.Pod{newPod(corev1.PodSucceeded, passes, collects(exit(137, 30, "no time")))}, "Error", "", exited + "what its tests reported is lost"},
		"Pods gone":        {"nobody knows what they reported", newJob(complete, keepsResults), nil, "Error", "", "Every container exited with 0, but what its tests reported is lost"},
		"One pod gone":     {"nobody knows what it reported", newJob(complete, keepsResults, twoSucceeded), []corev1.Pod{newPod(corev1.PodSucceeded, passes, index("0"), reports(0))}, "Error", "", "1 of the 2 pods that succeeded are gone."},
		"No store":         {"nothing read the report", newJob(complete, keepsResults), []corev1.Pod{newPod(corev1.PodSucceeded, passes, func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: job.ResultsVolume}} })}, "Error", "", "no store for files is configured"},
		"Shard":            {"one of two wrote no report", newJob(complete, keepsResults, twoSucceeded), []corev1.Pod{newPod(corev1.PodSucceeded, named("a"), index("0"), passes, reports(0)), newPod(corev1.PodSucceeded, named("b"), index("1"), passes, left(results.Summary{Files: 1}))}, "Failed", "Report", exited + "the tests of one pod, b, left no JUnit report"},
		"Retried":          {"the last attempt counts", newJob(complete, keepsResults), []corev1.Pod{newPod(corev1.PodFailed, named("a"), fails, ran("a", "b, c")), newPod(corev1.PodSucceeded, named("b"), created(60), passes, ran("a, b, c", ""))}, "Passed", "Tests", "The run passed"},
		"Retried, silent":  {"the report of an earlier attempt is none of the last", newJob(complete, keepsResults), []corev1.Pod{newPod(corev1.PodFailed, named("a"), fails, reports(0)), newPod(corev1.PodSucceeded, named("b"), created(60), passes, left(results.Summary{}))}, "Failed", "Report", "the tests of one pod, b, left no JUnit report"},
		"Evicted before":   {"the attempt that counts has reported", newJob(complete, keepsResults), []corev1.Pod{newPod(corev1.PodFailed, named("a"), podReason("Evicted", "out of disk"), fails, collects(exit(137, 50, ""))), newPod(corev1.PodSucceeded, named("b"), created(60), passes, reports(0))}, "Passed", "Tests", "The run passed"},
		"Stopped early": {"the collector has not seen what the tests wrote after its report", newJob(complete, keepsResults), []corev1.Pod{newPod(corev1.PodSucceeded, passes, collects(exit(137, 50, "")), func(p *corev1.Pod) {
			early := exitFor("Completed", 0, 20, results.Message(results.Summary{Counts: results.Counts{Reports: 1, Tests: 1, Passed: 1}}))
			p.Status.InitContainerStatuses[0].LastTerminationState = early
		})}, "Error", "", "what its tests reported is lost"},
		"No volume":           {"a webhook removed the directory of one pod", newJob(complete, keepsResults, twoSucceeded), []corev1.Pod{newPod(corev1.PodSucceeded, named("a"), passes, reports(0)), newPod(corev1.PodSucceeded, named("b"), passes)}, "Error", "", "what its tests reported is lost"},
		"Worker that crashed": {"nothing replaced it, and it had work from the queue", newJob(complete, keepsResults, queueOf(3), twoSucceeded), []corev1.Pod{newPod(corev1.PodSucceeded, named("a"), passes, reports(0)), newPod(corev1.PodSucceeded, named("b"), passes, reports(0)), newPod(corev1.PodFailed, named("c"), fails, left(results.Summary{Files: 1}))}, "Failed", "Report", exited + "the tests of one pod, c, left no JUnit report"},
		"Worker evicted":      {"its collector said nothing at all", newJob(complete, keepsResults, queueOf(3), twoSucceeded), []corev1.Pod{newPod(corev1.PodSucceeded, named("a"), passes, reports(0)), newPod(corev1.PodSucceeded, named("b"), passes, reports(0)), newPod(corev1.PodFailed, named("c"), podReason("Evicted", "out of disk"), fails, collects(exit(137, 50, "")))}, "Failed", "Report", exited + "the tests of one pod, c, left no JUnit report"},
		"Worker replaced":     {"another one did its work", newJob(complete, keepsResults, queueOf(2), twoSucceeded), []corev1.Pod{newPod(corev1.PodSucceeded, named("a"), passes, reports(0)), newPod(corev1.PodFailed, named("b"), fails, collects(exit(137, 50, ""))), newPod(corev1.PodSucceeded, named("c"), created(60), passes, reports(0))}, "Passed", "Tests", "The run passed"},
		"Worker not begun":    {"it took no work", newJob(complete, keepsResults, queueOf(2)), []corev1.Pod{newPod(corev1.PodSucceeded, named("a"), passes, reports(0)), newPod(corev1.PodFailed, named("b"), collects(exitFor("Completed", 0, 9, "")), container("test", waits("PodInitializing", "")))}, "Passed", "Tests", "The run passed"},
		"Failed by itself":    {"the exit code is enough", newJob(backoffExceeded, keepsResults), []corev1.Pod{newPod(corev1.PodFailed, fails, collects(exit(137, 50, "")))}, "Failed", "ExitCode", `Container "test" exited with code 1`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, j := range []*batchv1.Job{tc.job, StripJob(tc.job)} {
				got := Observe(j, tc.pods)
				if got.Condition.Reason != tc.state || got.DecidedBy != tc.by || !strings.Contains(got.Condition.Message, tc.says) {
					t.Errorf("%s: %s by %q: %s", tc.reason, got.Condition.Reason, got.DecidedBy, got.Condition.Message)
				}
			}
		})
	}
}

// queueOf is a Job whose pods take their work from a queue.
func queueOf(workers int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.Parallelism = &workers }
}

func requires(policy v1alpha1.ResultsRequirement) func(*batchv1.Job) {
	return func(j *batchv1.Job) { require(j, results.Requirement{Policy: policy}) }
}

// left is a pod whose collector ended with a summary.
func left(s results.Summary) func(*corev1.Pod) {
	return collects(exitFor("Completed", 0, 50, results.Message(s)))
}

func TestTestsEnded(t *testing.T) {
	ends, ended := active(0), after(40).Time
	for name, tc := range map[string]struct {
		reason string
		pods   []corev1.Pod
		want   time.Time
	}{
		"Running":     {"the tests go on", []corev1.Pod{newPod(corev1.PodRunning, container("test", runs), collects(runs))}, time.Time{}},
		"Collecting":  {"only the sidecar goes on", []corev1.Pod{newPod(corev1.PodRunning, passes, collects(runs))}, ended},
		"Failed":      {"only the sidecar goes on", []corev1.Pod{newPod(corev1.PodRunning, fails, collects(runs))}, ended},
		"Restarting":  {"the tests will be repeated", []corev1.Pod{newPod(corev1.PodRunning, fails, restarting, collects(runs))}, time.Time{}},
		"OneOfTwo":    {"the other container goes on", []corev1.Pod{newPod(corev1.PodRunning, passes, container("more", runs), collects(runs))}, time.Time{}},
		"NotReported": {"the status lacks the other container", []corev1.Pod{newPod(corev1.PodRunning, passes, collects(runs), twoContainers)}, time.Time{}},
		"OtherPod":    {"another pod goes on", []corev1.Pod{newPod(corev1.PodRunning, passes, collects(runs)), newPod(corev1.PodPending, named("b"))}, time.Time{}},
		"Ended":       {"there is no pod that goes on", []corev1.Pod{newPod(corev1.PodSucceeded, passes, reports(0))}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Observe(newJob(ends), tc.pods).TestsEnded; !got.Equal(tc.want) {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func twoContainers(p *corev1.Pod) {
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more"})
}

// TestCollecting: the message says what a run does whose tests have ended, and what keeps its collector from starting.
func TestCollecting(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		pod    corev1.Pod
		want   metav1.Condition
	}{
		"Uploads":     {"it takes a while", newPod(corev1.PodRunning, passes, collects(runs)), v1alpha1.Running("The tests have ended; what they wrote is being collected, and the pod is stopping.")},
		"Killed":      {"no sidecar is restarted after the tests", newPod(corev1.PodRunning, passes, collects(exit(137, 50, ""))), v1alpha1.Running("The tests have ended; what they wrote is being collected, and the pod is stopping.")},
		"Crashes":     {"it is restarted while the tests run", newPod(corev1.PodRunning, container("test", runs), collects(exit(1, 9, "no"))), v1alpha1.Running(`The init container "postflight-collect" fails, and is restarted. It last exited with code 1: no`)},
		"WrongImage":  {"the operator can correct it", newPod(corev1.PodPending, collects(waits("ErrImagePull", "not found"))), v1alpha1.Starting(`The pod cannot start: the image "acme/postflight-collect:1" of init container "postflight-collect" cannot be pulled: not found. It is Postflight's own image: its operator chooses it with --image, and the imagePullSecrets of the jobTemplate have to fit its registry.`)},
		"StillStarts": {"a sidecar is no test", newPod(corev1.PodPending, collects(runs), container("test", waits("PodInitializing", ""))), v1alpha1.Starting(setUp)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Observe(newJob(active(0)), []corev1.Pod{tc.pod}).Condition); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestResultsTooLarge(t *testing.T) {
	pod := newPod(corev1.PodFailed, fails, collects(exit(137, 50, "")),
		podReason("Evicted", `Usage of EmptyDir volume "postflight-results" exceeds the limit "1Mi". `))
	want := v1alpha1.Failed(`The pod was stopped because its tests wrote too much into the results directory. Usage of EmptyDir volume "postflight-results" exceeds the limit "1Mi". Write less, or raise spec.results.sizeLimit of the Trigger.`)
	if diff := cmp.Diff(want, Observe(newJob(backoffExceeded), []corev1.Pod{pod}).Condition); diff != "" {
		t.Error(diff)
	}
}
