package greenlight_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report/greenlight"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func run(name string, minute int, conditions ...metav1.Condition) *v1alpha1.Suite {
	received := metav1.NewMicroTime(noon.Add(time.Duration(minute) * time.Minute))
	return &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name},
		Spec:       v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"}, ReceivedAt: &received},
		Status:     v1alpha1.SuiteStatus{Conditions: conditions},
	}
}

func url(s *v1alpha1.Suite) string {
	return "https://ci.example.com/runs/" + s.Namespace + "/" + s.Name
}

func TestStages(t *testing.T) {
	cases := map[string]struct {
		reason    string
		condition []metav1.Condition
		stage     httpapi.Stage
		green     bool
		bugs      int
	}{
		"new":        {reason: "the manager has not seen it yet", stage: httpapi.Initializing},
		"queued":     {condition: []metav1.Condition{v1alpha1.Queued("")}, stage: httpapi.Initializing},
		"running":    {condition: []metav1.Condition{v1alpha1.Running("")}, stage: httpapi.Initializing},
		"stopping":   {reason: "pods still run", condition: []metav1.Condition{v1alpha1.Running("Canceled by ada. Stopping the pods of this run.")}, stage: httpapi.Initializing},
		"passed":     {condition: []metav1.Condition{v1alpha1.Passed("")}, stage: httpapi.Completed, green: true},
		"failed":     {condition: []metav1.Condition{v1alpha1.Failed("")}, stage: httpapi.Completed, bugs: 1},
		"timed out":  {condition: []metav1.Condition{v1alpha1.TimedOut("")}, stage: httpapi.Completed, bugs: 1},
		"error":      {condition: []metav1.Condition{v1alpha1.Error("")}, stage: httpapi.Completed, bugs: 1},
		"canceled":   {condition: []metav1.Condition{v1alpha1.Canceled("")}, stage: httpapi.Canceled},
		"changed":    {reason: "neither green nor red", condition: []metav1.Condition{v1alpha1.Inconclusive("")}, stage: httpapi.Canceled},
		"superseded": {reason: "by a run that was deleted since", condition: []metav1.Condition{v1alpha1.Superseded("")}, stage: httpapi.Canceled},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := run("smoke-1", 0, tc.condition...)
			got := greenlight.Of(s, s, url)
			if got.RunStage != tc.stage || got.Greenlight != tc.green || got.Final() != (tc.stage != httpapi.Initializing) {
				t.Errorf("%s: stage %s, greenlight %v, final %v", tc.reason, got.RunStage, got.Greenlight, got.Final())
			}
			if (got.Bugs != nil) != (tc.stage == httpapi.Completed) {
				t.Fatalf("bugs are there: %v", got.Bugs != nil)
			}
			if got.Bugs != nil && (got.BlockingBugsCount != tc.bugs || len(got.BlockingBugURLs) != tc.bugs || len(got.ReproducedBugs) != tc.bugs) {
				t.Errorf("bugs: %+v, want %d", got.Bugs, tc.bugs)
			}
		})
	}
}

// TestNoGreenFromAnotherTrigger: what counts for a run that only another Trigger's run superseded is the
// run itself, of which nothing more will be known.
func TestNoGreenFromAnotherTrigger(t *testing.T) {
	root := run("a", 0, v1alpha1.Superseded("Superseded by b."))
	relevant := verdict.Relevant(root, []*v1alpha1.Suite{of("checkout", run("b", 1, v1alpha1.Passed("")))})
	got := greenlight.Of(root, relevant, url)
	if got.Greenlight || got.RunStage != httpapi.Canceled || got.RelevantRunID != "a" {
		t.Errorf("greenlight %v, stage %s of %s, want false, canceled of a", got.Greenlight, got.RunStage, got.RelevantRunID)
	}
}

func repeatedBy(name string, s *v1alpha1.Suite) *v1alpha1.Suite {
	s.Status.RepeatedBy = name
	return s
}

// TestRepeated: the answer is about the repetition, but clients give up if the relevant run is another one.
func TestRepeated(t *testing.T) {
	root, passed := repeatedBy("b", run("a", 0, v1alpha1.Inconclusive(""))), run("b", 1, v1alpha1.Passed(""))
	got := greenlight.Of(root, verdict.Relevant(root, []*v1alpha1.Suite{passed}), url)
	if !got.Greenlight || got.RelevantRunID != "a" || got.RepeatedByRunID != "b" || got.Counting() != "b" || got.RelevantRunURL != url(passed) {
		t.Errorf("%+v", got)
	}
	about := repeatedBy("b", run("a", 0, v1alpha1.Running("")))
	if got = greenlight.Of(about, about, url); got.RepeatedByRunID != "" || got.Counting() != "a" {
		t.Errorf("nobody hears of a run that does not exist: %+v", got)
	}
	between, last := repeatedBy("c", run("b", 1, v1alpha1.Inconclusive(""))), run("c", 2, v1alpha1.Passed(""))
	for _, s := range []*v1alpha1.Suite{root, between, last} {
		s.Spec.Deployment.SHA = "5ca1ab1e"
	}
	got = greenlight.Of(root, verdict.Relevant(root, []*v1alpha1.Suite{last, between}), url)
	if !got.Greenlight || got.RelevantRunID != "a" || got.Counting() != "c" {
		t.Errorf("a repetition that a notification created was repeated as well: %+v", got)
	}
	circle := repeatedBy("a", run("b", 1, v1alpha1.Inconclusive("")))
	if got = greenlight.Of(root, verdict.Relevant(root, []*v1alpha1.Suite{circle, root}), url); got.Greenlight {
		t.Errorf("%+v", got)
	}
	superseded := run("b", 1, v1alpha1.Superseded(""))
	got = greenlight.Of(root, verdict.Relevant(root, []*v1alpha1.Suite{superseded, run("c", 2, v1alpha1.Passed(""))}), url)
	if got.RelevantRunID != "c" || got.Counting() != "c" {
		t.Errorf("%+v", got)
	}
}

// TestRetried: an errored run that is retried is not final, and has no other id to its client, also without a commit.
func TestRetried(t *testing.T) {
	notified := func(s *v1alpha1.Suite) *v1alpha1.Suite {
		s.Annotations = map[string]string{v1alpha1.AnnotationRequestID: "request"}
		return s
	}
	root, second := notified(repeatedBy("b", run("a", 0, v1alpha1.Error("")))), notified(repeatedBy("c", run("b", 1, v1alpha1.Error(""))))
	for name, tc := range map[string]struct {
		last  *v1alpha1.Suite
		green bool
		stage httpapi.Stage
		about string
	}{
		"it runs":      {notified(run("c", 2, v1alpha1.Running(""))), false, httpapi.Initializing, "c"},
		"it passed":    {notified(run("c", 2, v1alpha1.Passed(""))), true, httpapi.Completed, "c"},
		"it failed":    {notified(run("c", 2, v1alpha1.Failed(""))), false, httpapi.Completed, "c"},
		"an error":     {notified(run("c", 2, v1alpha1.Error(""))), false, httpapi.Completed, "c"},
		"it is gone":   {run("other", 0, v1alpha1.Passed("")), false, httpapi.Completed, "b"},
		"it is queued": {notified(run("c", 2, v1alpha1.Queued(""))), false, httpapi.Initializing, "c"},
	} {
		t.Run(name, func(t *testing.T) {
			got := greenlight.Of(root, verdict.Relevant(root, []*v1alpha1.Suite{second, tc.last}), url)
			if got.Greenlight != tc.green || got.RunStage != tc.stage || got.RelevantRunID != "a" || got.Counting() != tc.about {
				t.Errorf("%+v", got)
			}
		})
	}
}

func of(trigger string, s *v1alpha1.Suite) *v1alpha1.Suite {
	s.Spec.Trigger.Name = trigger
	return s
}

// TestCompletedAt: how old a result is is known of the run that counts, and only once it has completed.
func TestCompletedAt(t *testing.T) {
	at := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	for end, want := range map[*v1alpha1.Suite]*time.Time{
		run("passed", 0, v1alpha1.Passed("")): &at, run("failed", 0, v1alpha1.Failed("")): &at,
		run("canceled", 0, v1alpha1.Canceled("")): nil, run("running", 0, v1alpha1.Running("")): nil,
	} {
		end.Status.CompletionTime = new(metav1.NewTime(at))
		if got := greenlight.Of(run("root", 0), end, url).CompletedAt; (got == nil) != (want == nil) || got != nil && !got.Equal(*want) {
			t.Errorf("%s: %v, want %v", end.Name, got, want)
		}
	}
}

// The bytes are what clients in the wild read: a member that is missing, renamed or null breaks them.
func TestBytes(t *testing.T) {
	root := run("a", 0, v1alpha1.Superseded("Superseded by b."))
	cases := map[string]struct {
		relevant *v1alpha1.Suite
		want     string
	}{
		"initializing": {run("b", 1, v1alpha1.Running("The pod runs.")), `{"greenlight":false,` +
			`"rootRunId":"a","rootRunUrl":"https://ci.example.com/runs/acme/a",` +
			`"relevantRunId":"b","relevantRunUrl":"https://ci.example.com/runs/acme/b","relevantRunWithBugsUrl":"https://ci.example.com/runs/acme/b",` +
			`"runStage":"initializing","runState":"Running","runMessage":"The pod runs.","workflowsInRunCount":1,"workflowsUnderInvestigationCount":0,"workflowsDisabledAfterRunCount":0}`},
		"passed": {run("b", 1, v1alpha1.Passed("All good.")), `{"greenlight":true,` +
			`"rootRunId":"a","rootRunUrl":"https://ci.example.com/runs/acme/a",` +
			`"relevantRunId":"b","relevantRunUrl":"https://ci.example.com/runs/acme/b","relevantRunWithBugsUrl":"https://ci.example.com/runs/acme/b",` +
			`"runStage":"completed","workflowsInRunCount":1,"workflowsUnderInvestigationCount":0,"workflowsDisabledAfterRunCount":0,` +
			`"blockingBugsCount":0,"nonBlockingBugsCount":0,"blockingBugUrls":[],"nonBlockingBugUrls":[],"reproducedBugs":[],"otherBlockingBugsInEnvironment":[]}`},
		"failed": {run("b", 1, v1alpha1.Failed("The test exited with code 1.")), `{"greenlight":false,` +
			`"rootRunId":"a","rootRunUrl":"https://ci.example.com/runs/acme/a",` +
			`"relevantRunId":"b","relevantRunUrl":"https://ci.example.com/runs/acme/b","relevantRunWithBugsUrl":"https://ci.example.com/runs/acme/b",` +
			`"runStage":"completed","workflowsInRunCount":1,"workflowsUnderInvestigationCount":0,"workflowsDisabledAfterRunCount":0,` +
			`"blockingBugsCount":1,"nonBlockingBugsCount":0,"blockingBugUrls":["https://ci.example.com/runs/acme/b"],"nonBlockingBugUrls":[],` +
			`"reproducedBugs":[{"applicationUrl":"https://ci.example.com/runs/acme/b","isBlocking":true,"isNew":true,` +
			`"name":"Failed: The test exited with code 1.","number":1,"priority":"urgent"}],"otherBlockingBugsInEnvironment":[]}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(greenlight.Of(root, tc.relevant, url))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
