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

// attempt asks for what is missing of the file and writes what arrives. Its error is *again where
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
		return &again{connection(err)}
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

// complete is a file of which only the end of an earlier attempt was missing.
func (d *download) complete() bool { return d.file.Size > 0 && d.offset == d.file.Size }

// request asks for the same object as when the run started, or for none.
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

// accept looks at the head of the answer. Not every store heeds If-Match, so the ETag is compared too.
func (d *download) accept(response *http.Response) error {
	switch code := response.StatusCode; {
	case code == http.StatusOK || code == http.StatusPartialContent:
	case code == http.StatusNotFound:
		return &Error{Kind: Missing, Path: d.file.Path, Text: "is no longer in the store. Upload it, and notify again."}
	case code == http.StatusPreconditionFailed:
		return d.changed()
	case code == http.StatusRequestedRangeNotSatisfiable:
		return d.over("has other bytes than it had")
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return &again{"answers " + problem(response)}
	default:
		return &Error{Kind: Unavailable, Path: d.file.Path, Text: "could not be downloaded: the store answers " + problem(response) + "."}
	}
	if etag := ETag(response.Header); d.file.ETag != "" && etag != "" && etag != d.file.ETag {
		return d.changed()
	}
	d.plain = Plain(response.Header)
	return d.align(response)
}

// ETag of an object, without the marks around it; empty where the store says none.
func ETag(header http.Header) string {
	return strings.Trim(strings.TrimPrefix(header.Get("ETag"), "W/"), `"`)
}

// Plain tells whether the store says of no encryption by which the ETag of an object is no MD5.
func Plain(header http.Header) bool {
	encryption := header.Get("X-Amz-Server-Side-Encryption")
	return (encryption == "" || encryption == "AES256") && header.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") == ""
}

func (d *download) changed() error {
	return &Error{Kind: Changed, Path: d.file.Path, Text: "was replaced in the store after the run had started. Notify again."}
}

// align makes the file continue where the answer starts.
func (d *download) align(response *http.Response) error {
	if d.offset == 0 {
		return nil
	}
	if response.StatusCode == http.StatusOK { // the store does not know of ranges
		return d.local(d.restart())
	}
	var first int64
	if _, err := fmt.Sscanf(response.Header.Get("Content-Range"), "bytes %d-", &first); err != nil || first != d.offset {
		return d.over("sent another part than was asked for")
	}
	return nil
}

// over starts the file anew, at the next attempt.
func (d *download) over(why string) error {
	if err := d.local(d.restart()); err != nil {
		return err
	}
	return &again{why}
}

func (d *download) local(err error) error {
	if err != nil {
		return &Error{Kind: Local, Path: d.file.Path, Text: "cannot be written: " + cause(err) + "."}
	}
	return nil
}

// receive writes the body, and cuts a connection on which nothing arrives any more.
func (d *download) receive(response *http.Response, cut context.CancelFunc) error {
	stall := time.AfterFunc(stallAfter, cut)
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
		return &again{connection(err)}
	}
	if d.file.Size > 0 && d.offset < d.file.Size {
		return &again{"ended its answer early"}
	}
	return nil
}

// bounded keeps an answer that is too long from filling the disk; one byte too many tells.
func (d *download) bounded(body io.Reader) io.Reader {
	if d.file.Size <= 0 {
		return body
	}
	return io.LimitReader(body, d.file.Size-d.offset+1)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// problem is the status and the code that S3 puts into the body. Nothing else is taken over: stores
// repeat there what was signed.
func problem(response *http.Response) string {
	var body struct{ Code string }
	text := fmt.Sprintf("%d", response.StatusCode)
	if err := xml.NewDecoder(io.LimitReader(response.Body, maxProblemBytes)).Decode(&body); err == nil && body.Code != "" && len(body.Code) < 64 {
		text += " " + body.Code
	}
	if response.StatusCode == http.StatusForbidden {
		text += "; the signature may have expired, or the clocks of the manager and the store differ"
	}
	return text
}

// connection says why there was no answer, without the URL that network errors repeat.
func connection(err error) string {
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
