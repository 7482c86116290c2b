package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// Fetcher downloads files one after another, because the network is the bottleneck.
type Fetcher struct {
	Client   *http.Client
	Patience time.Duration
	Log      *slog.Logger
}

// NewClient trusts the system and the PEM. It follows no redirects, because they would pass the signature to another server.
func NewClient(ca string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // sizes and ranges count the bytes of the file
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM([]byte(ca)) {
			return nil, &Error{Kind: BadList, Text: "The certificates for the store hold none in PEM."}
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Fetch downloads every file of the list. A file gets its final name when it is complete and checked.
func (f *Fetcher) Fetch(ctx context.Context, l List) error {
	root, err := os.OpenRoot(l.Directory)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, file := range l.Files {
		if err := f.file(ctx, root, file); err != nil {
			return err
		}
	}
	return nil
}

// file repeats the download until it succeeds. Arriving bytes restart Patience.
func (f *Fetcher) file(ctx context.Context, root *os.Root, file job.File) error {
	d, err := open(root, file)
	if err != nil {
		return (&download{file: file}).local(err)
	}
	defer d.close()
	d.progress = newProgress(f.Log, file, d.offset)
	var reason, pausing retryable
	err = transfer.Retry{
		Min: backoffMin, Max: backoffMax, Within: f.Patience,
		Retryable: func(err error) (bool, time.Duration) { return errors.As(err, &reason), 0 },
		Progress:  func() int64 { return d.offset },
		Pausing: func(_ error, pause time.Duration) {
			pausing = reason
			f.Log.Warn("the download was interrupted and will be retried", "file", file.Path, "at", d.offset,
				"reason", "the store "+string(reason), "in", pause.String())
		},
	}.Do(ctx, func() error {
		pausing = ""
		return d.attempt(ctx, f.Client)
	})
	switch {
	case err == nil:
		return d.finish()
	case ctx.Err() != nil && pausing != "":
		return d.fail(Unavailable, "was not downloaded: the pod was stopped while the store %s.", pausing)
	case ctx.Err() != nil:
		return d.fail(Unavailable, "was not downloaded: the pod was stopped.")
	case errors.As(err, &reason):
		return d.fail(Unavailable, "could not be downloaded: the store %s.", reason)
	default:
		return err
	}
}
