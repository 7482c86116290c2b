package fetch

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// attempt requests the missing part of the file and writes what arrives. Its error is a *retryableError if
// another attempt may help.
func (d *download) attempt(ctx context.Context, client *http.Client) error {
	if d.complete() {
		return d.check()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := d.request(ctx)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return &retryableError{networkProblem(err)}
	}
	defer response.Body.Close()
	if err := d.accept(response); err != nil {
		return err
	}
	if err := d.receive(response, cancel); err != nil {
		return err
	}
	return d.check()
}

// complete reports whether an earlier attempt wrote the whole file, but could not finish it.
func (d *download) complete() bool { return d.file.Size > 0 && d.offset == d.file.Size }

// request is for the object as it was when the run started, and no other.
func (d *download) request(ctx context.Context) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.file.URL, nil)
	if err != nil {
		return nil, &Error{Kind: BadList, Path: d.file.Path, Text: "has no URL that can be requested."}
	}
	if d.file.ETag != "" {
		request.Header.Set("If-Match", `"`+d.file.ETag+`"`)
	}
	if d.offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.offset))
	}
	return request, nil
}

// accept checks the status and the headers. It compares the ETag too, because some stores ignore If-Match.
func (d *download) accept(response *http.Response) error {
	switch code := response.StatusCode; {
	case code == http.StatusOK || code == http.StatusPartialContent:
	case code == http.StatusNotFound:
		return &Error{Kind: Missing, Path: d.file.Path, Text: "is no longer in the store. Upload it, and notify again."}
	case code == http.StatusPreconditionFailed:
		return d.changed()
	case code == http.StatusRequestedRangeNotSatisfiable:
		return d.restartLater("has other bytes than before")
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return &retryableError{"answers " + problem(response)}
	default:
		return &Error{Kind: Unavailable, Path: d.file.Path, Text: "could not be downloaded: the store answers " + problem(response) + "."}
	}
	if etag := ETag(response.Header); d.file.ETag != "" && etag != "" && etag != d.file.ETag {
		return d.changed()
	}
	d.etagIsMD5 = ETagIsMD5(response.Header)
	return d.align(response)
}

// ETag of an object, without quotes; empty if the store sends none.
func ETag(header http.Header) string {
	return strings.Trim(strings.TrimPrefix(header.Get("ETag"), "W/"), `"`)
}

// ETagIsMD5 reports whether the ETag can be the MD5 of the object. It is not if the store encrypts with a key
// of its own.
func ETagIsMD5(header http.Header) bool {
	encryption := header.Get("X-Amz-Server-Side-Encryption")
	return (encryption == "" || encryption == "AES256") && header.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") == ""
}

func (d *download) changed() error {
	return &Error{Kind: Changed, Path: d.file.Path, Text: "was replaced in the store after the run had started. Notify again."}
}

// align makes the file continue at the start of the answer.
func (d *download) align(response *http.Response) error {
	if d.offset == 0 {
		return nil
	}
	if response.StatusCode == http.StatusOK { // the store does not support ranges
		return d.localError(d.restart())
	}
	var first int64
	if _, err := fmt.Sscanf(response.Header.Get("Content-Range"), "bytes %d-", &first); err != nil || first != d.offset {
		return d.restartLater("sent another part than requested")
	}
	return nil
}

// restartLater makes the next attempt start over.
func (d *download) restartLater(why string) error {
	if err := d.localError(d.restart()); err != nil {
		return err
	}
	return &retryableError{why}
}

func (d *download) localError(err error) error {
	if err != nil {
		return &Error{Kind: Local, Path: d.file.Path, Text: "cannot be written: " + cause(err) + "."}
	}
	return nil
}

// receive writes the body. It cancels the request if nothing arrives for stallAfter.
func (d *download) receive(response *http.Response, cancel context.CancelFunc) error {
	stall := time.AfterFunc(stallAfter, cancel)
	defer stall.Stop()
	body := readerFunc(func(b []byte) (int, error) {
		n, err := response.Body.Read(b)
		stall.Reset(stallAfter)
		return n, err
	})
	if _, err := io.CopyBuffer(struct{ io.Writer }{d}, d.bounded(body), make([]byte, bufferBytes)); err != nil {
		var local *Error
		if errors.As(err, &local) {
			return local
		}
		return &retryableError{networkProblem(err)}
	}
	if d.file.Size > 0 && d.offset < d.file.Size {
		return &retryableError{"ended its answer early"}
	}
	return nil
}

// bounded keeps an answer that is too long from filling the disk. It lets one extra byte through, so that check
// notices.
func (d *download) bounded(body io.Reader) io.Reader {
	if d.file.Size <= 0 {
		return body
	}
	return io.LimitReader(body, d.file.Size-d.offset+1)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// problem is the status and the code that S3 puts into the body. It leaves out the rest, because stores repeat
// there what was signed.
func problem(response *http.Response) string {
	var body struct{ Code string }
	text := fmt.Sprintf("%d", response.StatusCode)
	err := xml.NewDecoder(io.LimitReader(response.Body, maxProblemBytes)).Decode(&body)
	if err == nil && body.Code != "" && len(body.Code) < 64 {
		text += " " + body.Code
	}
	if response.StatusCode == http.StatusForbidden {
		text += "; the signature may have expired, or the clocks of the manager and the store differ"
	}
	return text
}

// networkProblem says why there was no answer, without the URL that network errors contain.
func networkProblem(err error) string {
	var network net.Error
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refuses connections"
	case errors.As(err, &dns):
		return "has a name that cannot be resolved"
	case errors.Is(err, context.Canceled), errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("sent nothing for %s", stallAfter)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		return "cut the connection"
	default:
		return "cannot be reached; check its address, and its certificate if it uses TLS"
	}
}
