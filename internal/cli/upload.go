package cli

import (
	"bytes"
	"context"
	"crypto/md5" // what object stores check an upload by; SHA-256 is for people
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/fetch"
)

// Upload puts a file where runs can use it.
type Upload struct {
	Connection *client.Connection
	Console    *Console
	File       string // on this machine
	As         string // where to put it; the name of the file where empty
	Attempts   int
}

// uploaded is what -o json prints.
type uploaded struct {
	FileLocation           string `json:"fileLocation"`
	PlaygroundFileLocation string `json:"playgroundFileLocation"`
	Bytes                  int64  `json:"bytes"`
	SHA256                 string `json:"sha256"`
}

// checksums of a file. The store is told the MD5, and refuses what does not arrive as it was sent.
type checksums struct {
	md5, sha256 []byte
	size        int64
}

// Run uploads. A store takes a file as a whole or not at all, so that an attempt that broke off is
// begun again, with a fresh URL; what was there before stays until the last byte has arrived.
func (c *Upload) Run(ctx context.Context) error {
	file, err := os.Open(c.File)
	if err != nil {
		return Trouble(err)
	}
	defer file.Close()
	sums, err := c.sum(file)
	if err != nil {
		return Trouble(err)
	}
	as := c.As
	if as == "" {
		as = filepath.Base(c.File)
	}
	var signed *client.SignedURL
	for attempt := 1; ; attempt++ {
		if signed, err = c.Connection.SignUpload(ctx, as); err != nil {
			return Trouble(err)
		}
		err = c.put(ctx, file, sums, signed.SignedURL)
		if err == nil {
			break
		}
		var refused *refusal
		if ctx.Err() != nil || attempt >= c.Attempts || (errors.As(err, &refused) && refused.final()) {
			return Trouble(err)
		}
		c.Console.Note("The upload broke off (%v). Trying again, %d of %d.", err, attempt+1, c.Attempts)
		select {
		case <-ctx.Done():
			return Trouble(ctx.Err())
		case <-time.After(time.Duration(attempt) * time.Second):
		}
	}
	return c.tell(uploaded{signed.FileLocation, signed.PlaygroundFileLocation, sums.size, hex.EncodeToString(sums.sha256)})
}

func (c *Upload) tell(u uploaded) error {
	if c.Console.JSON {
		return Trouble(c.Console.WriteJSON(u))
	}
	c.Console.Note("Uploaded %d bytes, SHA-256 %s", u.Bytes, u.SHA256)
	fmt.Fprintln(c.Console.Out, u.FileLocation)
	return nil
}

func (c *Upload) sum(file *os.File) (checksums, error) {
	info, err := file.Stat()
	if err != nil {
		return checksums{}, err
	}
	if !info.Mode().IsRegular() {
		return checksums{}, fmt.Errorf("%s is not a file. To upload a folder, put it into a .zip", c.File)
	}
	m, s := md5.New(), sha256.New()
	size, err := io.Copy(io.MultiWriter(m, s), file)
	return checksums{m.Sum(nil), s.Sum(nil), size}, err
}

func (c *Upload) put(ctx context.Context, file io.ReadSeeker, sums checksums, address string) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	bar := c.bar(sums.size)
	defer func() { _ = bar.Close() }() // only for the eye
	// The body is cut to what was summed: a file that grows meanwhile is not uploaded in half.
	body := io.TeeReader(io.LimitReader(file, sums.size), bar)
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, address, io.NopCloser(body))
	if err != nil {
		return errors.New("the server gave a URL that cannot be used; ask its operator to check the store's address")
	}
	r.ContentLength = sums.size
	if sums.size == 0 {
		r.Body = http.NoBody
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sums.md5))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the URL, which is a secret
		}
		return fmt.Errorf("the store at %s: %w", r.URL.Host, err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if resp.StatusCode != http.StatusOK {
		return &refusal{host: r.URL.Host, status: resp.StatusCode, answer: string(answer)}
	}
	return sameContent(resp.Header, sums)
}

// sameContent compares with the store's own checksum, where it is one, for stores that pay no heed to
// Content-MD5. Encrypting stores have others, which may look like one.
func sameContent(header http.Header, sums checksums) error {
	got := strings.Trim(strings.TrimPrefix(header.Get("ETag"), "W/"), `"`)
	theirs, err := hex.DecodeString(got)
	if err != nil || len(theirs) != md5.Size || bytes.Equal(theirs, sums.md5) || !fetch.Plain(header) {
		return nil
	}
	return fmt.Errorf("the store holds something else than was sent (its checksum is %s); did two uploads of this path cross?", got)
}

// refusal is an answer of the store.
type refusal struct {
	host   string
	status int
	answer string
}

func (r *refusal) Error() string {
	code := between(r.answer, "<Code>", "</Code>")
	text := fmt.Sprintf("the store at %s refused the file: %d %s %s", r.host, r.status, http.StatusText(r.status), code)
	if r.status == http.StatusForbidden {
		text += ". The clock of this machine or a proxy that changes headers may be the reason"
	}
	return strings.TrimSpace(text)
}

// final is false where a fresh URL or another moment may help.
func (r *refusal) final() bool {
	return r.status >= 400 && r.status < 500 && r.status != http.StatusForbidden && r.status != http.StatusRequestTimeout &&
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

// bar is seen by people only.
func (c *Upload) bar(size int64) *progressbar.ProgressBar {
	if !c.Console.Live {
		return progressbar.DefaultBytesSilent(size)
	}
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(c.Console.Err), progressbar.OptionShowBytes(true), progressbar.OptionFullWidth(),
		progressbar.OptionSetDescription(Clean(filepath.Base(c.File))), progressbar.OptionThrottle(frameEvery),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(c.Console.Err) }))
}
