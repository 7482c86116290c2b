package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/postflight-dev/postflight/internal/transfer"
)

// LogOptions say which logs of a run to read. The zero value means all logs of the tests.
type LogOptions struct {
	Pod       string
	Container string // which may be an init container or a sidecar
	Previous  bool   // the log from before Kubernetes restarted the container
	Follow    bool   // until the run has ended
	Tail      *int   // only so many lines at the end of each log
}

func (o LogOptions) query() url.Values {
	query := url.Values{}
	if o.Pod != "" {
		query.Set("pod", o.Pod)
	}
	if o.Container != "" {
		query.Set("container", o.Container)
	}
	if o.Previous {
		query.Set("previous", "true")
	}
	if o.Follow {
		query.Set("follow", "true")
	}
	if o.Tail != nil {
		query.Set("tail", strconv.Itoa(*o.Tail))
	}
	return query
}

// ErrLogCut means that a log broke off before its end: the connection broke, or the server ended a log that was followed for long.
var ErrLogCut = errors.New("the log broke off")

// Logs returns the logs of a run. If there are several, each begins with a line "==> pod/container <==". Close it.
func (c *Client) Logs(ctx context.Context, id string, o LogOptions) (io.ReadCloser, error) {
	path := runPath(id) + "/logs?" + o.query().Encode()
	var log io.ReadCloser
	err := c.retry(ctx, func() error {
		return c.authorized(ctx, "", func(token string) (err error) {
			log, err = c.openLog(ctx, token, path, o.Follow)
			return err
		})
	})
	return log, err
}

// openLog waits for the start of an answer: a log that is followed starts when the run has a pod.
func (c *Client) openLog(ctx context.Context, token, path string, follow bool) (io.ReadCloser, error) {
	watched := transfer.NewStall(ctx, requestTimeout, errStalled)
	if follow {
		watched.Pause()
	}
	r, err := c.newRequest(watched, token, http.MethodGet, path, nil)
	if err != nil {
		watched.End()
		return nil, err
	}
	resp, err := c.streams().Do(r)
	if err != nil {
		watched.End()
		return nil, unreachable(watched.Reason(err))
	}
	if resp.StatusCode != http.StatusOK || !isMediaType(resp, "text/plain") {
		defer watched.End()
		defer resp.Body.Close()
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
		return nil, problemOf(resp, answer)
	}
	log := &logBody{resp.Body, resp.Body, watched}
	if !follow {
		log.Reader = watched.Reader(resp.Body)
	}
	return log, nil
}

// maxProblem bounds the body of an error, in bytes.
const maxProblem = 1 << 20

// streams is an HTTP client for answers of any length, which end with their context.
func (c *Client) streams() *http.Client {
	h := *c.http
	h.Timeout = 0
	return &h
}

type logBody struct {
	io.Reader
	body    io.Closer
	watched *transfer.Stall
}

func (b *logBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w (%w)", ErrLogCut, err)
	}
	return n, err
}

func (b *logBody) Close() error {
	b.watched.End()
	return b.body.Close()
}
