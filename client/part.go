package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/transfer"
)

const (
	stallAfter = time.Minute // ends an attempt to download when nothing arrives
	maxParts   = 20          // bounds in how many parts a file arrives. A proxy that cuts long connections lets a part through each time
	partPause  = time.Second // the pause before the next part
)

var (
	errGone    = errors.New("the run does not have this file any more")
	errStalled = errors.New("nothing arrives")
)

type download struct {
	client   *Client
	run      string
	artifact Artifact
	file     *os.File
	progress io.Writer

	arrived int64  // bytes
	etag    string // of the file, if the store can send the rest of it
	renewed bool   // nothing has arrived since the URL was renewed
}

// partError is an attempt that ended early, after some bytes. It hides the *Error, so that the retry timeout starts again.
type partError struct{ error }

func (d *download) fetch(ctx context.Context) error {
	for range maxParts {
		err := d.client.retry(ctx, func() error { return d.part(ctx) })
		var failed *Error
		var part *partError
		switch {
		case errors.As(err, &part):
			d.client.onRetry(part.error, partPause)
			err = transfer.Sleep(ctx, partPause)
		case errors.As(err, &failed) && expired(failed.Status) && !d.renewed:
			err = d.renew(ctx)
		default:
			return err
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("the download broke off %d times", maxParts)
}

// expired reports whether the status may mean that the URL has expired: most stores answer 403, rclone 400.
func expired(status int) bool {
	return status == http.StatusForbidden || status == http.StatusBadRequest
}

func (d *download) renew(ctx context.Context) error {
	for a, err := range d.client.Artifacts(ctx, d.run, d.artifact.Pod) {
		if err != nil {
			return err
		}
		if a.Path == d.artifact.Path && a.Pod == d.artifact.Pod {
			d.artifact.URL, d.renewed = a.URL, true
			return nil
		}
	}
	return errGone
}

// part requests what is missing.
func (d *download) part(ctx context.Context) error {
	watched := transfer.NewStall(ctx, stallAfter, errStalled)
	defer watched.End()
	r, err := d.request(watched)
	if err != nil {
		return err
	}
	resp, err := d.client.streams().Do(r)
	if err != nil {
		return storeBroke(r, watched.Reason(err))
	}
	defer resp.Body.Close()
	if err := d.accept(resp); err != nil {
		return err
	}
	before := d.arrived
	broken, err := d.copy(watched.Reader(resp.Body))
	switch {
	case err != nil || d.arrived == d.artifact.Bytes:
		return err
	case d.arrived > d.artifact.Bytes:
		return d.wrongSize(d.arrived)
	case d.arrived > before:
		d.renewed = false
		return &partError{storeBroke(r, broken)}
	default:
		return storeBroke(r, broken)
	}
}

// request leaves out the API key, which the store must not see.
func (d *download) request(ctx context.Context) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.artifact.URL, nil)
	if err != nil {
		return nil, errors.New("the server sent an invalid URL; ask its operator to check the address of the store")
	}
	r.Header.Set("User-Agent", d.client.header.Get("User-Agent"))
	r.Header.Set("Accept-Encoding", "identity") // a range of compressed bytes is no range of the file
	if d.etag == "" {
		return r, d.restart()
	}
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.arrived))
	r.Header.Set("If-Match", d.etag)
	return r, nil
}

func (d *download) restart() error {
	d.arrived, d.etag = 0, ""
	_, err := d.file.Seek(0, io.SeekStart)
	return errors.Join(err, d.file.Truncate(0))
}

func (d *download) accept(resp *http.Response) error {
	etag := resp.Header.Get("ETag")
	switch resp.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
	case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		return d.changed()
	default:
		return storeRefused(resp)
	}
	first := transfer.FirstByte(resp.StatusCode, resp.Header.Get("Content-Range"))
	switch {
	case first == 0:
		if err := d.restart(); err != nil {
			return err
		}
	case first != d.arrived:
		return fmt.Errorf("the store at %s sent another part of the file", resp.Request.URL.Host)
	case etag != d.etag: // rclone ignores If-Match
		return d.changed()
	}
	if resp.ContentLength >= 0 && d.arrived+resp.ContentLength != d.artifact.Bytes {
		return d.wrongSize(d.arrived + resp.ContentLength)
	}
	if strings.HasPrefix(etag, `"`) { // a weak one does not promise the same bytes
		d.etag = etag
	}
	return nil
}

func (d *download) changed() error {
	return errors.Join(d.restart(), &partError{&Error{store: true, text: "The file changed meanwhile."}})
}

func (d *download) wrongSize(got int64) error {
	return fmt.Errorf("the store sends %d bytes or more, and not the %d that the file should have", got, d.artifact.Bytes)
}

// copy returns why the body ended early, and the error of writing.
func (d *download) copy(body io.Reader) (broken, err error) {
	body = io.LimitReader(body, d.artifact.Bytes-d.arrived+1)
	for buffer := make([]byte, 64<<10); broken == nil; {
		n := 0
		n, broken = body.Read(buffer)
		if _, err := d.file.Write(buffer[:n]); err != nil {
			return nil, err
		}
		d.arrived += int64(n)
		if d.progress != nil {
			_, _ = d.progress.Write(buffer[:n]) // it only shows how far the download is
		}
	}
	if errors.Is(broken, io.EOF) {
		broken = io.ErrUnexpectedEOF
	}
	return broken, nil
}

// storeBroke is the error of a broken exchange with the store, without the URL, which is a secret.
func storeBroke(r *http.Request, err error) error {
	err = transfer.WithoutURL(err)
	return &Error{cause: err, store: true, text: fmt.Sprintf("The store at %s did not send the whole file (%v). "+
		"Check that this machine may connect to it.", r.URL.Host, err)}
}

func storeRefused(resp *http.Response) error {
	text := fmt.Sprintf("The store at %s answered %s.", resp.Request.URL.Host, resp.Status)
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		text += " A proxy that asks people to log in, or a wrong address of the store, may be the reason."
	case resp.StatusCode == http.StatusForbidden:
		text += " The clock of this machine, or a proxy that changes headers, may be the reason."
	case resp.StatusCode == http.StatusNotFound:
		text += " The file may have been deleted with old records."
	}
	return &Error{Status: resp.StatusCode, text: text, store: true}
}
