package announce_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// noon is when the runs of these tests are created. They start a minute later, and end two minutes later.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func at(minutes int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute))
}

// aRun is in a state, and has been in those before it.
func aRun(state string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke-1", UID: types.UID("u1"), CreationTimestamp: at(0)},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging",
			Deployment: v1alpha1.Deployment{Branch: "main", SHA: "5ca1ab1e"},
		},
	}
	status := metav1.ConditionUnknown
	switch state {
	case v1alpha1.ReasonQueued:
	case v1alpha1.ReasonRunning:
		s.Status.StartTime = new(at(1))
	default:
		status = metav1.ConditionFalse
		if state == v1alpha1.ReasonPassed {
			status = metav1.ConditionTrue
		}
		s.Status.StartTime, s.Status.CompletionTime = new(at(1)), new(at(2))
	}
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: status, Reason: state, Message: "The message of " + state + "."}}
	return build.With(s, change...)
}

func told(receiver string, event v1alpha1.RunEvent) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Deliveries = append(s.Status.Deliveries, v1alpha1.Delivery{Receiver: receiver, Event: event})
	}
}

func lacks(receiver, problem string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Deliveries = append(s.Status.Deliveries, v1alpha1.Delivery{Receiver: receiver, Problem: problem})
	}
}

func notified(status metav1.ConditionStatus, reason string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionNotified, Status: status, Reason: reason})
	}
}

// aTeam has webhooks that it was created with.
func aTeam(webhooks ...v1alpha1.Webhook) *v1alpha1.Team {
	t := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}, Spec: v1alpha1.TeamSpec{Webhooks: webhooks}}
	for _, w := range webhooks {
		t.Status.Webhooks = append(t.Status.Webhooks, v1alpha1.WebhookStatus{Name: w.Name, Since: at(-60)})
	}
	return t
}

func aWebhook(name string, events ...v1alpha1.RunEvent) v1alpha1.Webhook {
	return v1alpha1.Webhook{Name: name, URL: "https://" + name + ".example.com", SecretRef: v1alpha1.SecretReference{Name: "postflight-webhook"}, Events: events}
}

func aTrigger(on ...v1alpha1.NotifyWhen) *v1alpha1.Trigger {
	return &v1alpha1.Trigger{
		Spec:   v1alpha1.TriggerSpec{Notify: &v1alpha1.Notify{Slack: v1alpha1.SlackNotify{SecretRef: v1alpha1.SecretReference{Name: "postflight-slack"}, When: on}}},
		Status: v1alpha1.TriggerStatus{NotifiedSince: new(at(-60))},
	}
}
