package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/core/text/version"
	"github.com/postflight-dev/postflight/internal/outbound"
)

const (
	// SlackAPI is where the methods of Slack are.
	SlackAPI = "https://slack.com/api/"

	// maxSlackAnswer holds a page of messages with their blocks; outbound bounds what is read in all.
	maxSlackAnswer = 2 << 20

	// maxPages of pageSize messages are searched for one that was sent before a crash. It is among the newest, unless the channel got more
	// messages meanwhile. Slack may return fewer messages on a page: apps that are distributed get 15.
	maxPages, pageSize = 5, 100
)

// Slack calls Slack's API with the tokens of teams. A library would bring its whole API and a client of web sockets for four calls.
type Slack struct {
	client *http.Client
	base   string
}

// NewSlack returns a Slack that uses a client of outbound.Public, and the API at base, which ends with a slash.
func NewSlack(client *http.Client, base string) *Slack { return &Slack{client, base} }

// slackAnswer is what all methods return, and what those that list messages do.
type slackAnswer struct {
	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	TS       string `json:"ts"`
	Messages []struct {
		TS       string `json:"ts"`
		Metadata struct {
			Type    string          `json:"event_type"`
			Payload json.RawMessage `json:"event_payload"`
		} `json:"metadata"`
	} `json:"messages"`
	Next struct {
		Cursor string `json:"next_cursor"`
	} `json:"response_metadata"`
}

// Send sends a message, and returns its timestamp, which identifies it in its channel. The error is an *announce.Failure.
func (s *Slack) Send(ctx context.Context, m announce.Message) (ts string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+string(m.Method), bytes.NewReader(m.Body))
	if err != nil {
		return "", announce.Unreachable(false, errors.New("the address is not valid"))
	}
	r.Header.Set("Content-Type", m.ContentType)
	answer, err := s.call(r, m.Token, m.At)
	if err == nil && !validTS(answer.TS) {
		err = announce.Unreachable(false, errors.New("the answer has no timestamp of the message"))
	}
	return answer.TS, err
}

// Find returns the timestamp of a message that was sent earlier, or "". The error is an *announce.Failure.
func (s *Slack) Find(ctx context.Context, search announce.Search, now time.Time) (ts string, err error) {
	method, query := announce.History, url.Values{
		"channel": {search.Channel}, "limit": {strconv.Itoa(pageSize)}, "include_all_metadata": {"true"},
		"oldest": {strconv.FormatInt(search.Since.Unix(), 10)},
	}
	if search.ThreadTS != "" {
		method = announce.Replies
		query.Set("ts", search.ThreadTS)
	}
	for range maxPages {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+string(method)+"?"+query.Encode(), nil)
		if err != nil {
			return "", announce.Unreachable(false, errors.New("the address is not valid"))
		}
		answer, err := s.call(r, search.Token, now)
		if err != nil {
			return "", err
		}
		for _, m := range answer.Messages {
			if search.Marker.Marks(m.Metadata.Type, m.Metadata.Payload) && validTS(m.TS) {
				return m.TS, nil
			}
		}
		if answer.Next.Cursor == "" {
			break
		}
		query.Set("cursor", answer.Next.Cursor)
	}
	return "", nil
}

func (s *Slack) call(r *http.Request, token string, now time.Time) (answer slackAnswer, err error) {
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("User-Agent", version.UserAgent("postflight"))
	resp, err := s.client.Do(r)
	if err != nil {
		return answer, unreachable(err)
	}
	defer resp.Body.Close()
	defer outbound.Drain(resp.Body)
	wait := retryAfter(resp.Header.Get("Retry-After"), now)
	if resp.StatusCode != http.StatusOK {
		return answer, announce.Refused(resp.StatusCode, wait, "")
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxSlackAnswer)).Decode(&answer); err != nil {
		return answer, announce.Unreachable(false, fmt.Errorf("read the answer of Slack: %w", err))
	}
	if !answer.OK {
		return answer, announce.RefusedBySlack(word([]byte(answer.Error)), wait)
	}
	return answer, nil
}

// validTS accepts what Slack calls a ts: digits with a dot.
func validTS(text string) bool {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' {
			return false
		}
	}
	return text != "" && len(text) <= 32
}
