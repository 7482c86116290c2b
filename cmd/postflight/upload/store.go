package upload

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
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/pod/fetch"
	"github.com/postflight-dev/postflight/internal/transfer"
)

const (
	// stallAfter ends an upload when the store takes no more data.
	stallAfter = time.Minute

	// answerAfter is how long the store may take to answer once it has the whole file: the store, or a proxy
	// in front of it, may write the file first.
	answerAfter = 2 * time.Minute
)

// storeClient follows no redirect: a redirected PUT becomes a GET, and the login page of a proxy would look
// like a successful upload.
var storeClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// put sends the file, and checks that the store received it.
func (o *Options) put(ctx context.Context, file *os.File, sums checksums, address string) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	bar := o.Console.BytesBar(sums.size, filepath.Base(o.File))
	defer func() { _ = bar.Close() }() // a failed redraw does no harm
	// If the file grows meanwhile, only what the checksums cover is sent.
	body := io.TeeReader(io.LimitReader(file, sums.size), bar)
	r, err := putRequest(ctx, address, body, sums)
	if err != nil {
		return err
	}
	return o.exchange(r, sums)
}

func putRequest(ctx context.Context, address string, body io.Reader, sums checksums) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, address, io.NopCloser(body))
	if err != nil {
		return nil, errors.New("the server sent an invalid URL; ask its operator to check the address of the store")
	}
	r.ContentLength = sums.size
	if sums.size == 0 {
		r.Body = http.NoBody
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sums.md5))
	return r, nil
}

// exchange sends the request and checks the answer. It fails when no data moves: otherwise a store that hangs
// would block the pipeline until it is killed.
func (o *Options) exchange(r *http.Request, sums checksums) error {
	watched := transfer.NewStall(r.Context(), cmp.Or(o.StallAfter, stallAfter), errStalled)
	defer watched.End()
	r = r.WithContext(watched)
	if r.Body != http.NoBody {
		r.Body = &observedBody{r.Body, func(err error) {
			if err == nil {
				watched.Moved()
			} else { // the whole body was read
				watched.Allow(cmp.Or(o.AnswerAfter, answerAfter))
			}
		}}
	}
	resp, err := storeClient.Do(r)
	if err != nil {
		return fmt.Errorf("the store at %s: %w", r.URL.Host, transfer.WithoutURL(watched.Reason(err)))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return &refusal{host: r.URL.Host, status: resp.StatusCode, answer: string(answer), redirect: redirectHost(resp)}
	}
	return sameContent(resp.Header, sums)
}

var errStalled = errors.New("it takes no more data and does not answer")

// observedBody calls a function after each read of a body.
type observedBody struct {
	io.ReadCloser
	read func(error)
}

func (o *observedBody) Read(b []byte) (int, error) {
	n, err := o.ReadCloser.Read(b)
	o.read(err)
	return n, err
}

// sameContent compares the MD5 with the ETag, because some stores ignore Content-MD5. Stores that encrypt have
// other ETags, which may look like an MD5.
func sameContent(header http.Header, sums checksums) error {
	got := fetch.ETag(header)
	theirs, err := hex.DecodeString(got)
	if err != nil || len(theirs) != md5.Size || bytes.Equal(theirs, sums.md5) || !fetch.ETagIsMD5(header) {
		return nil
	}
	return fmt.Errorf("the store holds something else than what was sent (its checksum is %s). "+
		"Was another file uploaded to this path at the same time?", got)
}

// refusal is an answer of the store.
type refusal struct {
	host     string
	status   int
	answer   string
	redirect string // host
}

func (r *refusal) redirects() bool { return r.status >= 300 && r.status < 400 }

// redirectHost leaves out the rest of the address, which may be a secret.
func redirectHost(resp *http.Response) string {
	if to, err := resp.Location(); err == nil {
		return to.Host
	}
	return "another address"
}

func (r *refusal) Error() string {
	code := between(r.answer, "<Code>", "</Code>")
	if r.redirects() {
		return fmt.Sprintf("the store at %s did not take the file: it redirects to %s (%d %s). "+
			"A proxy that asks people to log in, or a wrong region or address of the store, may be the reason",
			r.host, cli.Clean(r.redirect), r.status, strings.TrimSpace(http.StatusText(r.status)+" "+code))
	}
	text := fmt.Sprintf("the store at %s refused the file: %d %s %s", r.host, r.status, http.StatusText(r.status), code)
	if r.status == http.StatusForbidden {
		text += ". The clock of this machine or a proxy that changes headers may be the reason"
	}
	return strings.TrimSpace(text)
}

// final reports whether another attempt with a fresh URL is pointless.
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
	return cli.Clean(before)
}
