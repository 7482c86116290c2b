package announce

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// Method is a method of Slack's API.
type Method string

// The methods that threads need.
const (
	PostMessage Method = "chat.postMessage"
	Update      Method = "chat.update"
	History     Method = "conversations.history"
	Replies     Method = "conversations.replies"
)

// metadataType is what Slack calls our metadata, by which we find a message that was sent before a crash.
const metadataType = "postflight_thread"

type chatMetadata struct {
	Type    string       `json:"event_type"`
	Payload ThreadMarker `json:"event_payload"`
}

// ThreadMarker is metadata that identifies a message of a thread.
type ThreadMarker struct {
	Trigger string `json:"trigger"` // its UID
	Thread  string `json:"thread"`  // the id
	Run     string `json:"run"`     // that opened it
	Closes  string `json:"closes"`  // the run that closes it; empty: the first message
}

// Marks reports whether metadata of a message is this marker.
func (m ThreadMarker) Marks(metadataTypeOf string, payload json.RawMessage) bool {
	var other ThreadMarker
	return metadataTypeOf == metadataType && json.Unmarshal(payload, &other) == nil && other == m
}

// Search looks for a message that was sent earlier.
type Search struct {
	Token, Channel string
	Marker         ThreadMarker
	ThreadTS       string    // of the thread to look into; empty: the channel
	Since          time.Time // it was not sent earlier
}

// Conversation composes the messages of a thread.
type Conversation struct {
	Target  Target
	Trigger string // its UID
	Run     *v1alpha1.Suite
	Options report.Options
	Now     time.Time
}

// Search looks for the first message of a thread, or for the last one if the thread is being closed and has a first one.
func (c Conversation) Search(t v1alpha1.TestThread) Search {
	s := Search{Token: c.Target.Token, Channel: t.Channel, Since: t.Since.Time, ThreadTS: t.TS, Marker: c.marker(t)}
	if t.TS == "" {
		s.Marker.Closes = ""
	}
	return s
}

func (c Conversation) marker(t v1alpha1.TestThread) ThreadMarker {
	return ThreadMarker{Trigger: c.Trigger, Thread: t.ID, Run: t.Run, Closes: t.ClosedBy}
}

// Open is the first message of a thread.
func (c Conversation) Open(t v1alpha1.TestThread, f v1alpha1.TestFailure) Message {
	s, file := c.Run, f.File
	if file != "" && f.Line > 0 {
		file = fmt.Sprintf("%s:%d", file, f.Line)
	}
	title := fmt.Sprintf(":red_circle: %s fails in %s", code(t.Test, maxHeadline), untrusted(c.place(t), maxHeadline))
	m := chatOf(title, c.facts("Fails since commit", s), code(f.Message, maxText), named("File", file))
	m.Metadata = &chatMetadata{Type: metadataType, Payload: c.marker(t)}
	m.Channel = t.Channel
	return c.message(PostMessage, m)
}

// Close are the change of the first message of a thread, and the last message of the thread.
func (c Conversation) Close(t v1alpha1.TestThread) (root, reply Message) {
	title := fmt.Sprintf(":white_check_mark: %s no longer fails in %s", code(t.Test, maxHeadline), untrusted(c.place(t), maxHeadline))
	namespace := c.Run.Namespace + "/"
	first := chatOf(title, named("Failed since run", namespace+t.Run), named("No longer fails in run", namespace+t.ClosedBy))
	first.Channel, first.TS = t.Channel, t.TS
	first.Metadata = &chatMetadata{Type: metadataType, Payload: c.marker(t)}
	first.Metadata.Payload.Closes = ""
	last := chatOf(":large_green_circle: The test no longer fails.")
	if c.Run.Name == t.ClosedBy {
		last = chatOf(last.Text, c.facts("Fixed at the latest with commit", c.Run))
	}
	last.Channel, last.ThreadTS = t.Channel, t.TS
	last.Metadata = &chatMetadata{Type: metadataType, Payload: c.marker(t)}
	return c.message(Update, first), c.message(PostMessage, last)
}

func (c Conversation) place(t v1alpha1.TestThread) string {
	return fmt.Sprintf("%s of %s", t.Environment, v1alpha1.TestName(c.Run.Spec.Trigger.Name, t.Service))
}

func (c Conversation) facts(commit string, s *v1alpha1.Suite) string {
	run := code(s.Namespace+"/"+s.Name, maxFact)
	if page := c.Options.Page(s); page != "" {
		run = fmt.Sprintf("<%s|%s>", escape(page), untrusted(s.Namespace+"/"+s.Name, maxFact))
	}
	text := "Run: " + run
	if sha := named(commit, s.Spec.Deployment.SHA); sha != "" {
		text += "\n" + sha
	}
	return text
}

func named(name, value string) string {
	if text := code(value, maxFact); text != "" {
		return name + ": " + text
	}
	return ""
}

func (c Conversation) message(method Method, body chat) Message {
	return Message{Target: c.Target, At: c.Now, Chat: true, Method: method, ContentType: "application/json; charset=utf-8", Body: encode(body)}
}

// RefusedBySlack is the failure of an answer whose ok is false.
func RefusedBySlack(said string, retryAfter time.Duration) *Failure {
	kind, gone := report.Rejected, false
	var message string
	switch said {
	case "ratelimited", "rate_limited":
		kind, message = report.Limited, "Slack asks to send less"
	case "internal_error", "fatal_error", "service_unavailable", "request_timeout":
		kind, message = report.Unavailable, "Slack failed"
	case "not_in_channel", "channel_not_found":
		message = "The app of the token is not in the channel of spec.notify.slack. Invite it, or correct the channel"
	case "is_archived":
		message = "The channel of spec.notify.slack is archived. Name another one"
	case "missing_scope":
		message = "The token lacks a scope. It needs chat:write, and channels:history, or groups:history for a private channel"
	case "not_authed", "invalid_auth", "token_revoked", "token_expired":
		message = "Slack does not accept the token. Put a new one into the Secret"
	case "account_inactive":
		gone, message = true, "The app of the token was removed from Slack. Install it again, and put its new token into the Secret"
	default:
		message = "Slack did not accept the message"
	}
	if said != "" {
		message += " (" + said + ")"
	}
	return &Failure{Gone: gone, Said: said, Why: report.Error{Kind: kind, Message: message + ".", RetryAfter: retryAfter}}
}

// Lost reports whether the message that was to be changed or answered no longer exists, so that its thread has ended.
func (f *Failure) Lost() bool { return f.Said == "message_not_found" || f.Said == "thread_not_found" }

// Fixed reports whether the message may no longer be changed: workspaces bound for how long.
func (f *Failure) Fixed() bool {
	return f.Said == "edit_window_closed" || f.Said == "cant_update_message"
}

// Elsewhere reports whether the channel of an old thread cannot be used any more.
func (f *Failure) Elsewhere() bool {
	return f.Said == "not_in_channel" || f.Said == "channel_not_found" || f.Said == "is_archived"
}
