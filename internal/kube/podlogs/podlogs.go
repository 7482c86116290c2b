// Package podlogs reads logs of containers through the API server.
package podlogs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// Client reads logs.
type Client struct{ pods typedcorev1.PodsGetter }

// New makes a client with its own HTTP/1.1 connections: a slow reader then never delays other requests.
func New(config *rest.Config) (*Client, error) {
	own := rest.CopyConfig(config)
	own.NextProtos = []string{"http/1.1"}
	api, err := typedcorev1.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("set up the reader of logs: %w", err)
	}
	return &Client{pods: api}, nil
}

// Open reads a log until ctx ends. The error wraps one of apierror's if it is the reason; the first Read of a followed log may return it.
func (c *Client) Open(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	body, err := c.pods.Pods(namespace).GetLogs(pod, &o).Stream(ctx)
	if err != nil {
		return nil, apierror.OfLog(err, pod)
	}
	log := &checked{ReadCloser: body}
	if o.Follow {
		return &withoutNotice{ReadCloser: log}, nil // the first bytes may come much later
	}
	if err := log.check(); err != nil {
		body.Close()
		return nil, err
	}
	return log, nil
}

// maxError bounds the text of an error in place of a log, in bytes.
const maxError = 1024

type checked struct {
	io.ReadCloser

	done  bool
	start io.Reader
}

func (c *checked) Read(p []byte) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	if n, err := c.start.Read(p); err == nil {
		return n, nil
	}
	return c.ReadCloser.Read(p)
}

// check reads the first bytes. If more follows what looks like an error, a test wrote it.
func (c *checked) check() error {
	if c.done {
		return nil
	}
	start := make([]byte, maxError)
	n, err := io.ReadAtLeast(c.ReadCloser, start, 1)
	if err == nil && apierror.IsLogError(start[:n]) {
		var more int
		more, err = io.ReadAtLeast(c.ReadCloser, start[n:], 1)
		n += more
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w (%s)", apierror.ErrLogGone, bytes.TrimSpace(start[:n]))
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the log: %w", err)
	}
	c.done, c.start = true, bytes.NewReader(start[:n])
	return nil
}
