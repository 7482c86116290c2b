package announce

import (
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Kind is what a receiver understands.
type Kind string

// The kinds of receivers.
const (
	Webhook Kind = "webhook" // signed CloudEvents, in one of the formats of the API
	Slack   Kind = "slack"
)

// chats are the kinds that get messages for people.
var chats = map[Kind]struct {
	name    string
	message func(r Receiver, s *v1alpha1.Suite, page string) any
}{Slack: {"Slack", slackMessage}}

// Kinds returns all kinds.
func Kinds() []Kind { return append(slices.Collect(maps.Keys(chats)), Webhook) }

// Chat reports whether messages are for people.
func (k Kind) Chat() bool { return chats[k].name != "" }

// Receiver is sent the events of runs.
type Receiver struct {
	Kind   Kind
	Name   string    // in the status of a Suite
	Secret string    // in the namespace of the run
	URL    string    // empty: the Secret has it
	Since  time.Time // when the manager first saw it: it gets no earlier events; zero: not yet

	Channel string // of a chat with threads; empty: none

	format v1alpha1.WebhookFormat
	events []v1alpha1.RunEvent
	on     []v1alpha1.NotifyWhen
}

// Title names the receiver at the beginning of a sentence.
func (r Receiver) Title() string {
	if r.Kind.Chat() {
		return r.short()
	}
	return "The " + r.short()
}

func (r Receiver) short() string {
	if r.Kind.Chat() {
		return chats[r.Kind].name
	}
	return "webhook " + strings.TrimPrefix(r.Name, "webhook/")
}

// Receivers returns the webhooks of a Team and the chat of a Trigger. Both arguments may be nil.
func Receivers(team *v1alpha1.Team, t *v1alpha1.Trigger) (all []Receiver) {
	if team != nil {
		for _, w := range team.Spec.Webhooks {
			all = append(all, webhook(team, w))
		}
	}
	if t != nil && t.Spec.Notify != nil {
		slack := t.Spec.Notify.Slack
		all = append(all, Receiver{Kind: Slack, Name: "slack", Secret: slack.SecretRef.Name, Channel: slack.Channel,
			Since: ptr.Deref(t.Status.NotifiedSince, metav1.Time{}).Time, on: slack.When})
	}
	return all
}

// Webhooks returns the webhooks of a Team.
func Webhooks(team *v1alpha1.Team) []Receiver { return Receivers(team, nil) }

func webhook(team *v1alpha1.Team, w v1alpha1.Webhook) Receiver {
	r := Receiver{
		Kind: Webhook, Name: "webhook/" + w.Name, Secret: w.SecretRef.Name, URL: w.URL, format: w.Format, events: w.Events, on: w.When,
	}
	for _, seen := range team.Status.Webhooks {
		if seen.Name == w.Name {
			r.Since = seen.Since.Time
		}
	}
	return r
}

// SeenWebhooks returns since when each webhook of a Team exists. Webhooks that a Team is created with are as old as the Team.
func SeenWebhooks(team *v1alpha1.Team, now time.Time) (seen []v1alpha1.WebhookStatus) {
	for _, w := range team.Spec.Webhooks {
		i := slices.IndexFunc(team.Status.Webhooks, func(s v1alpha1.WebhookStatus) bool { return s.Name == w.Name })
		switch {
		case i >= 0:
			seen = append(seen, team.Status.Webhooks[i])
		case len(team.Status.Conditions) == 0:
			seen = append(seen, v1alpha1.WebhookStatus{Name: w.Name, Since: team.CreationTimestamp})
		default:
			seen = append(seen, v1alpha1.WebhookStatus{Name: w.Name, Since: inSeconds(now)})
		}
	}
	return seen
}

// NotifiedSince returns since when the Trigger has a spec.notify, for its status.
func NotifiedSince(t *v1alpha1.Trigger, now time.Time) *metav1.Time {
	switch {
	case t.Spec.Notify == nil:
		return nil
	case t.Status.NotifiedSince != nil:
		return t.Status.NotifiedSince
	case t.Generation == 1:
		return &t.CreationTimestamp
	default:
		return new(inSeconds(now))
	}
}

func inSeconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// wants takes the state in which the run before ended.
func (r Receiver) wants(s *v1alpha1.Suite, e Event, previous string) bool {
	switch {
	case !r.SelectsEnds():
		return len(r.events) == 0 || slices.Contains(r.events, e.Name)
	case state.Of(string(e.Name)).Bad:
		return r.hearsOf(v1alpha1.NotifyFailure) || r.hearsOf(v1alpha1.NotifyNewFailure) && isNew(s, previous)
	default:
		return state.Of(string(e.Name)).Green && state.Of(previous).Bad && r.hearsOf(v1alpha1.NotifyRecovery)
	}
}

// SelectsEnds reports whether the receiver gets only ends of runs, by what they mean after the run before.
func (r Receiver) SelectsEnds() bool { return r.Kind.Chat() || len(r.on) > 0 }

// SelectsEnds reports whether a receiver of the Team or the Trigger does. Both arguments may be nil.
func SelectsEnds(team *v1alpha1.Team, t *v1alpha1.Trigger) bool {
	return slices.ContainsFunc(Receivers(team, t), Receiver.SelectsEnds)
}

func (r Receiver) hearsOf(kind v1alpha1.NotifyWhen) bool {
	if len(r.on) == 0 {
		return kind != v1alpha1.NotifyNewFailure
	}
	return slices.Contains(r.on, kind)
}

// isNew reports whether a failed run shows more than the run before it.
func isNew(s *v1alpha1.Suite, previous string) bool {
	return !state.Of(previous).Bad || s.Status.Results != nil && slices.ContainsFunc(s.Status.Results.Failures, failsAnew)
}

// failsAnew takes a test that was compared with no other run for new: its failure may be. No chat is told of a test while it is
// quarantined, so it is told afterwards.
func failsAnew(f v1alpha1.TestFailure) bool {
	return f.Quarantine == "" && (f.History != v1alpha1.FailureKnown || f.ExpiredQuarantine != "")
}
