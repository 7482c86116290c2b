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

	"github.com/postflight-dev/postflight/internal/core/job"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// Fetcher downloads files one after another, because the network is the bottleneck.
type Fetcher struct {
	Client   *http.Client
	Patience time.Duration
	Log      *slog.Logger
	Sleep    func(context.Context, time.Duration) error // between attempts; transfer.Sleep by default
}

// NewClient trusts the system and the PEM. It follows no redirects, because they would pass the signature to another server.
func NewClient(ca string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = stallAfter
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
	wait := f.Sleep
	if wait == nil {
		wait = transfer.Sleep
	}
	last := time.Now()
	for attempt := 0; ; attempt++ {
		before := d.offset
		err := d.attempt(ctx, f.Client)
		var reason retryable
		switch {
		case err == nil:
			return d.finish()
		case ctx.Err() != nil:
			return d.fail(Unavailable, "was not downloaded: the pod was stopped.")
		case !errors.As(err, &reason):
			return err
		}
		if d.offset != before {
			last, attempt = time.Now(), 0
		}
		pause := min(backoffMin<<min(attempt, 10), backoffMax)
		if time.Since(last)+pause > f.Patience {
			return d.fail(Unavailable, "could not be downloaded: the store %s.", reason)
		}
		f.Log.Warn("the download was interrupted and will be retried", "file", file.Path, "at", d.offset,
			"reason", "the store "+string(reason), "in", pause.String())
		if err := wait(ctx, pause); err != nil {
			return d.fail(Unavailable, "was not downloaded: the pod was stopped while the store %s.", reason)
		}
	}
}
