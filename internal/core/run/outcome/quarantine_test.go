package outcome

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

var flakyCart = quarantine.Applied{Rules: []quarantine.Rule{
	{Name: "flaky-cart", Until: "2026-12-01", Tests: []string{"cart*"}}, {Name: "old", Until: "2026-11-17", Expired: true, Tests: []string{"login"}},
}}

// quarantining is a Job of one container that applies flakyCart.
func quarantining(j *batchv1.Job) {
	keepsResults(j)
	applies(j, flakyCart)
	j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test"}}
}

func indexed(completions int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), &completions
	}
}

func failedIndexes(j *batchv1.Job) {
	with(batchv1.JobFailed, batchv1.JobReasonFailedIndexes, "Job has failed indexes")(j)
	j.Status.Failed = 1
}

func failedFor(reason string) func(*batchv1.Job) { return with(batchv1.JobFailed, reason, "said") }

// found is a report of ten tests, of which so many failed, and so many of these in quarantine.
func found(failed, quarantined int32) results.Summary {
	s := results.Summary{Counts: results.Counts{Reports: 1, Tests: 10, Passed: 10 - failed, Failed: failed, Quarantined: quarantined, QuarantinedRan: quarantined}}
	for i := range failed {
		f := v1alpha1.TestFailure{Name: fmt.Sprintf("pay %d", i)}
		if i >= failed-quarantined {
			f = v1alpha1.TestFailure{Name: fmt.Sprintf("cart %d", i), Quarantine: "flaky-cart"}
		}
		s.Failures = append(s.Failures, f)
	}
	return s
}

func but(s results.Summary, change func(*results.Summary)) results.Summary {
	change(&s)
	return s
}

// TestQuarantined has a row for each way in which something else than quarantined tests may have failed.
func TestQuarantined(t *testing.T) {
	const excuses, notExcused = "The run passed in 42s, with 1 quarantined failure.", "That does not excuse the run: "
	one, failedPod := found(1, 1), func(change ...func(*corev1.Pod)) corev1.Pod { return newPod(corev1.PodFailed, change...) }
	alone := []corev1.Pod{failedPod(fails, left(one))}
	ends := func(state corev1.ContainerState) []corev1.Pod {
		return []corev1.Pod{failedPod(container("test", state), left(one))}
	}
	shard := func(i string, phase corev1.PodPhase, s results.Summary, change ...func(*corev1.Pod)) corev1.Pod {
		how := fails
		if phase == corev1.PodSucceeded {
			how = passes
		}
		return newPod(phase, append([]func(*corev1.Pod){named("s" + i), index(i), how, left(s)}, change...)...)
	}
	for name, tc := range map[string]struct {
		reason string
		job    *batchv1.Job
		pods   []corev1.Pod
		state  string
		says   string
	}{
		"Excused":             {"nothing else failed", newJob(backoffExceeded, quarantining), alone, "Passed", excuses},
		"Exit code 0":         {"the runner ignores failures", newJob(complete, quarantining), []corev1.Pod{newPod(corev1.PodSucceeded, passes, left(one))}, "Passed", "The run passed in 41s, with 1 quarantined failure."},
		"Number of failures":  {"Mocha and Cypress exit with it", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(container("test", exit(3, 40, "")), left(found(3, 3)))}, "Passed", "with 3 quarantined failures."},
		"No Quarantine":       {"the annotation decides, not the report", newJob(backoffExceeded, keepsResults), alone, "Failed", `Container "test" exited with code 1`},
		"Expired only":        {"its tests count again", newJob(backoffExceeded, keepsResults, func(j *batchv1.Job) { applies(j, quarantine.Applied{Rules: flakyCart.Rules[1:]}) }), []corev1.Pod{failedPod(fails, left(but(found(1, 0), func(s *results.Summary) { s.Failures[0].ExpiredQuarantine = "old" })))}, "Failed", `The Quarantine old has expired: since 2026-11-17, "pay 0" counts again. Container`},
		"Another test":        {"it counts", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(found(2, 1)))}, "Failed", `Container "test" exited with code 1`},
		"Another, exit 0":     {"it counts", newJob(complete, quarantining), []corev1.Pod{newPod(corev1.PodSucceeded, passes, left(found(2, 1)))}, "Failed", "2 of 10 tests failed, 1 of them quarantined, the first: pay 0."},
		"No failure":          {"the runner failed after its tests", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(found(0, 0)))}, "Failed", "exited with code 1"},
		"All tests failed":    {"nothing shows that anything works", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(found(10, 10)))}, "Failed", notExcused + "10 tests failed in quarantine, and no other test passed"},
		"All in quarantine":   {"the others that passed are named, too", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(but(one, func(s *results.Summary) { s.QuarantinedRan = 10 })))}, "Failed", "no other test passed"},
		"All, exit 0":         {"nothing shows that anything works", newJob(complete, quarantining), []corev1.Pod{newPod(corev1.PodSucceeded, passes, left(found(10, 10)))}, "Failed", "no other test passed"},
		"All, any report":     {"Report is no excuse", newJob(complete, quarantining, requires(v1alpha1.RequireReport)), []corev1.Pod{newPod(corev1.PodSucceeded, passes, left(found(10, 10)))}, "Failed", "no other test passed"},
		"Too few":             {"only others count", newJob(backoffExceeded, quarantining, func(j *batchv1.Job) { require(j, results.Requirement{MinTests: 10}) }), alone, "Failed", "only 9 tests outside of it passed; results.minTests of the Trigger is 10"},
		"Exit code only":      {"a Quarantine has no effect", newJob(backoffExceeded, quarantining, requires(v1alpha1.RequireNothing)), alone, "Failed", "the exit code alone decides"},
		"Out of memory":       {"the tests after the report may have failed", newJob(backoffExceeded, quarantining), ends(exitFor("OOMKilled", 137, 40, "")), "Failed", notExcused + `the container "test" exited with code 137 (out of memory)`},
		"A child, no memory":  {"Kubernetes says OOMKilled", newJob(backoffExceeded, quarantining), ends(exitFor("OOMKilled", 1, 40, "")), "Failed", "exited with code 1 (out of memory)"},
		"Killed":              {"somebody stopped it", newJob(backoffExceeded, quarantining), ends(exit(137, 40, "")), "Failed", "(SIGKILL), which a test runner does not do because of failed tests"},
		"Crashed":             {"a bug of the runner", newJob(backoffExceeded, quarantining), ends(exit(139, 40, "")), "Failed", "(SIGSEGV)"},
		"Misused":             {"of pytest: its command line", newJob(backoffExceeded, quarantining), ends(exit(4, 40, "")), "Failed", "exited with code 4, which a test runner does not do"},
		"No command":          {"nothing ran", newJob(backoffExceeded, quarantining), ends(exit(127, 40, "")), "Failed", notExcused},
		"126 failures":        {"a shell says so, too", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(container("test", exit(126, 40, "")), left(but(found(3, 3), func(s *results.Summary) { s.Failed, s.Quarantined, s.Passed = 126, 126, 100 })))}, "Failed", notExcused},
		"Not started":         {"an Error stays one", newJob(backoffExceeded, quarantining), ends(exitFor("StartError", 128, 40, "")), "Error", "could not be started"},
		"Evicted":             {"an Error stays one", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(one), podReason("Evicted", "The node was low on resource: memory."))}, "Error", "The cluster stopped the pod"},
		"Preempted":           {"an Error stays one", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(one), podCondition(corev1.DisruptionTarget, corev1.ConditionTrue, "PreemptionByScheduler", "x"))}, "Error", "The cluster stopped the pod"},
		"Deadline":            {"it took too long", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(one), podReason("DeadlineExceeded", ""))}, "TimedOut", ""},
		"Deadline of the Job": {"it took too long", newJob(deadlineExceeded, quarantining), alone, "TimedOut", ""},
		"Failure policy":      {"the team wants these exits to fail", newJob(failedFor(batchv1.JobReasonPodFailurePolicy), quarantining), alone, "Failed", notExcused + "the Job ended for another reason (PodFailurePolicy)."},
		"Max failed indexes":  {"others were stopped", newJob(failedFor(batchv1.JobReasonMaxFailedIndexesExceeded), quarantining, indexed(1)), []corev1.Pod{shard("0", corev1.PodFailed, one)}, "Failed", "another reason"},
		"Restarted in place":  {"reports of several attempts are in one directory", newJob(backoffExceeded, quarantining, onFailure), alone, "Failed", "set restartPolicy: Never"},
		"Restarted container": {"reports of several attempts are in one directory", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(one), func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 1 })}, "Failed", notExcused},
		"Two containers": {"nobody knows whose report it is", newJob(backoffExceeded, quarantining, func(j *batchv1.Job) {
			j.Spec.Template.Spec.Containers = append(j.Spec.Template.Spec.Containers, corev1.Container{Name: "lint"})
		}), []corev1.Pod{failedPod(fails, twoContainers, container("lint", exit(1, 41, "")), left(one))}, "Failed", "its pods have several containers"},
		"Injected":            {"it did not fail", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, container("proxy", exitFor("Completed", 0, 45, "")), left(one))}, "Passed", excuses},
		"Injected, failed":    {"its failure is none of a test", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, container("proxy", exit(1, 45, "")), left(one))}, "Failed", `the container "proxy" failed`},
		"Sidecar":             {"Kubernetes does not count it", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, sidecar("proxy", exit(1, 45, "")), left(one))}, "Passed", excuses},
		"Init container":      {"its tests did not begin", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, initContainer("seed", exit(1, 5, "")), left(one))}, "Failed", `the init container "seed" failed`},
		"End unknown":         {"its node is gone", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(one), container("proxy", runs))}, "Failed", `nobody knows how the container "proxy"`},
		"No report":           {"nothing says which tests failed", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(results.Summary{}))}, "Failed", "exited with code 1"},
		"Report cut":          {"the rest may have failed", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(but(one, func(s *results.Summary) { s.Unread = 1 })))}, "Failed", "its own report shows no quarantined failure"},
		"Collector killed":    {"nobody knows what it would have said", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, collects(exit(137, 50, "")))}, "Failed", "exited with code 1"},
		"Outside of tests":    {"a Quarantine names tests", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(but(one, func(s *results.Summary) { s.Outside = 1 })))}, "Failed", "exited with code 1"},
		"Pod deleted":         {"somebody stopped it", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(fails, left(one), deleted(41))}, "Failed", notExcused + "the pod smoke-1-x was stopped"},
		"Repeated":            {"the last attempt counts", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(named("a"), fails, left(one)), failedPod(named("b"), created(60), fails, left(one))}, "Passed", "with 1 quarantined failure."},
		"Repeated, killed":    {"the last attempt counts", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(named("a"), fails, left(one)), failedPod(named("b"), created(60), container("test", exit(137, 99, "")), left(but(one, func(*results.Summary) {})))}, "Failed", notExcused},
		"Fewer, unrepeated":   {"nothing shows that it passes now", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(named("a"), fails, left(found(1, 0))), failedPod(named("b"), created(60), fails, left(but(one, func(s *results.Summary) { s.Tests, s.Passed = 2, 1 })))}, "Failed", "exited with code 1"},
		"Signal":              {"its exit code says something else", newJob(backoffExceeded, quarantining), ends(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Signal: 9, Reason: "Error", FinishedAt: after(40)}}), "Failed", notExcused},
		"Repeated, lost":      {"nobody knows what failed before", newJob(backoffExceeded, quarantining), []corev1.Pod{failedPod(named("a"), fails, collects(exit(137, 50, ""))), failedPod(named("b"), created(60), fails, left(one))}, "Failed", notExcused + "reports are missing. The collector"},
		"A shard preempted":   {"another one failed after it", newJob(failedIndexes, quarantining, indexed(2)), []corev1.Pod{shard("0", corev1.PodFailed, one, podCondition(corev1.DisruptionTarget, corev1.ConditionTrue, "PreemptionByScheduler", "x")), newPod(corev1.PodFailed, named("s1"), index("1"), container("test", exit(1, 45, "")), left(one))}, "Failed", "the pod s0 was stopped"},
		"Shards":              {"each ended by itself", newJob(failedIndexes, quarantining, indexed(2)), []corev1.Pod{shard("0", corev1.PodFailed, one), shard("1", corev1.PodSucceeded, found(0, 0))}, "Passed", excuses},
		"A shard of 10 fails": {"the others show that something works", newJob(failedIndexes, quarantining, indexed(2)), []corev1.Pod{shard("0", corev1.PodFailed, found(1, 1)), shard("1", corev1.PodFailed, found(1, 1))}, "Passed", "with 2 quarantined failures."},
		"A shard crashed":     {"its own report shows no failure", newJob(failedIndexes, quarantining, indexed(2)), []corev1.Pod{shard("0", corev1.PodFailed, one), shard("1", corev1.PodFailed, found(0, 0))}, "Failed", "the pod s1 failed, and its own report shows no quarantined failure"},
		"A shard is silent":   {"it says nothing of its tests", newJob(failedIndexes, quarantining, indexed(2)), []corev1.Pod{shard("0", corev1.PodFailed, one), shard("1", corev1.PodSucceeded, results.Summary{})}, "Failed", "the tests of one pod, s1, left no JUnit report"},
		"A shard stopped":     {"the first failure ended the Job", newJob(backoffExceeded, quarantining, indexed(2)), []corev1.Pod{shard("0", corev1.PodFailed, one), shard("1", corev1.PodFailed, found(0, 0), deleted(41))}, "Failed", "the pod s1 was stopped"},
		"A shard not begun":   {"the first failure ended the Job", newJob(backoffExceeded, quarantining, indexed(2)), []corev1.Pod{shard("0", corev1.PodFailed, one)}, "Failed", "nothing is known of shard 1; leave backoffLimit out"},
		"Last try not begun":  {"it is not known what it would have shown", newJob(failedIndexes, quarantining, indexed(1)), []corev1.Pod{shard("0", corev1.PodFailed, one), failedPod(named("later"), index("0"), created(60), initContainer("seed", exit(1, 70, "")))}, "Failed", "the pod later failed"},
		"Queue":               {"others may have been stopped", newJob(backoffExceeded, quarantining, queueOf(3)), alone, "Failed", "its pods have no indexes"},
		"Two parts":           {"the second never ran", newJob(backoffExceeded, quarantining, func(j *batchv1.Job) { j.Spec.Completions = new(int32(2)) }), alone, "Failed", "set completionMode: Indexed"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, j := range []*batchv1.Job{tc.job, StripJob(tc.job)} {
				got := Observe(j, tc.pods)
				if got.Condition.Reason != tc.state || !strings.Contains(got.Condition.Message, tc.says) {
					t.Errorf("%s: %s by %q: %s", tc.reason, got.Condition.Reason, got.DecidedBy, got.Condition.Message)
				}
				if passed := got.Condition.Reason == v1alpha1.ReasonPassed; passed && got.DecidedBy != v1alpha1.DecidedByTests {
					t.Errorf("it passed by %q", got.DecidedBy)
				}
			}
		})
	}
}

// TestNeverExcused plays histories of pods: a run in which a test failed that no valid Quarantine names never passes, nor one of
// which a container was killed, nor one in which no other test passed.
func TestNeverExcused(t *testing.T) {
	random, passed := rand.New(rand.NewPCG(7, 29)), 0
	for range 4_000 {
		shards := 1 + random.IntN(3)
		j := newJob(quarantining, indexed(int32(shards)))
		var pods []corev1.Pod
		mayPass, works, anyFailed := true, false, false
		for i := range shards {
			failed := int32(random.IntN(4))
			quarantined := failed
			if random.IntN(4) == 0 {
				quarantined = int32(random.IntN(int(failed) + 1))
			}
			s, code, phase, state := found(failed, quarantined), int32(0), corev1.PodSucceeded, "Completed"
			if s.Failed > 0 || random.IntN(10) == 0 {
				code, phase, state = 1, corev1.PodFailed, "Error"
			}
			if random.IntN(12) == 0 {
				code, phase, state = []int32{137, 139, 2, 126}[random.IntN(4)], corev1.PodFailed, "Error"
			}
			if random.IntN(12) == 0 {
				s.Unread, s.Reports = int32(random.IntN(2)), int32(random.IntN(2))
			}
			plain := code == 0 || (code == 1 || code == failed) && failed > 0
			mayPass = mayPass && plain && failed == quarantined && s.Reports == 1 && s.Unread == 0
			works, anyFailed = works || s.Passed > 0, anyFailed || phase == corev1.PodFailed
			pods = append(pods, newPod(phase, named(fmt.Sprint("s", i)), index(fmt.Sprint(i)), container("test", exitFor(state, code, 40, "")), left(s)))
		}
		if anyFailed {
			failedIndexes(j)
		} else {
			complete(j)
			j.Status.Succeeded = int32(shards)
		}
		if random.IntN(15) == 0 && shards > 1 {
			pods, mayPass = pods[1:], false
		}
		if got := Observe(j, pods); got.Condition.Reason == v1alpha1.ReasonPassed {
			passed++
			if !mayPass || !works {
				t.Fatalf("%s\n%+v", got.Condition.Message, got.Collected.Summary)
			}
		}
	}
	if passed < 400 {
		t.Errorf("only %d passed, so the others show little", passed)
	}
}

// TestQuarantinedRerun: a run that repeats a quarantined test passes by itself if that fails again, and does not show that it passes.
func TestQuarantinedRerun(t *testing.T) {
	plan := failedtests.Plan{Of: "r1", Ran: 10, Names: results.SetOf([]string{"cart"})}
	shard := func(i int, tests string) corev1.Pod {
		read := results.Tests{Rerun: plan.Names, Quarantines: quarantine.Compile(flakyCart.Rules)}
		read.Add("junit.xml", strings.NewReader("<testsuite>"+tests+"</testsuite>"))
		return newPod(corev1.PodSucceeded, named(fmt.Sprint("s", i)), index(fmt.Sprint(i)), passes, left(read.Summary()))
	}
	passed, failed, other := `<testcase name="cart"/>`, `<testcase name="cart"><failure/></testcase>`, `<testcase name="pay"/>`
	for name, tc := range map[string]struct {
		shards []string
		shown  bool
	}{
		"it passed in one shard":      {[]string{passed, other}, true},
		"it failed in the other one":  {[]string{passed + other, failed}, false},
		"it passed and failed in one": {[]string{passed + failed, other}, false},
	} {
		j := newJob(quarantining, complete, indexed(2), func(j *batchv1.Job) { j.Status.Succeeded = 2 })
		got := Observe(j, []corev1.Pod{shard(0, tc.shards[0]), shard(1, tc.shards[1])})
		unshown := plan.Unshown(got.Collected.Summary.RerunPassed)
		if got.Condition.Reason != v1alpha1.ReasonPassed || (unshown == "") != tc.shown {
			t.Errorf("%s: %s: %s %q", name, got.Condition.Reason, got.Condition.Message, unshown)
		}
	}
}

// TestExcusedAndKilled: a Quarantine does not hide that a process was killed for its memory in another shard.
func TestExcusedAndKilled(t *testing.T) {
	j := newJob(failedIndexes, quarantining, indexed(2))
	s := Observe(j, []corev1.Pod{
		newPod(corev1.PodFailed, named("a"), index("0"), fails, left(found(1, 1))),
		newPod(corev1.PodSucceeded, named("b"), index("1"), container("test", exitFor("OOMKilled", 0, 40, "")), left(found(0, 0))),
	})
	if s.Condition.Reason != v1alpha1.ReasonPassed || s.Killed == "" {
		t.Errorf("%s: %s, killed: %q", s.Condition.Reason, s.Condition.Message, s.Killed)
	}
}
