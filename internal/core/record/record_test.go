package record_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

func finished() *v1alpha1.Suite {
	created := time.Date(2026, 11, 21, 9, 30, 5, 0, time.FixedZone("", 3600))
	return &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{
			Name: "smoke-3f9c", Namespace: "acme-ns", CreationTimestamp: metav1.NewTime(created),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}},
		},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging",
			Deployment: v1alpha1.Deployment{Branch: "main", SHA: "abc"},
			Variables:  v1alpha1.Variables{"GREP": "@smoke", "NPM_TOKEN": "hunter2", "apiKey": "hunter3", "EMPTY_SECRET": ""},
		},
		Status: v1alpha1.SuiteStatus{
			Conditions:     []metav1.Condition{v1alpha1.Failed("3 of 120 tests failed.")},
			StartTime:      &metav1.Time{Time: created.Add(time.Second)},
			CompletionTime: &metav1.Time{Time: created.Add(63 * time.Second)},
			Results: &v1alpha1.TestResults{
				Tests: 120, Passed: 117, Failed: 3, Duration: &metav1.Duration{Duration: 90 * time.Second},
				Failures: []v1alpha1.TestFailure{{Name: "pays", History: v1alpha1.FailureNew}},
			},
			Artifacts: &v1alpha1.Artifacts{Count: 2, Bytes: 30, Prefix: "acme/x/"},
		},
	}
}

// TestSuiteOf: nothing that a run says of its Suite is lost.
func TestSuiteOf(t *testing.T) {
	waiting := finished()
	waiting.Spec.ReceivedAt = new(metav1.NewMicroTime(waiting.CreationTimestamp.Time))
	waiting.Status = v1alpha1.SuiteStatus{Conditions: []metav1.Condition{v1alpha1.Queued("2nd in the queue.")}}
	saved := finished()
	saved.Spec.Attempt = 3
	saved.Spec.Deployment = v1alpha1.Deployment{Branch: "b", SHA: "s", Type: "t", URL: "https://u", CommitURL: "https://c", Repository: "a/b", PullRequestNumber: 7}
	saved.Status.Conditions = append(saved.Status.Conditions, v1alpha1.Saved())
	saved.Status.SupersededBy = "smoke-2"
	saved.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-20T03:00:00Z", v1alpha1.AnnotationRepeats: "smoke-0", v1alpha1.AnnotationRetries: "2"}
	saved.Status.RepeatedBy, saved.Status.PodsKeptUntil = "smoke-3", new(metav1.NewTime(saved.CreationTimestamp.Add(time.Hour)))
	for name, s := range map[string]*v1alpha1.Suite{"ended": finished(), "waiting": waiting, "saved": saved} {
		run := record.RunOf("acme", s)
		again := record.SuiteOf(run)
		if (run.ScheduledFor != nil) != !s.ScheduledFor().IsZero() {
			t.Errorf("%s: scheduled for %v", name, run.ScheduledFor)
		}
		if diff := cmp.Diff(run, record.RunOf("acme", again)); diff != "" || again.Finished() != s.Finished() {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestDecidedBy: each end names what decided it, which a Suite says only of those that came of its tests.
func TestDecidedBy(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		end    metav1.Condition
		suite  v1alpha1.DecidedBy
		want   string
	}{
		"Passed":     {"its tests decided", v1alpha1.Passed(""), v1alpha1.DecidedByTests, "Tests"},
		"Failed":     {"its exit code decided", v1alpha1.Failed(""), v1alpha1.DecidedByExitCode, "ExitCode"},
		"Unknown":    {"an earlier version did not record it", v1alpha1.Passed(""), "", ""},
		"TimedOut":   {"its time limit decided", v1alpha1.TimedOut(""), "", "Timeout"},
		"Canceled":   {"a person decided", v1alpha1.Canceled(""), "", "Cancellation"},
		"Superseded": {"a newer deployment decided", v1alpha1.Superseded(""), "", "Supersession"},
		"Error":      {"there is no result", v1alpha1.Error(""), "", "Error"},
		"Running":    {"nothing is decided", v1alpha1.Running(""), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := finished()
			s.Status.Conditions, s.Status.DecidedBy = []metav1.Condition{tc.end}, tc.suite
			run := record.RunOf("acme", s)
			if run.DecidedBy != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, run.DecidedBy, tc.want)
			}
			if again := record.SuiteOf(run); again.Status.DecidedBy != tc.suite || record.RunOf("acme", again).DecidedBy != tc.want {
				t.Errorf("%s: read again, it is %q", tc.reason, again.Status.DecidedBy)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	s := finished()
	b, err := json.Marshal(record.New("acme", s, nil))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{
		"id": "smoke-3f9c", "team": "acme", "namespace": "acme-ns", "state": "Failed", "message": "3 of 120 tests failed.",
		"createdAt": "2026-11-21T08:30:05Z", "endedAt": "2026-11-21T08:31:08Z", "durationSeconds": 62.0, "attempt": 1.0,
		"logs": []any{},
	} {
		if diff := cmp.Diff(want, got[field]); diff != "" {
			t.Errorf("%s: %s", field, diff)
		}
	}
	for _, secret := range []string{"hunter2", "hunter3", "managedFields"} {
		if strings.Contains(string(b), secret) {
			t.Errorf("the record contains %q: %s", secret, b)
		}
	}
	if !strings.Contains(string(b), `"GREP":"@smoke"`) || !strings.Contains(string(b), `"kind":"Suite"`) {
		t.Errorf("the record lacks what it should keep: %s", b)
	}
	if s.Spec.Variables["NPM_TOKEN"] != "hunter2" {
		t.Error("the Suite itself was changed")
	}
}

func TestKeys(t *testing.T) {
	r := record.Of("acme", finished())
	for key, want := range map[string]string{
		r.RecordKey():                     "acme/postflight-runs/day=2026-11-21/T083005Z-smoke-3f9c/run.json",
		r.LogKey("pod-1", "test", false):  "acme/postflight-runs/day=2026-11-21/T083005Z-smoke-3f9c/logs/pod-1/test.log.gz",
		r.LogKey("pod-1", "test", true):   "acme/postflight-runs/day=2026-11-21/T083005Z-smoke-3f9c/logs/pod-1/test.previous.log.gz",
		r.ResultsKey("pod-1"):             "acme/postflight-runs/day=2026-11-21/T083005Z-smoke-3f9c/results/pod-1.json",
		r.ArtifactKey("pod-1", "a/b.png"): "acme/postflight-runs/day=2026-11-21/T083005Z-smoke-3f9c/artifacts/pod-1/a/b.png",
		r.IndexKey():                      "acme/postflight-runs/ids/smoke-3f9c/2026-11-21T083005Z",
	} {
		if key != want {
			t.Errorf("%s, want %s", key, want)
		}
	}
}

// TestParseKeys: each key leads back to its run, and keys of anything else to none.
func TestParseKeys(t *testing.T) {
	r := record.Of("acme", finished())
	for _, key := range []string{r.Directory(), r.Directory() + "/", r.RecordKey(), r.LogKey("p", "c", true)} {
		if got, err := record.ParseDirectory("acme", key); err != nil || got != r {
			t.Errorf("%s: %v, %v", key, got, err)
		}
	}
	if got, err := record.ParseIndexKey("acme", r.ID, r.IndexKey()); err != nil || got != r {
		t.Errorf("the index: %v, %v", got, err)
	}
	if day, err := record.ParseDay("acme", record.DayPrefix("acme", r.Created)); err != nil || day.Format(time.DateOnly) != "2026-11-21" {
		t.Errorf("the day: %v, %v", day, err)
	}
	for _, key := range []string{
		"", "acme/app.apk", "other" + strings.TrimPrefix(r.RecordKey(), "acme"), "acme/postflight-runs/ids/x/y",
		"acme/postflight-runs/day=2026-11-21", "acme/postflight-runs/day=2026-11-21/x-y", "acme/postflight-runs/day=yesterday/T083005Z-x/run.json",
		"acme/postflight-runs/day=2026-11-21/T083005Z-/run.json",
	} {
		if got, err := record.ParseDirectory("acme", key); err == nil {
			t.Errorf("%q is a key of %v", key, got)
		}
	}
}

func TestParseLogKey(t *testing.T) {
	r := record.Of("acme", finished())
	for _, want := range []record.Log{{Pod: "p.q", Container: "c"}, {Pod: "p", Container: "previous", Previous: true}} {
		if got, ok := r.ParseLogKey(r.LogKey(want.Pod, want.Container, want.Previous)); !ok || got != want {
			t.Errorf("%v, %t, want %v", got, ok, want)
		}
	}
	for _, key := range []string{"", r.LogsPrefix(), r.LogsPrefix() + "p/c.log", r.LogsPrefix() + "c.log.gz", r.RecordKey()} {
		if got, ok := r.ParseLogKey(key); ok {
			t.Errorf("%q is the key of %v", key, got)
		}
	}
}

// TestOwns: nothing but what Postflight itself puts into the directory of a run.
func TestOwns(t *testing.T) {
	r := record.Of("acme", finished())
	for key, want := range map[string]bool{
		r.RecordKey(): true, r.AttestationKey(): true, r.LogKey("p", "c", false): true, r.ResultsKey("p"): true, r.ArtifactKey("p", "a/b"): true,
		r.IndexKey(): false, r.Directory(): false, r.Directory() + "/": false, r.RecordKey() + "x": false, r.Directory() + "/logs": false,
		r.Directory() + "/other/run.json": false, r.Directory() + "-2/run.json": false, "x" + r.RecordKey(): false,
		r.Directory() + "/run.json/logs/x": false,
	} {
		if got := r.Owns(key); got != want {
			t.Errorf("%q: %t", key, got)
		}
	}
}

// TestOrder: a listing of the directories is in the order of time, and Compare agrees with it.
func TestOrder(t *testing.T) {
	at := time.Date(2026, 1, 31, 23, 59, 58, 0, time.UTC)
	var runs []record.Run
	for range 3 {
		for _, id := range []string{"a-b", "a", "ab", "a0"} {
			runs = append(runs, record.Run{Team: "acme", ID: id, Created: at})
		}
		at = at.Add(time.Second)
	}
	byKey, byTime := slices.Clone(runs), slices.Clone(runs)
	slices.SortFunc(byKey, func(a, b record.Run) int { return strings.Compare(a.Directory()+"/", b.Directory()+"/") })
	slices.SortFunc(byTime, record.Run.Compare)
	if diff := cmp.Diff(byKey, byTime); diff != "" {
		t.Errorf("keys (-) and Compare (+):\n%s", diff)
	}
	if !slices.IsSortedFunc(byKey, func(a, b record.Run) int { return a.Created.Compare(b.Created) }) {
		t.Errorf("not in the order of time: %v", byKey)
	}
}
