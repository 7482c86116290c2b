package fetch

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/postflight-dev/postflight/internal/transfer"
)

// attempt requests and writes the missing part of the file. Its error is retryable if another attempt may help.
func (d *download) attempt(ctx context.Context, client *http.Client) error {
	if d.complete() {
		return d.check()
	}
	watched := transfer.NewStall(ctx, stallAfter, errSilent)
	defer watched.End()
	request, err := d.request(watched)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return retryable(describeFailure(watched.Reason(err)))
	}
	defer response.Body.Close()
	if err := d.accept(response); err != nil {
		return err
	}
	if err := d.receive(response, watched); err != nil {
		return err
	}
	return d.check()
}

// complete reports whether only the check is missing.
func (d *download) complete() bool { return d.file.Size > 0 && d.offset == d.file.Size }

// request asks for the object as it was when the run started.
func (d *download) request(ctx context.Context) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.file.URL, nil)
	if err != nil {
		return nil, d.fail(BadList, "has no URL that can be requested.")
	}
	if d.file.ETag != "" {
		request.Header.Set("If-Match", `"`+d.file.ETag+`"`)
	}
	if d.offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.offset))
	}
	return request, nil
}

// accept checks the status and the headers: the ETag too, because some stores ignore If-Match.
func (d *download) accept(response *http.Response) error {
	code := response.StatusCode
	switch {
	case code == http.StatusOK || code == http.StatusPartialContent:
	case code == http.StatusNotFound:
		return d.fail(Missing, "is no longer in the store. Upload it, and notify again.")
	case code == http.StatusPreconditionFailed:
		return d.changed()
	case code == http.StatusRequestedRangeNotSatisfiable:
		return d.restart("has other bytes than it had")
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return retryable("answers " + describeResponse(response))
	default:
		return d.fail(Unavailable, "could not be downloaded: the store answers %s.", describeResponse(response))
	}
	if etag := ETag(response.Header); d.file.ETag != "" && etag != "" && etag != d.file.ETag {
		return d.changed()
	}
	d.etagIsMD5 = ETagIsMD5(response.Header)
	return d.align(response)
}

// ETag returns the ETag of an object without its quotes, or "" if the store sent none.
func ETag(header http.Header) string {
	return strings.Trim(strings.TrimPrefix(header.Get("ETag"), "W/"), `"`)
}

// ETagIsMD5 reports whether an ETag of the form of an MD5 is one: with keys of KMS or of the customer it is not.
func ETagIsMD5(header http.Header) bool {
	encryption := header.Get("X-Amz-Server-Side-Encryption")
	return (encryption == "" || encryption == "AES256") && header.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") == ""
}

func (d *download) changed() error {
	return d.fail(Changed, "was replaced in the store after the run had started. Notify again.")
}

// align makes sure that the body continues the file.
func (d *download) align(response *http.Response) error {
	switch first := transfer.FirstByte(response.StatusCode, response.Header.Get("Content-Range")); first {
	case d.offset:
		return nil
	case 0: // the store ignores Range and sends the whole object
		return d.local(d.truncate())
	default:
		return d.restart("sent another part than was requested")
	}
}

// restart discards what was received.
func (d *download) restart(reason retryable) error {
	if err := d.local(d.truncate()); err != nil {
		return err
	}
	return reason
}

// receive writes the body.
func (d *download) receive(response *http.Response, watched *transfer.Stall) error {
	body := watched.Reader(response.Body)
	if _, err := io.CopyBuffer(struct{ io.Writer }{d}, d.bounded(body), make([]byte, bufferBytes)); err != nil {
		var local *Error
		if errors.As(err, &local) {
			return local
		}
		return retryable(describeFailure(err))
	}
	if d.file.Size > 0 && d.offset < d.file.Size {
		return retryable("ended its answer early")
	}
	return nil
}

// bounded keeps a long body from filling the disk. It lets one byte too many pass, which check notices.
func (d *download) bounded(body io.Reader) io.Reader {
	if d.file.Size <= 0 {
		return body
	}
	return io.LimitReader(body, d.file.Size-d.offset+1)
}

// describeResponse returns the status and S3's error code, and nothing else of the body, because stores repeat there what was signed.
func describeResponse(response *http.Response) string {
	var body struct{ Code string }
	text := fmt.Sprintf("%d", response.StatusCode)
	err := xml.NewDecoder(io.LimitReader(response.Body, maxErrorBytes)).Decode(&body)
	if err == nil && body.Code != "" && len(body.Code) < 64 {
		text += " " + body.Code
	}
	if response.StatusCode == http.StatusForbidden {
		text += "; the signature may have expired, or the clocks of the manager and the store differ"
	}
	return text
}

// errSilent ends a connection on which nothing arrives.
var errSilent = fmt.Errorf("sent nothing for %s", stallAfter)

// describeFailure returns why there was no response, without quoting errors, because they contain the URL.
func describeFailure(err error) string {
	cause := transfer.CauseOf(err)
	switch {
	case errors.Is(err, errSilent), cause == transfer.Silent:
		return errSilent.Error()
	case cause == transfer.Refused:
		return "refuses connections"
	case cause == transfer.UnknownHost:
		return "has a name that cannot be resolved"
	case cause == transfer.Cut:
		return "cut the connection"
	default:
		return "cannot be reached; check its address, and its certificate if it uses TLS"
	}
}
