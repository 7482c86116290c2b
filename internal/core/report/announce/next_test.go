package announce_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
)

func isRetried(s *v1alpha1.Suite) { s.Status.RepeatedBy = "next" }

func TestNext(t *testing.T) {
	two := announce.Receivers(aTeam(aWebhook("a"), aWebhook("b")), nil)
	one := announce.Receivers(aTeam(aWebhook("a")), nil)
	ends := announce.Receivers(aTeam(aWebhook("a", "Passed", "Failed")), nil)
	chat := announce.Receivers(nil, aTrigger())
	onlyNew := aWebhook("a")
	onlyNew.When = []v1alpha1.NotifyWhen{v1alpha1.NotifyNewFailure, v1alpha1.NotifyRecovery}
	whenNew := announce.Receivers(aTeam(onlyNew), nil)
	late := announce.Receivers(aTeam(aWebhook("a")), aTrigger())
	for i := range late {
		late[i].Since = noon.Add(90 * time.Second)
	}
	unseen := announce.Receivers(aTeam(aWebhook("a")), nil)
	unseen[0].Since = time.Time{}
	day := 24*time.Hour + 3*time.Minute
	for name, tc := range map[string]struct {
		o     announce.Observation
		after time.Duration // noon
		want  string
	}{
		"nobody is told":                 {announce.Observation{Suite: aRun("Passed")}, 0, "nothing"},
		"the first event":                {announce.Observation{Suite: aRun("Queued"), Receivers: one}, 0, "webhook/a Queued"},
		"in order, however late":         {announce.Observation{Suite: aRun("Passed"), Receivers: one}, 0, "webhook/a Queued"},
		"the second":                     {announce.Observation{Suite: aRun("Passed", told("webhook/a", "Queued")), Receivers: one}, 0, "webhook/a Started"},
		"the last":                       {announce.Observation{Suite: aRun("Passed", told("webhook/a", "Started")), Receivers: one}, 0, "webhook/a Passed"},
		"a run that never started":       {announce.Observation{Suite: aRun("Canceled", func(s *v1alpha1.Suite) { s.Status.StartTime = nil }, told("webhook/a", "Queued")), Receivers: one}, 0, "webhook/a Canceled"},
		"the run goes on":                {announce.Observation{Suite: aRun("Running", told("webhook/a", "Started")), Receivers: one}, 0, "nothing"},
		"only some events":               {announce.Observation{Suite: aRun("Failed"), Receivers: ends}, 0, "webhook/a Failed"},
		"no event that is wanted":        {announce.Observation{Suite: aRun("Canceled"), Receivers: ends}, 0, "True NothingToSend"},
		"not yet":                        {announce.Observation{Suite: aRun("Running"), Receivers: ends}, 0, "nothing"},
		"the other receiver":             {announce.Observation{Suite: aRun("Queued", told("webhook/a", "Queued")), Receivers: two}, 0, "webhook/b Queued"},
		"one that failed is last":        {announce.Observation{Suite: aRun("Queued"), Receivers: two, Waits: map[string]time.Time{"webhook/a": noon.Add(-time.Second)}}, 0, "webhook/b Queued"},
		"one that failed waits":          {announce.Observation{Suite: aRun("Queued"), Receivers: one, Waits: map[string]time.Time{"webhook/a": noon.Add(time.Minute)}}, 0, "after 1m0s"},
		"the next that waits":            {announce.Observation{Suite: aRun("Queued"), Receivers: two, Waits: map[string]time.Time{"webhook/a": noon.Add(2 * time.Minute), "webhook/b": noon.Add(time.Minute)}}, 0, "after 1m0s"},
		"all are told":                   {announce.Observation{Suite: aRun("Passed", told("webhook/a", "Passed")), Receivers: one}, 0, "True Delivered"},
		"settled":                        {announce.Observation{Suite: aRun("Passed", notified("True", "Delivered")), Receivers: one}, 0, "nothing"},
		"settled before it was added":    {announce.Observation{Suite: aRun("Failed", notified("True", "NothingToSend")), Receivers: chat}, 0, "nothing"},
		"gone":                           {announce.Observation{Suite: aRun("Passed", gone("webhook/a")), Receivers: one}, 0, "False Gone"},
		"gone, and the run goes on":      {announce.Observation{Suite: aRun("Running", gone("webhook/a")), Receivers: one}, 0, "nothing"},
		"gone, and settled":              {announce.Observation{Suite: aRun("Passed", gone("webhook/a"), notified("False", "Gone")), Receivers: one}, 0, "nothing"},
		"one is gone, one is told":       {announce.Observation{Suite: aRun("Queued", gone("webhook/a")), Receivers: two}, 0, "webhook/b Queued"},
		"a chat hears of failures":       {announce.Observation{Suite: aRun("Failed"), Receivers: chat}, 0, "slack Failed"},
		"of time-outs":                   {announce.Observation{Suite: aRun("TimedOut"), Receivers: chat}, 0, "slack TimedOut"},
		"of errors":                      {announce.Observation{Suite: aRun("Error"), Receivers: chat}, 0, "slack Error"},
		"not of one that is retried":     {announce.Observation{Suite: aRun("Error", isRetried), Receivers: chat}, 0, "True NothingToSend"},
		"a webhook hears of that":        {announce.Observation{Suite: aRun("Error", isRetried, told("webhook/a", "Started")), Receivers: one}, 0, "webhook/a Error"},
		"not of cancellation":            {announce.Observation{Suite: aRun("Canceled"), Receivers: chat}, 0, "True NothingToSend"},
		"not of superseding":             {announce.Observation{Suite: aRun("Superseded"), Receivers: chat}, 0, "True NothingToSend"},
		"not of what passed":             {announce.Observation{Suite: aRun("Passed"), Receivers: chat, Previous: "Passed"}, 0, "True NothingToSend"},
		"not of the first run":           {announce.Observation{Suite: aRun("Passed"), Receivers: chat}, 0, "True NothingToSend"},
		"of recovery":                    {announce.Observation{Suite: aRun("Passed"), Receivers: chat, Previous: "Failed"}, 0, "slack Passed"},
		"of recovery from an error":      {announce.Observation{Suite: aRun("Passed"), Receivers: chat, Previous: "Error"}, 0, "slack Passed"},
		"only of failures":               {announce.Observation{Suite: aRun("Passed"), Receivers: announce.Receivers(nil, aTrigger("Failure")), Previous: "Failed"}, 0, "True NothingToSend"},
		"only of recovery":               {announce.Observation{Suite: aRun("Failed"), Receivers: announce.Receivers(nil, aTrigger("Recovery"))}, 0, "True NothingToSend"},
		"a webhook of what is new":       {announce.Observation{Suite: aRun("Failed"), Receivers: whenNew, Previous: "Passed"}, 0, "webhook/a Failed"},
		"not of what is not new":         {announce.Observation{Suite: aRun("Failed"), Receivers: whenNew, Previous: "Failed"}, 0, "True NothingToSend"},
		"nor of the start":               {announce.Observation{Suite: aRun("Running"), Receivers: whenNew}, 0, "nothing"},
		"nor of a run that is retried":   {announce.Observation{Suite: aRun("Error", isRetried), Receivers: whenNew}, 0, "True NothingToSend"},
		"but of the recovery":            {announce.Observation{Suite: aRun("Passed"), Receivers: whenNew, Previous: "Failed"}, 0, "webhook/a Passed"},
		"what happened before is past":   {announce.Observation{Suite: aRun("Running"), Receivers: late}, 0, "nothing"},
		"what happens later is told":     {announce.Observation{Suite: aRun("Failed"), Receivers: late}, 0, "webhook/a Failed"},
		"an old run concerns nobody new": {announce.Observation{Suite: aRun("Failed", func(s *v1alpha1.Suite) { s.Status.CompletionTime = new(at(1)) }), Receivers: late}, 0, "nothing"},
		"a receiver that is not seen":    {announce.Observation{Suite: aRun("Passed"), Receivers: unseen}, 0, "after 1s"},
		"too late":                       {announce.Observation{Suite: aRun("Passed", lacks("webhook/a", "It failed (500)."), notified("False", "Failed")), Receivers: one}, day, "False GaveUp"},
		"too late, and settled":          {announce.Observation{Suite: aRun("Passed", notified("False", "GaveUp")), Receivers: one}, day, "nothing"},
		"too late for a first try":       {announce.Observation{Suite: aRun("Passed"), Receivers: one}, day, "nothing"},
		"the receiver was removed":       {announce.Observation{Suite: aRun("Passed", lacks("webhook/a", "It failed (500)."), notified("False", "Failed"))}, 0, "True NothingToSend"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := say(announce.Next(tc.o, noon.Add(tc.after))); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestNewFailure: a chat that wants new failures only hears of no failure twice, while the tests still fail.
func TestNewFailure(t *testing.T) {
	type failures = []v1alpha1.TestFailure
	known, fresh, unknown := v1alpha1.TestFailure{Name: "a", History: "Known"}, v1alpha1.TestFailure{Name: "b", History: "New"}, v1alpha1.TestFailure{Name: "c"}
	quarantined := v1alpha1.TestFailure{Name: "d", History: "New", Quarantine: "slow"}
	expired := v1alpha1.TestFailure{Name: "e", History: "Known", ExpiredQuarantine: "slow"}
	for name, tc := range map[string]struct {
		state    string
		failures []v1alpha1.TestFailure
		previous string
		change   func(*v1alpha1.Suite)
		want     bool
	}{
		"the first run":                       {state: "Failed", failures: failures{unknown}, want: true},
		"the run before passed":               {state: "Failed", failures: failures{known}, previous: "Passed", want: true},
		"the same test fails":                 {state: "Failed", failures: failures{known}, previous: "Failed"},
		"another test fails, too":             {state: "Failed", failures: failures{fresh, known}, previous: "Failed", want: true},
		"nothing to compare with":             {state: "Failed", failures: failures{unknown}, previous: "Failed", want: true},
		"a quarantined test fails, too":       {state: "Failed", failures: failures{known, quarantined}, previous: "Failed"},
		"a test whose quarantine is over":     {state: "Failed", failures: failures{expired}, previous: "Failed", want: true},
		"no tests counted, after a pass":      {state: "Failed", previous: "Passed", want: true},
		"no tests counted, after a failure":   {state: "Failed", previous: "Failed"},
		"an error after a pass":               {state: "Error", previous: "Passed", want: true},
		"an error after a failure":            {state: "Error", previous: "Failed"},
		"a time-out after an error":           {state: "TimedOut", previous: "Error"},
		"a time-out with a new failed test":   {state: "TimedOut", failures: failures{fresh}, previous: "Error", want: true},
		"a run that is retried":               {state: "Error", previous: "Passed", change: isRetried},
		"a rerun that fails as before":        {state: "Failed", failures: failures{known}, previous: "Failed", change: isRerun},
		"a rerun in which another test fails": {state: "Failed", failures: failures{fresh}, previous: "Failed", change: isRerun, want: true},
		"canceled":                            {state: "Canceled", failures: failures{fresh}, previous: "Passed"},
		"inconclusive":                        {state: "Inconclusive", failures: failures{fresh}, previous: "Passed"},
		"passed, with a flaky test":           {state: "Passed", previous: "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := aRun(tc.state, func(s *v1alpha1.Suite) {
				if tc.failures != nil {
					s.Status.Results = &v1alpha1.TestResults{Tests: 12, Failed: int32(len(tc.failures)), Failures: tc.failures}
				}
				if tc.change != nil {
					tc.change(s)
				}
			})
			for told, want := range map[v1alpha1.NotifyWhen]bool{"NewFailure": tc.want, "Recovery": tc.state == "Passed"} {
				o := announce.Observation{Suite: s, Receivers: announce.Receivers(nil, aTrigger(told)), Previous: tc.previous}
				if step := announce.Next(o, noon); (step.Receiver != nil) != want {
					t.Errorf("%s: got %s, want a message: %t", told, say(step), want)
				}
			}
		})
	}
}

func isRerun(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "jo"}
}

func gone(receiver string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Deliveries = append(s.Status.Deliveries, v1alpha1.Delivery{Receiver: receiver, Gone: true})
	}
}

func say(step announce.Step) string {
	switch {
	case step.Receiver != nil:
		return fmt.Sprintf("%s %s", step.Receiver.Name, step.Event.Name)
	case step.Condition != nil:
		return fmt.Sprintf("%s %s", step.Condition.Status, step.Condition.Reason)
	case step.After > 0:
		return fmt.Sprintf("after %s", step.After)
	default:
		return "nothing"
	}
}

func TestWithDelivery(t *testing.T) {
	o := announce.Observation{Receivers: announce.Receivers(aTeam(aWebhook("a"), aWebhook("b")), aTrigger())}
	for name, tc := range map[string]struct {
		run     *v1alpha1.Suite
		tell    v1alpha1.Delivery
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"the run goes on": {
			aRun("Running"), v1alpha1.Delivery{Receiver: "webhook/a", Event: "Queued"},
			"Unknown", "Pending", "There is more to tell about the run.",
		},
		"one fails": {
			aRun("Failed", told("webhook/b", "Failed"), told("slack", "Failed")), v1alpha1.Delivery{Receiver: "webhook/a", Event: "Queued", Problem: "It failed (500)."},
			"False", "Failed", "The webhook a lacks the event Started: It failed (500). Postflight tries again until a day after the end of the run.",
		},
		"two fail": {
			aRun("Failed", told("webhook/b", "Failed"), lacks("slack", "It does not answer.")), v1alpha1.Delivery{Receiver: "webhook/a", Event: "Started", Problem: "It failed (500)."},
			"False", "Failed", "The webhook a lacks the event Failed: It failed (500). Slack lacks the event Failed: It does not answer. " +
				"Postflight tries again until a day after the end of the run.",
		},
		"one more to go": {
			aRun("Failed", told("webhook/b", "Failed")), v1alpha1.Delivery{Receiver: "webhook/a", Event: "Failed"},
			"Unknown", "Pending", "There is more to tell about the run.",
		},
		"all are told": {
			aRun("Failed", told("webhook/b", "Failed"), told("slack", "Failed")), v1alpha1.Delivery{Receiver: "webhook/a", Event: "Failed"},
			"True", "Delivered", "The end of the run was told to: webhook a, webhook b, Slack.",
		},
		"the last is gone": {
			aRun("Failed", told("webhook/b", "Failed"), told("slack", "Failed")), v1alpha1.Delivery{Receiver: "webhook/a", Gone: true, Problem: "It answered 410 Gone."},
			"False", "Gone", "The webhook a answered 410 Gone, and gets nothing more about this run.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o.Suite = tc.run
			before := tc.run.DeepCopy()
			s, c := announce.WithDelivery(o, tc.tell)
			want := metav1.Condition{Type: "Notified", Status: tc.status, Reason: tc.reason, Message: tc.message}
			if diff := cmp.Diff(want, c); diff != "" {
				t.Errorf("the condition (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.tell, announce.DeliveryTo(s, announce.Receiver{Name: tc.tell.Receiver})); diff != "" {
				t.Errorf("the delivery (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.run); diff != "" {
				t.Errorf("the Suite of the cache has changed:\n%s", diff)
			}
		})
	}
}

// TestManyFormerReceivers: a Suite has room for all receivers, however many were replaced while it ran. What the others
// were told is not forgotten, so that nothing comes twice.
func TestManyFormerReceivers(t *testing.T) {
	run := aRun("Running", told("slack", "Queued"))
	for i := range 15 {
		told(fmt.Sprint("webhook/former-", i), "Started")(run)
	}
	o := announce.Observation{Suite: run, Receivers: announce.Receivers(aTeam(aWebhook("a")), aTrigger())}
	s, _ := announce.WithDelivery(o, v1alpha1.Delivery{Receiver: "slack", Event: "Started"})
	if len(s.Status.Deliveries) != 16 {
		t.Errorf("%d deliveries are left, and there was room for 16", len(s.Status.Deliveries))
	}
	o.Suite = s
	s, _ = announce.WithDelivery(o, v1alpha1.Delivery{Receiver: "webhook/a", Event: "Queued"})
	want := []v1alpha1.Delivery{{Receiver: "slack", Event: "Started"}, {Receiver: "webhook/a", Event: "Queued"}}
	if diff := cmp.Diff(want, s.Status.Deliveries); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

// TestSince: a receiver is told nothing that happened before it was added, and misses nothing from the creation of the
// object that names it.
func TestSince(t *testing.T) {
	team := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(-5)}, Spec: v1alpha1.TeamSpec{Webhooks: []v1alpha1.Webhook{aWebhook("a")}}}
	team.Status.Webhooks = announce.SeenWebhooks(team, noon)
	team.Status.Conditions = []metav1.Condition{{Type: "Ready"}}
	team.Spec.Webhooks = append(team.Spec.Webhooks, aWebhook("b"))
	team.Status.Webhooks = announce.SeenWebhooks(team, noon.Add(time.Minute+time.Millisecond))
	want := []v1alpha1.WebhookStatus{{Name: "a", Since: at(-5)}, {Name: "b", Since: at(1)}}
	if diff := cmp.Diff(want, announce.SeenWebhooks(team, noon.Add(time.Hour))); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
	team.Spec.Webhooks = team.Spec.Webhooks[1:]
	if seen := announce.SeenWebhooks(team, noon); len(seen) != 1 || seen[0].Name != "b" {
		t.Errorf("got %+v after one was removed", seen)
	}

	created, changed := aTrigger(), aTrigger()
	created.Generation, created.CreationTimestamp, created.Status.NotifiedSince = 1, at(-5), nil
	changed.Generation, changed.CreationTimestamp, changed.Status.NotifiedSince = 2, at(-5), nil
	if since := announce.NotifiedSince(created, noon); !since.Equal(new(at(-5))) {
		t.Errorf("a new Trigger is told since %s", since)
	}
	if changed.Status.NotifiedSince = announce.NotifiedSince(changed, noon); !changed.Status.NotifiedSince.Equal(new(at(0))) {
		t.Errorf("an older Trigger is told since %s", changed.Status.NotifiedSince)
	}
	if since := announce.NotifiedSince(changed, noon.Add(time.Hour)); !since.Equal(new(at(0))) {
		t.Errorf("later it is told since %s", since)
	}
	if changed.Spec.Notify = nil; announce.NotifiedSince(changed, noon) != nil {
		t.Error("a Trigger without spec.notify is told")
	}
}
