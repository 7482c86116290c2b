package announce

import (
	"encoding/json"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// Message is what is sent.
type Message struct {
	Target
	ID          string // the same when it is sent again
	At          time.Time
	ContentType string
	Body        []byte
	Chat        bool // the answer is for people, and says what is wrong

	Method Method // of Slack's API, to which the message goes; empty: it goes to the URL
}

// Compose makes the message about an event.
func Compose(r Receiver, to Target, team string, s *v1alpha1.Suite, e Event, o report.Options, now time.Time) Message {
	m := Message{Target: to, ID: e.ID(s.UID), At: now, Chat: r.Kind.Chat()}
	if r.Channel != "" {
		m.Method = PostMessage
	}
	if m.Chat {
		m.ContentType, m.Body = "application/json", encode(chats[r.Kind].message(r, s, o.Page(s)))
		return m
	}
	sent := cloudEvent(team, s, e, o)
	if r.format == v1alpha1.FormatCDEvents {
		sent = cdEvent(sent, s, e)
	}
	m.ContentType, m.Body = "application/cloudevents+json; charset=utf-8", encode(sent)
	return m
}

// structured is a CloudEvent 1.0 in the structured JSON mode.
type structured struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            any       `json:"data"` // an httpapi.Run, or a cdevent
}

func cloudEvent(team string, s *v1alpha1.Suite, e Event, o report.Options) structured {
	return structured{
		SpecVersion: "1.0", ID: e.ID(s.UID), Source: source(o.ClusterName, team), Type: e.Type(), Subject: s.Name, Time: e.At.UTC(),
		DataContentType: "application/json", Data: runAt(team, s, e, o.Page(s)),
	}
}

func source(cluster, team string) string {
	if cluster != "" {
		return "/postflight/" + cluster + "/" + team
	}
	return "/postflight/" + team
}

// runAt is the run as it was at an event, so that a late or repeated message says the same.
func runAt(team string, s *v1alpha1.Suite, e Event, page string) httpapi.Run {
	r := record.RunOf(team, s)
	r.URL, r.Archive = page, nil
	state := string(e.Name)
	if e.Name == v1alpha1.EventStarted {
		state = v1alpha1.ReasonRunning
	}
	if r.State != state {
		r.State, r.Message = state, ""
	}
	if rank(e.Name) < rank(v1alpha1.EventStarted) {
		r.StartedAt = nil
	}
	if rank(e.Name) <= rank(v1alpha1.EventStarted) {
		r.UnderTest, r.RepeatedBy, r.PodsKeptUntil = nil, "", nil
		r.EndedAt, r.DurationSeconds, r.Results, r.Artifacts, r.SupersededBy = nil, 0, nil, nil, ""
	}
	return r
}

// encode cannot fail: v has only texts, numbers and times.
func encode(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}
