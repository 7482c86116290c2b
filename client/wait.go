package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/postflight-dev/postflight/internal/sleep"
)

const (
	// MaxWait is the longest that the server lets a client wait for a run in one request.
	MaxWait = 55 * time.Second

	// minWait is the shortest wait that is asked for because longer ones were cut short.
	minWait = 10 * time.Second

	// heldAfter tells a request that something on the way ended from one that did not get through.
	heldAfter = 5 * time.Second
)

// Greenlight asks for the state of a run, and waits for news of it for up to MaxWait. Where something on
// the way ends requests earlier, such as a proxy with a timeout of 30 seconds, this and all later ones
// wait for less; it is no failure of the server, and takes none of the patience.
func (c *Connection) Greenlight(ctx context.Context, id string, wait time.Duration) (*Greenlight, error) {
	for wait = min(wait, time.Duration(c.hold.Load())); ; {
		answer, err := c.greenlight(ctx, id, wait)
		var short *cutShort
		if !errors.As(err, &short) {
			return answer, err
		}
		wait = max(wait/2, minWait)
		c.hold.Store(min(c.hold.Load(), int64(wait)))
	}
}

// greenlight asks with one wait; the error is *cutShort where a shorter one may do better.
func (c *Connection) greenlight(ctx context.Context, id string, wait time.Duration) (*Greenlight, error) {
	params := &CiGreenlightParams{}
	if seconds := int(wait.Seconds()); seconds > 0 {
		params.Wait = &seconds
	}
	var answer *Greenlight
	err := c.retry(ctx, func() (err error) {
		var connected atomic.Pointer[time.Time]
		answer, err = c.ask(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { connected.Store(new(time.Now())) },
		}), id, params)
		began := connected.Load()
		if held := began != nil && time.Since(*began) >= heldAfter; held && wait > minWait && ctx.Err() == nil && onTheWay(err) {
			return &cutShort{err}
		}
		return err
	})
	return answer, err
}

func (c *Connection) ask(ctx context.Context, id string, params *CiGreenlightParams) (*Greenlight, error) {
	resp, err := c.api.CiGreenlightWithResponse(ctx, id, params)
	if err != nil {
		return nil, unreachable(err)
	}
	if resp.JSON200 != nil {
		c.resolveLinks(resp.JSON200)
	}
	return resp.JSON200, check(resp.HTTPResponse, resp.Body, resp.JSON200 != nil)
}

// resolveLinks makes URLs of the paths that a server answers with which does not know its own URL.
func (c *Connection) resolveLinks(g *Greenlight) {
	for _, link := range []*string{&g.RootRunURL, &g.RelevantRunURL, &g.RelevantRunWithBugsURL} {
		if strings.HasPrefix(*link, "/") {
			*link = c.baseURL + *link
		}
	}
}

// cutShort is a request that was held, and then ended by something else than Postflight. It is no
// *Error, so that it is not repeated as it was.
type cutShort struct{ error }

// onTheWay reports whether a request failed, and not by an answer of Postflight.
func onTheWay(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Problem == nil && (failed.Status == 0 || failed.Status >= http.StatusInternalServerError)
}

// Await waits for the end of a run, or of the one that superseded it, until ctx is done.
func (c *Connection) Await(ctx context.Context, id string) (*Greenlight, error) {
	for {
		answer, err := c.Greenlight(ctx, id, MaxWait)
		if err != nil || answer.RunStage != Initializing {
			return answer, err
		}
		if err := sleep.For(ctx, time.Second); err != nil { // in case a server does not wait
			return answer, err
		}
	}
}
