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

	"github.com/postflight-dev/postflight/internal/job"
)

// Fetcher downloads files one after another, because the network is the bottleneck.
type Fetcher struct {
	Client   *http.Client
	Patience time.Duration
	Log      *slog.Logger

	// Sleep waits between attempts; the default uses the clock.
	Sleep func(context.Context, time.Duration) error
}

// NewClient trusts the certificate authorities of the system and those of the PEM. It follows no redirect,
// which would give the signature to somebody else.
func NewClient(ca string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = stallAfter
	transport.DisableCompression = true // sizes and ranges are those of the file
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

// Fetch downloads all files of the list. If it returns no error, they are complete and checked. An incomplete
// file has another name.
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

// file retries until the file is complete, or nothing has arrived for the whole patience.
func (f *Fetcher) file(ctx context.Context, root *os.Root, file job.File) error {
	d, err := open(root, file)
	if err != nil {
		return &Error{Kind: Local, Path: file.Path, Text: "cannot be written: " + cause(err)}
	}
	defer d.close()
	d.progress = newProgress(f.Log, file, d.offset)
	last := time.Now()
	for attempt := 0; ; attempt++ {
		before := d.offset
		err := d.attempt(ctx, f.Client)
		var retryable *retryableError
		switch {
		case err == nil:
			return d.finish()
		case ctx.Err() != nil:
			return &Error{Kind: Unavailable, Path: file.Path, Text: "was not downloaded: the pod was stopped."}
		case !errors.As(err, &retryable):
			return err
		}
		if d.offset != before {
			last, attempt = time.Now(), 0
		}
		pause := min(backoffMin<<min(attempt, 10), backoffMax)
		if time.Since(last)+pause > f.Patience {
			return &Error{Kind: Unavailable, Path: file.Path, Text: "could not be downloaded: " + err.Error() + "."}
		}
		f.Log.Warn("the download was interrupted, and continues", "file", file.Path, "at", d.offset,
			"because", err.Error(), "in", pause.String())
		if f.sleep(ctx, pause) != nil {
			return &Error{Kind: Unavailable, Path: file.Path, Text: "was not downloaded: the pod was stopped while " + err.Error() + "."}
		}
	}
}

func (f *Fetcher) sleep(ctx context.Context, d time.Duration) error {
	if f.Sleep != nil {
		return f.Sleep(ctx, d)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
