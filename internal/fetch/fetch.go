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

// Fetcher downloads files one after another: the network is what limits it, not their number.
type Fetcher struct {
	Client   *http.Client
	Patience time.Duration
	Log      *slog.Logger

	// Sleep waits between attempts; nil: by the clock.
	Sleep func(context.Context, time.Duration) error
}

// NewClient trusts the certificate authorities of the system and those of the PEM. It sends requests
// where they are meant to go: a store that redirects would give the signature to somebody else.
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

// Fetch puts every file of the list into its directory. What is there when it returns without an error
// is complete and checked; what is incomplete has another name.
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

// file repeats the download until it is there. Whatever arrives starts the patience anew.
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
		var passing *again
		switch {
		case err == nil:
			return d.finish()
		case ctx.Err() != nil:
			return &Error{Kind: Unavailable, Path: file.Path, Text: "was not downloaded: the pod was stopped."}
		case !errors.As(err, &passing):
			return err
		}
		if d.offset != before {
			last, attempt = time.Now(), 0
		}
		pause := min(backoffMin<<min(attempt, 10), backoffMax)
		if time.Since(last)+pause > f.Patience {
			return &Error{Kind: Unavailable, Path: file.Path, Text: "could not be downloaded: the store " + passing.text + "."}
		}
		f.Log.Warn("the download was interrupted, and goes on", "file", file.Path, "at", d.offset, "because", "the store "+passing.text, "in", pause.String())
		if err := f.sleep(ctx, pause); err != nil {
			return &Error{Kind: Unavailable, Path: file.Path, Text: "was not downloaded: the pod was stopped while the store " + passing.text + "."}
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
