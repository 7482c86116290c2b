// Package fakeslack is a Slack in memory that checks what it is sent as Slack does.
package fakeslack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// What it knows.
const (
	Token   = "xoxb-1-2-abc"
	Channel = "C0123ABCD"
)

// Message is one in the channel.
type Message struct {
	TS, ThreadTS, Text string
	Blocks             []struct {
		Text struct {
			Type, Text string
			Verbatim   bool
		}
	}
	Metadata json.RawMessage
	Edits    int
}

// Slack has one channel.
type Slack struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	messages []*Message
	calls    map[string]int
	errors   map[string]string // by method
	drop     string            // a method whose answer gets lost, after it was done
}

// New starts one.
func New(t testing.TB) *Slack {
	s := &Slack{t: t, calls: map[string]int{}, errors: map[string]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// API is its address.
func (s *Slack) API() string { return s.URL + "/api/" }

// Fail makes a method return an error from now on; empty ends that.
func (s *Slack) Fail(method, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors[method] = problem
}

// Drop loses the answers of a method from now on, after doing what it is asked; empty ends that.
func (s *Slack) Drop(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop = method
}

// Delete removes the message and its thread.
func (s *Slack) Delete(ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(m *Message) bool { return m.TS == ts || m.ThreadTS == ts })
}

// Messages are all in the channel, in order.
func (s *Slack) Messages() (all []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		all = append(all, *m)
	}
	return all
}

// Calls is how often a method was called.
func (s *Slack) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// ServeHTTP answers one call.
func (s *Slack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	method := strings.TrimPrefix(r.URL.Path, "/api/")
	s.calls[method]++
	answer := map[string]any{"ok": true}
	problem := s.errors[method]
	switch {
	case r.Header.Get("Authorization") != "Bearer "+Token:
		problem = "invalid_auth"
	case problem == "ratelimited":
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case problem != "":
	case method == "chat.postMessage", method == "chat.update":
		problem = s.write(method, r, answer)
	case method == "conversations.history", method == "conversations.replies":
		problem = s.read(method, r, answer)
	default:
		problem = "unknown_method"
	}
	if problem != "" {
		answer = map[string]any{"ok": false, "error": problem}
	}
	if s.drop == method {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *Slack) write(method string, r *http.Request, answer map[string]any) (problem string) {
	var sent struct {
		Channel  string `json:"channel"`
		TS       string `json:"ts"`
		ThreadTS string `json:"thread_ts"`
		Message
		Unfurl *bool `json:"unfurl_links"`
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") || json.NewDecoder(r.Body).Decode(&sent) != nil {
		return "invalid_json"
	}
	m := sent.Message
	m.TS, m.ThreadTS = sent.TS, sent.ThreadTS
	switch problem := s.invalid(m); {
	case sent.Channel != Channel:
		return "channel_not_found"
	case problem != "":
		return problem
	case sent.Unfurl == nil || *sent.Unfurl:
		s.t.Errorf("links are unfurled in %q", m.Text)
	}
	if method == "chat.update" {
		old := s.find(m.TS)
		if old == nil {
			return "message_not_found"
		}
		old.Text, old.Blocks, old.Metadata, old.Edits = m.Text, m.Blocks, m.Metadata, old.Edits+1
		answer["ts"] = m.TS
		return ""
	}
	if m.ThreadTS != "" && s.find(m.ThreadTS) == nil {
		return "thread_not_found"
	}
	m.TS = fmt.Sprintf("1795953600.%06d", s.calls[method])
	s.messages = append(s.messages, &m)
	answer["ts"] = m.TS
	return ""
}

func (s *Slack) invalid(m Message) string {
	var metadata struct {
		Type    string         `json:"event_type"`
		Payload map[string]any `json:"event_payload"`
	}
	switch {
	case m.Text == "" || len(m.Blocks) == 0:
		return "no_text"
	case len(m.Text) > 40000:
		return "msg_too_long"
	case m.Metadata != nil && (json.Unmarshal(m.Metadata, &metadata) != nil || metadata.Type == "" || metadata.Payload == nil):
		return "invalid_metadata_format"
	}
	for _, b := range m.Blocks {
		if b.Text.Type != "mrkdwn" || b.Text.Text == "" || len(b.Text.Text) > 3000 || !b.Text.Verbatim {
			return "invalid_blocks"
		}
	}
	return ""
}

func (s *Slack) find(ts string) *Message {
	for _, m := range s.messages {
		if m.TS == ts {
			return m
		}
	}
	return nil
}

func (s *Slack) read(method string, r *http.Request, answer map[string]any) (problem string) {
	q := r.URL.Query()
	thread := q.Get("ts")
	_, err := strconv.Atoi(q.Get("limit"))
	switch {
	case q.Get("channel") != Channel:
		return "channel_not_found"
	case err != nil || q.Get("include_all_metadata") != "true":
		return "invalid_arguments"
	case method == "conversations.replies" && s.find(thread) == nil:
		return "thread_not_found"
	}
	list := []map[string]any{}
	for _, m := range slices.Backward(s.messages) {
		if m.ThreadTS == thread || m.TS == thread {
			list = append(list, map[string]any{"ts": m.TS, "text": m.Text, "metadata": m.Metadata})
		}
	}
	answer["messages"], answer["response_metadata"] = list, map[string]any{"next_cursor": ""}
	return ""
}
