// Package podlogs reads logs of containers through the API server.
package podlogs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/postflight-dev/postflight/internal/apierror"
)

// Client reads logs.
type Client struct{ pods typedcorev1.PodsGetter }

// New makes a client of the API server of config. It uses connections of its own, with HTTP/1.1: a log whose reader
// is slow then fills a buffer of the system and not one of the process, and never delays other requests.
func New(config *rest.Config) (*Client, error) {
	own := rest.CopyConfig(config)
	own.NextProtos = []string{"http/1.1"}
	api, err := typedcorev1.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("set up the reader of logs: %w", err)
	}
	return &Client{pods: api}, nil
}

// Open starts to read the log of the container that o names, until ctx ends. Its error is apierror.ErrLogGone,
// ErrNotStarted or ErrNodeUnreachable if one of them is the reason.
func (c *Client) Open(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	body, err := c.pods.Pods(namespace).GetLogs(pod, &o).Stream(ctx)
	if err != nil {
		return nil, apierror.OfLog(err)
	}
	if o.Follow {
		return body, nil // to look at its beginning could take as long as the container runs
	}
	return peeked(body)
}

// maxError bounds the text of an error that comes in the place of a log, in bytes.
const maxError = 1024

// peeked is the log, unless the whole of it is the text of an error.
func peeked(body io.ReadCloser) (io.ReadCloser, error) {
	start := make([]byte, maxError)
	n, err := io.ReadFull(body, start)
	start = start[:n]
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		body.Close()
		return nil, fmt.Errorf("read the log: %w", err)
	case apierror.IsLogError(start):
		body.Close()
		return nil, fmt.Errorf("%w (%s)", apierror.ErrLogGone, strings.TrimSpace(string(start)))
	}
	return joined{io.MultiReader(bytes.NewReader(start), body), body}, nil
}

type joined struct {
	io.Reader
	io.Closer
}
