package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

func TestDecideWithInputs(t *testing.T) {
	waitingSince := func(at time.Time) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) {
			c := v1alpha1.StoreUnavailable("")
			c.LastTransitionTime = metav1.NewTime(at)
			s.Status.Conditions = append(s.Status.Conditions, c)
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		suite   *v1alpha1.Suite
		change  func(*lifecycle.Observation)
		after   time.Duration // since t0
		action  lifecycle.Action
		state   string
		message string
		retry   time.Duration
	}{
		"NotSearched":    {reason: "Nothing else prevents the run from starting, so it looks for its files.", action: lifecycle.FindInputs},
		"OtherwiseNot":   {reason: "A run in the queue does not use the store.", change: func(o *lifecycle.Observation) { o.Position = &queue.Position{Number: 3} }, state: "Queued", message: "position 3"},
		"Found":          {reason: "The run starts.", change: found, action: lifecycle.CreateJob},
		"NoneNeeded":     {reason: "No variable names a file.", change: func(o *lifecycle.Observation) { o.Inputs = &lifecycle.Inputs{} }, action: lifecycle.CreateJob},
		"Missing":        {reason: "It will never be there.", change: func(o *lifecycle.Observation) { o.Inputs = &lifecycle.Inputs{Missing: []string{"app.apk", "b"}} }, state: "Error", message: `not among those of team "demo": "app.apk", "b". Upload them`},
		"AsLarge":        {reason: "It is not larger than the limit.", change: largeInput(6 << 30), action: lifecycle.CreateJob},
		"TooLarge":       {reason: "Nobody said so when the URL was signed.", change: largeInput(6<<30 - 1), state: "Error", message: `"app.apk" has 6.0 GiB, and at most`},
		"Invalid":        {reason: "The variable names no file.", change: func(o *lifecycle.Observation) { o.Inputs = &lifecycle.Inputs{Invalid: "Not a file."} }, state: "Error", message: "Not a file."},
		"NoStore":        {reason: "The operator has to act.", change: func(o *lifecycle.Observation) { o.Inputs = &lifecycle.Inputs{NoStore: true} }, state: "Error", message: "no store for files is configured"},
		"Limited":        {reason: "A run that needs a slot does not use the store before it has one.", change: func(o *lifecycle.Observation) { o.Team.Spec.MaxConcurrentSuites = 1 }, action: lifecycle.RequestSlot},
		"SlotIsFree":     {reason: "Then it looks for its files.", change: func(o *lifecycle.Observation) { o.Team.Spec.MaxConcurrentSuites, o.Position = 1, &queue.Position{} }, action: lifecycle.FindInputs},
		"SlotAgain":      {reason: "Meanwhile another run may have taken it.", change: func(o *lifecycle.Observation) { found(o); o.Team.Spec.MaxConcurrentSuites = 1 }, action: lifecycle.RequestSlot},
		"StoreDown":      {reason: "It may come back.", change: down, state: "Queued", message: "it refuses connections", retry: time.Second},
		"StoreDownLong":  {reason: "The pauses grow.", suite: aSuite("self", 2, waitingSince(t0)), after: time.Minute, change: down, state: "Queued", retry: 15 * time.Second},
		"StoreDownLast":  {reason: "The last attempt is at the end of the time limit.", suite: aSuite("self", 2, waitingSince(t0)), after: 10*time.Minute - time.Second, change: down, state: "Queued", retry: time.Second},
		"StoreDownEver":  {reason: "The time limit is the timeout of the run.", suite: aSuite("self", 2, waitingSince(t0)), after: 10 * time.Minute, change: down, state: "Error", message: "could not be looked up for 10m"},
		"QueuedForLong":  {reason: "The time in the queue does not count.", after: 5 * time.Hour, change: down, state: "Queued", retry: time.Second},
		"QueuedAndDown":  {reason: "A run that waits for the store continues to try, and others may overtake it.", suite: aSuite("self", 2, waitingSince(t0)), change: func(o *lifecycle.Observation) { o.Position = &queue.Position{Number: 3} }, action: lifecycle.FindInputs},
		"QueuedStill":    {reason: "Its message names the store.", suite: aSuite("self", 2, waitingSince(t0)), after: time.Minute, change: func(o *lifecycle.Observation) { down(o); o.Position = &queue.Position{Number: 3} }, state: "Queued", message: "it refuses connections", retry: 15 * time.Second},
		"QueuedAndBack":  {reason: "It has its turn again.", suite: aSuite("self", 2, waitingSince(t0)), after: time.Minute, change: func(o *lifecycle.Observation) { found(o); o.Position = &queue.Position{Number: 3} }, state: "Queued", message: "position 3"},
		"Canceled":       {reason: "A waiting run can be canceled.", suite: aSuite("self", 2, canceled, waitingSince(t0)), after: time.Minute, change: down, state: "Canceled"},
		"JobExists":      {reason: "The files of a started run are not looked up again.", change: func(o *lifecycle.Observation) { o.Job, o.Condition = aJob("self"), v1alpha1.Running("It runs.") }, state: "Running", message: "It runs."},
		"TriggerIsGone":  {reason: "Without the Trigger it is unknown which files the run needs.", change: func(o *lifecycle.Observation) { o.Trigger = nil }, state: "Queued", message: "Waiting for the Trigger", retry: 5 * time.Second},
		"StreamInTheWay": {reason: "The older run goes first.", change: func(o *lifecycle.Observation) { o.Stream = []*v1alpha1.Suite{aSuite("older", 1)} }, state: "Queued", message: "older run"},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{Suite: aSuite("self", 2), Definition: defined(aTrigger(), anEnvironment())}
			o.Trigger.Spec.Inputs = &v1alpha1.Inputs{Variables: []string{"RUN_INPUT_PATH"}}
			o.Trigger.Spec.Timeout = &metav1.Duration{Duration: 10 * time.Minute}
			if tc.suite != nil {
				o.Suite = tc.suite
			}
			if tc.change != nil {
				tc.change(&o)
			}
			d := decide(o, t0.Add(tc.after))
			if d.Action != tc.action || d.Condition.Reason != tc.state || d.RequeueAfter != tc.retry || !strings.Contains(d.Condition.Message, tc.message) {
				t.Errorf("%s\n%+v", tc.reason, d)
			}
		})
	}
}

func found(o *lifecycle.Observation) {
	o.Inputs = &lifecycle.Inputs{Found: []v1alpha1.SuiteInput{{Path: "app.apk", ETag: "e", Size: 5}}}
}

func down(o *lifecycle.Observation) {
	o.Inputs = &lifecycle.Inputs{Unavailable: "it refuses connections"}
}

// TestInputsAreRecorded: once the Job exists, its files are recorded, and the start of a wait does not change.
func TestInputsAreRecorded(t *testing.T) {
	o := lifecycle.Observation{Suite: aSuite("self", 2), Definition: defined(aTrigger(), anEnvironment())}
	o.Trigger.Spec.Inputs = &v1alpha1.Inputs{Variables: []string{"RUN_INPUT_PATH"}}
	s := o.Suite
	step := func(seconds int, change func(*lifecycle.Observation)) *metav1.Condition {
		now := t0.Add(time.Duration(seconds) * time.Second)
		change(&o)
		lifecycle.SetStatus(s, o, decide(o, now), now)
		return meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionInputsReady)
	}
	step(10, down)
	if c := step(20, down); c == nil || c.Status != metav1.ConditionFalse || !c.LastTransitionTime.Time.Equal(t0.Add(10*time.Second)) || s.Status.Inputs != nil {
		t.Errorf("while the store is down: %+v, inputs %v", c, s.Status.Inputs)
	}
	if c := step(25, func(o *lifecycle.Observation) { found(o); o.Position = &queue.Position{Number: 3} }); c != nil {
		t.Errorf("in the queue, with a store that is back: %+v", c)
	}
	running := func(o *lifecycle.Observation) {
		found(o)
		o.Job, o.Condition = &batchv1.Job{}, v1alpha1.Running("")
	}
	if c := step(30, running); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("with a Job: %+v", c)
	}
	if diff := cmp.Diff([]v1alpha1.SuiteInput{{Path: "app.apk", ETag: "e", Size: 5}}, s.Status.Inputs); diff != "" {
		t.Errorf("with a Job: %s", diff)
	}
}

// largeInput is a file of 6 GiB.
func largeInput(limit int64) func(*lifecycle.Observation) {
	return func(o *lifecycle.Observation) {
		o.Inputs = &lifecycle.Inputs{Found: []v1alpha1.SuiteInput{{Path: "app.apk", Size: 6 << 30, ETag: "etag"}}, Limit: limit}
	}
}
