package client

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/transfer"
)

const (
	// MaxWait is the longest that the server lets a client wait for a run in one request.
	MaxWait = 55 * time.Second

	minWait   = 10 * time.Second // the shortest wait after longer ones were cut short
	heldAfter = 5 * time.Second  // distinguishes a request that a proxy ended from a request that never reached the server
)

const greenlightPath = "/api/v0/ci-greenlight/"

// Greenlight returns the state of a run, and waits for news for up to the given time and MaxWait. If a proxy ends waiting requests earlier,
// this and all later ones wait for less: that is no failure of the server, and does not count towards the retry timeout.
func (c *Client) Greenlight(ctx context.Context, id string, wait time.Duration) (*Greenlight, error) {
	var answer Greenlight
	if err := c.hold(ctx, url.PathEscape(id), greenlightPath+url.PathEscape(id), nil, wait, &answer); err != nil {
		return nil, err
	}
	c.waits.follow(id, answer.RepeatedByRunID, answer.RelevantRunID)
	for _, link := range []*string{&answer.RootRunURL, &answer.RelevantRunURL, &answer.RelevantRunWithBugsURL} {
		c.resolveLink(link)
	}
	return &answer, nil
}

// hold sends a request that the server holds until there is news, with the wait token of a run if there is one.
func (c *Client) hold(ctx context.Context, run, path string, query url.Values, wait time.Duration, answer any) error {
	for wait = min(wait, time.Duration(c.maxWait.Load())); ; {
		err := c.holdOnce(ctx, run, pathWith(path, query, wait), wait, answer)
		var short *cutShortError
		if !errors.As(err, &short) {
			return err
		}
		wait = max(wait/2, minWait)
		c.maxWait.Store(min(c.maxWait.Load(), int64(wait)))
	}
}

func pathWith(path string, query url.Values, wait time.Duration) string {
	query = maps.Clone(query)
	if seconds := int(wait.Seconds()); seconds > 0 {
		if query == nil {
			query = url.Values{}
		}
		query.Set("wait", strconv.Itoa(seconds))
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// holdOnce uses one wait; its error is a *cutShortError if a shorter wait may succeed.
func (c *Client) holdOnce(ctx context.Context, run, path string, wait time.Duration, answer any) error {
	return c.retry(ctx, func() error {
		var connected atomic.Pointer[time.Time]
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { connected.Store(new(time.Now())) },
		})
		err := c.authorized(ctx, run, func(token string) error {
			connected.Store(nil)
			return c.send(traced, token, http.MethodGet, path, nil, nil, answer)
		})
		began := connected.Load()
		if held := began != nil && time.Since(*began) >= heldAfter; held && wait > minWait && ctx.Err() == nil && byProxy(err) {
			return &cutShortError{err}
		}
		return err
	})
}

// resolveLink makes a URL of a path: a server without --public-url answers with paths.
func (c *Client) resolveLink(link *string) {
	if strings.HasPrefix(*link, "/") {
		*link = publicurl.Join(c.baseURL, *link)
	}
}

// cutShortError is a request that a proxy ended while the server held it. It hides the *Error, so that it is not retried unchanged.
type cutShortError struct{ error }

// byProxy reports whether a request failed without an answer of Postflight.
func byProxy(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Problem == nil && (failed.Status == 0 || failed.Status >= http.StatusInternalServerError)
}

// Await waits for the end of a run, or of the run that superseded it, until ctx is done.
func (c *Client) Await(ctx context.Context, id string) (*Greenlight, error) {
	for {
		answer, err := c.Greenlight(ctx, id, MaxWait)
		if err != nil || answer.Final() {
			return answer, err
		}
		if err := transfer.Sleep(ctx, time.Second); err != nil { // in case a server does not wait
			return answer, err
		}
	}
}
