package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5" // what object stores check an upload by
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/fetch"
)

const (
	// stallAfter ends an upload of which the store takes nothing more.
	stallAfter = time.Minute

	// answerAfter is how long the store may take to answer once it has the whole file: it, or a proxy
	// before it, may write all of it first.
	answerAfter = 2 * time.Minute
)

// storeClient follows no redirect: a PUT that is redirected becomes a GET, and the page that a proxy
// shows to log in would pass for an upload.
var storeClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// put sends the file, and checks what the store says that it has got.
func (c *Upload) put(ctx context.Context, file *os.File, sums checksums, address string) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	bar := c.bar(sums.size)
	defer func() { _ = bar.Close() }() // only for the eye
	// The body is cut to what was summed: a file that grows meanwhile is not uploaded in half.
	body := io.TeeReader(io.LimitReader(file, sums.size), bar)
	r, err := putRequest(ctx, address, body, sums)
	if err != nil {
		return err
	}
	return c.exchange(r, sums)
}

func putRequest(ctx context.Context, address string, body io.Reader, sums checksums) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, address, io.NopCloser(body))
	if err != nil {
		return nil, errors.New("the server gave a URL that cannot be used; ask its operator to check the store's address")
	}
	r.ContentLength = sums.size
	if sums.size == 0 {
		r.Body = http.NoBody
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sums.md5))
	return r, nil
}

// exchange sends the request and looks at the answer. It ends when nothing moves any more: a
// store that hangs would otherwise be waited for until the pipeline is killed.
func (c *Upload) exchange(r *http.Request, sums checksums) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	stalled, unanswered := cmp.Or(c.stallAfter, stallAfter), cmp.Or(c.answerAfter, answerAfter)
	stall := time.AfterFunc(stalled, func() { cancel(errStalled) })
	defer stall.Stop()
	r = r.WithContext(ctx)
	if r.Body != http.NoBody {
		r.Body = &watched{r.Body, func(err error) {
			if err == nil {
				stall.Reset(stalled)
			} else { // all of it is read
				stall.Reset(unanswered)
			}
		}}
	}
	resp, err := storeClient.Do(r)
	if err != nil {
		return fmt.Errorf("the store at %s: %w", r.URL.Host, whyNot(ctx, err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return &refusal{host: r.URL.Host, status: resp.StatusCode, answer: string(answer), elsewhere: elsewhere(resp)}
	}
	return sameContent(resp.Header, sums)
}

var errStalled = errors.New("it takes no more data, and does not answer")

// whyNot says why there is no answer, without the URL, which is a secret.
func whyNot(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// watched tells of each read of a body.
type watched struct {
	io.ReadCloser
	read func(error)
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	w.read(err)
	return n, err
}

// sameContent compares with the store's own checksum, where it is one, for stores that pay no heed to
// Content-MD5. Encrypting stores have others, which may look like one.
func sameContent(header http.Header, sums checksums) error {
	got := fetch.ETag(header)
	theirs, err := hex.DecodeString(got)
	if err != nil || len(theirs) != md5.Size || bytes.Equal(theirs, sums.md5) || !fetch.ETagIsMD5(header) {
		return nil
	}
	return fmt.Errorf("the store holds something else than was sent (its checksum is %s); did two uploads of this path cross?", got)
}

// refusal is an answer of the store.
type refusal struct {
	host      string
	status    int
	answer    string
	elsewhere string // the host of a redirect
}

func (r *refusal) redirects() bool { return r.status >= 300 && r.status < 400 }

// elsewhere is where a redirect leads; the rest of its address may be a secret.
func elsewhere(resp *http.Response) string {
	if to, err := resp.Location(); err == nil {
		return to.Host
	}
	return "another address"
}

func (r *refusal) Error() string {
	code := between(r.answer, "<Code>", "</Code>")
	if r.redirects() {
		return fmt.Sprintf("the store at %s did not take the file: it redirects to %s (%d %s). A proxy that asks people to log in, or a wrong region or address of the store, may be the reason",
			r.host, Clean(r.elsewhere), r.status, strings.TrimSpace(http.StatusText(r.status)+" "+code))
	}
	text := fmt.Sprintf("the store at %s refused the file: %d %s %s", r.host, r.status, http.StatusText(r.status), code)
	if r.status == http.StatusForbidden {
		text += ". The clock of this machine or a proxy that changes headers may be the reason"
	}
	return strings.TrimSpace(text)
}

// final is false where a fresh URL or another moment may help.
func (r *refusal) final() bool {
	return r.redirects() || r.status >= 400 && r.status < 500 && r.status != http.StatusForbidden && r.status != http.StatusRequestTimeout &&
		r.status != http.StatusTooManyRequests && !strings.Contains(r.answer, "BadDigest") && !strings.Contains(r.answer, "RequestTimeout")
}

func between(text, from, to string) string {
	_, after, found := strings.Cut(text, from)
	before, _, ok := strings.Cut(after, to)
	if !found || !ok {
		return ""
	}
	return Clean(before)
}
