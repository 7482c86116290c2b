// Package webhook sends messages about runs over HTTP.
package webhook

import (
	"bytes"
	"context"
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
	maxSaid       = 256       // of an answer, in bytes
	maxRetryAfter = time.Hour // that a receiver may ask for
)

// Sender sends messages.
type Sender struct{ client *http.Client }

// New returns a Sender that uses a client of outbound.Public.
func New(client *http.Client) *Sender { return &Sender{client} }

// Send sends a message, and returns once the receiver has accepted it. The error is an *announce.Failure.
func (s *Sender) Send(ctx context.Context, m announce.Message) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return announce.Unreachable(false, errors.New("the address is not valid"))
	}
	r.Header.Set("Content-Type", m.ContentType)
	r.Header.Set("User-Agent", version.UserAgent("postflight"))
	if len(m.Keys) > 0 {
		r.Header.Set("Webhook-Id", m.ID)
		r.Header.Set("Webhook-Timestamp", strconv.FormatInt(m.At.Unix(), 10))
		r.Header.Set("Webhook-Signature", m.Signature())
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return unreachable(err)
	}
	defer resp.Body.Close()
	defer outbound.Drain(resp.Body)
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	said := ""
	if m.Chat {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxSaid))
		said = word(bytes.TrimSpace(text))
	}
	return announce.Refused(resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), m.At), said)
}

// unreachable leaves out the address, which may be a secret.
func unreachable(err error) error {
	if errors.Is(err, outbound.ErrForbidden) {
		return announce.Forbidden()
	}
	var timeout interface{ Timeout() bool }
	slow := errors.As(err, &timeout) && timeout.Timeout()
	if request := (*url.Error)(nil); errors.As(err, &request) {
		err = request.Err
	}
	return announce.Unreachable(slow, fmt.Errorf("send: %w", err))
}

// word returns Slack's answer, such as channel_is_archived. Other texts are omitted, because they could repeat the address.
func word(text []byte) string {
	for _, b := range text {
		if (b < 'a' || b > 'z') && b != '_' {
			return ""
		}
	}
	if len(text) > 64 {
		return ""
	}
	return string(text)
}

// retryAfter reads both forms of the header: seconds, and a date.
func retryAfter(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(text); err == nil {
		wait = date.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
