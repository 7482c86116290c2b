package failure_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/suites"
)

// TestEnds: for each way in which a run may end or wait, the document says what happened, and what to do. The runs are made by the functions
// that decide about real ones. To write the texts anew: UPDATE_TEXTS=1 go test ./internal/core/run/failure
func TestEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		o      lifecycle.Observation
		later  time.Duration // after the run was received; 0: two minutes
		more   func(*failure.Observation)
		state  string
		next   string // is in what to do; "": there is nothing to do
	}{
		"passed": {"nothing is left to do", withJob(aJob(keepsResults, complete), aPod(corev1.PodSucceeded, exits0, reports(40, 0))), 0, nil,
			v1alpha1.ReasonPassed, ""},
		"passed_by_exit_code": {"nothing shows which tests ran", withJob(aJob(complete), aPod(corev1.PodSucceeded, exits0)), 0, nil,
			v1alpha1.ReasonPassed, "JUnit"},
		"passed_with_quarantined": {"the Quarantine ends", withJob(aJob(quarantining, jobFailed), aPod(corev1.PodFailed, exits1, reports(40, 1,
			func(s *results.Summary) {
				s.Quarantined, s.QuarantinedRan, s.Failures[0].Quarantine = 1, 1, "flaky-cart"
			}))), 0, nil,
			v1alpha1.ReasonPassed, "before the Quarantine ends"},
		"passed_with_flaky": {"they may fail next time", withJob(aJob(keepsResults, complete), aPod(corev1.PodSucceeded, exits0, reports(40, 0,
			func(s *results.Summary) { s.Flaky, s.FlakyTests = 2, []string{"cart > empties", "login"} }))), 0, nil,
			v1alpha1.ReasonPassed, "postflight tests list"},
		"passed_with_fewer_tests": {"a selection may be wrong", withJob(aJob(keepsResults, complete), aPod(corev1.PodSucceeded, exits0, reports(8, 0)),
			passedBefore), 0, nil, v1alpha1.ReasonPassed, "tests are selected"},
		"failed_new": {"this deployment may have broken them", withJob(aJob(keepsResults, jobFailed), aPod(corev1.PodFailed, exits1, reports(40, 2,
			failures(v1alpha1.FailureNew)))), 0, knownWell, v1alpha1.ReasonFailed, "rerun --failed smoke-1"},
		"failed_known": {"this deployment did not break them", withJob(aJob(keepsResults, jobFailed), aPod(corev1.PodFailed, exits1, reports(40, 1,
			failures(v1alpha1.FailureKnown)))), 0, nil, v1alpha1.ReasonFailed, "No failure is new"},
		"failed_without_comparison": {"there is no run before it", withJob(aJob(keepsResults, jobFailed), aPod(corev1.PodFailed, exits1, reports(40, 1))),
			0, nil, v1alpha1.ReasonFailed, "unknown which failures are new"},
		"failed_by_exit_code": {"only the log says more", withJob(aJob(jobFailed), aPod(corev1.PodFailed, exit(1, "Error", "curl: (7) Failed to connect"))),
			0, nil, v1alpha1.ReasonFailed, "runs logs smoke-1"},
		"failed_without_report": {"exit code 0 shows nothing", withJob(aJob(keepsResults, complete), aPod(corev1.PodSucceeded, exits0,
			collected(results.Message(results.Summary{})))), 0, nil, v1alpha1.ReasonFailed, "report"},
		"failed_with_fewer_tests": {"the Trigger says so", withJob(aJob(failsWithFewer, complete), aPod(corev1.PodSucceeded, exits0, reports(8, 0)),
			passedBefore), 0, nil, v1alpha1.ReasonFailed, "32 tests did not run"},
		"out_of_memory": {"it needs more", withJob(aJob(jobFailed), aPod(corev1.PodFailed, killed, memoryLimit)), 0, nil, v1alpha1.ReasonFailed, "memory"},
		"timed_out":     {"it hangs, or needs more time", withJob(aJob(tooLate), nil), 0, nil, v1alpha1.ReasonTimedOut, "spec.timeout"},
		"image_unknown": {"a person has to help", withJob(aJob(), aPod(corev1.PodPending, waiting("ErrImagePull",
			`rpc error: code = NotFound desc = failed to pull and unpack image "registry.example.com/tests:4": not found`))), 0, nil,
			v1alpha1.ReasonStarting, "runs cancel smoke-1"},
		"image_not_pulled": {"the start takes too long", withJob(aJob(), aPod(corev1.PodPending, waiting("ErrImagePull",
			`failed to resolve reference "registry.example.com/tests:4": dial tcp 192.0.2.1:443: i/o timeout`))), 24 * time.Hour, nil,
			v1alpha1.ReasonError, "Check"},
		"unschedulable": {"the cluster is full", withJob(aJob(), aPod(corev1.PodPending, corev1.ContainerState{}, unschedulable)), 0, nil,
			v1alpha1.ReasonStarting, "runs cancel smoke-1"},
		"quota": {"it may be accepted later", observed(created(lifecycle.NotAccepted,
			`jobs.batch "smoke-1" is forbidden: exceeded quota: team, requested: count/jobs.batch=1, used: count/jobs.batch=5, limited: count/jobs.batch=5`)),
			0, nil, v1alpha1.ReasonQueued, "quota"},
		"job_refused": {"the template is wrong", observed(created(lifecycle.Rejected,
			`Job.batch "smoke-1" is invalid: spec.template.spec.containers[0].image: Required value`)), 0, nil, v1alpha1.ReasonError, "jobTemplate"},
		"trigger_missing": {"it may be applied yet", observed(func(o *lifecycle.Observation) { o.Trigger = nil }), 0, nil, v1alpha1.ReasonQueued, "Trigger"},
		"trigger_deleted": {"it was recreated", observed(func(o *lifecycle.Observation) {
			o.Trigger, o.Recreated = nil, true
			c := v1alpha1.ObjectMissing("")
			c.LastTransitionTime = at(0)
			o.Suite.Status.Conditions = append(o.Suite.Status.Conditions, c)
		}), 0, nil, v1alpha1.ReasonError, "otify"},
		"input_missing": {"it was not uploaded", observed(needsInputs, func(o *lifecycle.Observation) {
			o.Inputs = &lifecycle.Inputs{Missing: []string{"data/users.json"}}
		}), 0, nil, v1alpha1.ReasonError, "Upload"},
		"inconclusive_repeated": {"the next run says more", withJob(aJob(keepsResults, complete), aPod(corev1.PodSucceeded, exits0, reports(40, 0)),
			underTest("The Deployment shop had 9c1d2e3, and has b776998.")), 0, nil, v1alpha1.ReasonInconclusive, "which repeats this run"},
		"inconclusive": {"it repeated a run already", withJob(aJob(keepsResults, complete), aPod(corev1.PodSucceeded, exits0, reports(40, 0)),
			underTest("The Deployment shop had 9c1d2e3, and has b776998."), func(o *lifecycle.Observation) { suites.IsSuccessor(o.Suite) }), 0, nil,
			v1alpha1.ReasonInconclusive, "notify what is deployed"},
		"superseded": {"a newer one counts", observed(func(o *lifecycle.Observation) {
			o.Stream = append(o.Stream, o.Suite, suites.ASuite("smoke-2", 30, suites.WithCommit("c")))
		}), 0, nil, v1alpha1.ReasonSuperseded, "runs why smoke-2"},
		"canceled": {"a person stopped it", observed(func(o *lifecycle.Observation) {
			o.Suite.Spec.Cancel = true
			o.Suite.Annotations = map[string]string{v1alpha1.AnnotationCanceledBy: "ada@example.com"}
		}), 0, nil, v1alpha1.ReasonCanceled, "runs rerun smoke-1"},
		"wrong_version": {"another version answered", withJob(aJob(jobFailed), aPod(corev1.PodFailed, corev1.ContainerState{}, initContainer(
			job.ReadyContainer, exit(1, "Error", "https://staging.example.com/version has b776998, and not 9c1d2e3"), nil))), 0, nil,
			v1alpha1.ReasonError, "what is deployed"},
		"evicted": {"the cluster stopped it", withJob(aJob(jobFailed), aPod(corev1.PodFailed, exits1, evicted)), 0, nil, v1alpha1.ReasonError, "epeat"},
		"retried": {"another run follows", withJob(aJob(jobFailed), aPod(corev1.PodFailed, exits1, evicted), func(o *lifecycle.Observation) {
			o.Trigger.Spec.Retry = &v1alpha1.Retry{OnError: 2}
		}), 0, nil, v1alpha1.ReasonError, "which repeats this run"},
		"job_deleted": {"nothing is known", observed(func(o *lifecycle.Observation) { o.Suite.Status.JobName = "smoke-1" }), 0, nil, v1alpha1.ReasonError,
			"epeat"},
		"results_missing": {"some of it is lost", withJob(aJob(keepsResults, jobFailed), aPod(corev1.PodFailed, exits1, collected("")), func(
			o *lifecycle.Observation) {
			o.Suite.Status.StartTime = new(at(5))
		}), 0, nil, v1alpha1.ReasonFailed, "runs logs smoke-1"},
		"archived": {"its Suite is gone", withJob(aJob(keepsResults, jobFailed), aPod(corev1.PodFailed, exits1, reports(40, 1,
			failures(v1alpha1.FailureNew)))), 0, func(o *failure.Observation) { o.Archived = true }, v1alpha1.ReasonFailed, "cannot be repeated"},
		"running": {"the tests have not ended", withJob(aJob(func(j *batchv1.Job) { j.Status.Active, j.Status.Ready = 1, new(int32(1)) }),
			aPod(corev1.PodRunning, runs)), 0, nil, v1alpha1.ReasonRunning, "runs logs smoke-1"},
		"queued": {"others come first", observed(func(o *lifecycle.Observation) {
			o.Trigger.Spec.MaxConcurrentSuites = 1
			o.Position = &queue.Position{Number: 3, Wait: 4 * time.Minute, Limit: queue.Limit{Kind: "Trigger", Most: 1}}
		}), 0, nil, v1alpha1.ReasonQueued, "postflight wait smoke-1"},
		"not_seen": {"no leader has seen it", lifecycle.Observation{Suite: aRun()}, -1, nil, "", "postflight wait smoke-1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := failure.Observation{Suite: tc.o.Suite, Team: "demo", Page: "https://postflight.example.com/runs/demo/smoke-1"}
			if tc.later >= 0 {
				o.Suite = reconcile(t, tc.o, suites.T0.Add(max(tc.later, 2*time.Minute)))
			}
			if tc.more != nil {
				tc.more(&o)
			}
			if o.Suite.State() != tc.state {
				t.Fatalf("%s: it is %s: %s", tc.reason, o.Suite.State(), o.Suite.Succeeded().Message)
			}
			f := failure.Of(o)
			if said := strings.Join(append(f.Next, f.Summary), "\n"); !strings.Contains(said, tc.next) || tc.next != "" && len(f.Next) == 0 {
				t.Errorf("%s: %q is not said: %s", tc.reason, tc.next, said)
			}
			checkSentences(t, f)
			same(t, name+".md", failure.Markdown(f))
		})
	}
}

// TestExample: the documentation shows a document as it is made.
func TestExample(t *testing.T) {
	o := withJob(aJob(keepsResults, jobFailed), aPod(corev1.PodFailed, exits1, reports(40, 2, failures(v1alpha1.FailureNew))))
	of := failure.Observation{Suite: reconcile(t, o, now), Team: "demo", Page: "https://postflight.example.com/runs/demo/smoke-1"}
	knownWell(&of)
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(failure.Of(of)); err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../../../docs/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(docs), "```json\n"+text.String()+"```\n") {
		t.Errorf("docs/failures.md has another example than:\n%s", text.String())
	}
}

// commands are those of Postflight in a sentence.
var commands = regexp.MustCompile(`postflight [^.:,]*`)

// checkSentences: what to do is said once, and all is sentences.
func checkSentences(t *testing.T, f httpapi.Failure) {
	t.Helper()
	var said []string
	for _, sentence := range slices.Concat([]string{f.Summary}, f.Next, f.Cluster, f.Omitted) {
		if !strings.HasSuffix(sentence, ".") {
			t.Errorf("%q does not end like a sentence", sentence)
		}
		for _, command := range commands.FindAllString(sentence, -1) {
			if slices.Contains(said, command) {
				t.Errorf("%q is said twice", command)
			}
			said = append(said, command)
		}
	}
}

// same compares with a text that a person has read.
func same(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_TEXTS") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got\n%s", file, diff)
	}
}

// TestStatesHaveTexts: agents and people see all of them.
func TestStatesHaveTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		label, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), ":")
		titles[label] = true
	}
	for _, reason := range v1alpha1.States() {
		if label := state.Of(reason).Label; !titles[label] {
			t.Errorf("no text is about a run that is %s", label)
		}
	}
}

func memoryLimit(p *corev1.Pod) {
	p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")}
}

func unschedulable(p *corev1.Pod) {
	p.Spec.NodeName, p.Status.ContainerStatuses = "", nil
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "0/3 nodes are available: 3 Insufficient memory."}}
}

func evicted(p *corev1.Pod) {
	p.Status.Reason, p.Status.Message = "Evicted", "The node was low on resource: memory."
}

func created(result lifecycle.CreationResult, detail string) func(*lifecycle.Observation) {
	return func(o *lifecycle.Observation) { o.Creation = lifecycle.Creation{Result: result, Detail: detail} }
}

func needsInputs(o *lifecycle.Observation) {
	o.Trigger.Spec.Inputs = &v1alpha1.Inputs{}
}

func underTest(changed string) func(*lifecycle.Observation) {
	return func(o *lifecycle.Observation) {
		o.UnderTest = lifecycle.UnderTest{Start: suites.Shop, Tested: &v1alpha1.UnderTest{Workloads: suites.Shop, Changed: changed}}
	}
}

// knownWell has all that is known of a run with failures.
func knownWell(o *failure.Observation) {
	o.Explanation = &results.Explanation{}
	for i, f := range o.Suite.Status.Results.Failures {
		e := results.Explained{Failure: results.Failure{TestFailure: f}, Pod: "smoke-1-x7k2p"}
		if i == 0 {
			e.Text = "Error: expected 1, received 0\n\n  12 | expect(cart.items).toHaveLength(1)\n    at cart.spec.ts:12:22"
			e.Files = []results.File{{Path: "cart/trace.zip", Bytes: 40960}}
		}
		o.Explanation.Failures = append(o.Explanation.Failures, e)
	}
	green := suites.ASuite("smoke-0", -3600, suites.InState(v1alpha1.Passed("")), func(s *v1alpha1.Suite) {
		s.Spec.Deployment.SHA, s.Spec.Deployment.Repository = greenSHA, "acme/shop"
	})
	o.Changed = failure.ChangedSince(green, o.Suite, []httpapi.Deployed{{Repository: "acme/prices", SHA: strings.Repeat("1", 40)}},
		[]httpapi.Deployed{{Repository: "acme/prices", SHA: strings.Repeat("2", 40), Since: new(suites.After(-600))}})
	place := httpapi.Place{Namespace: "demo", Trigger: "smoke", Environment: "staging"}
	o.History = map[string]failure.TestHistory{o.Explanation.Failures[0].Name: {Runs: 24, Flaky: 2, Since: &httpapi.FailingSince{
		Runs: 1, First: httpapi.TestRun{ID: "smoke-1", Place: place, SHA: sha, CreatedAt: suites.T0, State: "Failed", Milliseconds: 2140},
		Before: &httpapi.TestRun{ID: "smoke-0", Place: place, SHA: greenSHA, CreatedAt: suites.After(-3600), State: "Passed", Milliseconds: 1980},
	}}}
	e := failure.NewExcerpt("expected 1, received 0")
	for _, line := range []string{"Running 40 tests using 2 workers", "  1) cart.spec.ts:12 cart > keeps item 1", "     Error: expected 1, received 0", "  38 passed"} {
		e.Add([]byte(line))
	}
	o.Log = e.Of("smoke-1-x7k2p", "test")
}
