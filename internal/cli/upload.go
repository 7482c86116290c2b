package cli

import (
	"context"
	"crypto/md5" // what object stores check an upload by; SHA-256 is for people
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/postflight-dev/postflight/client"
)

// Upload puts a file where runs can use it.
type Upload struct {
	Connection *client.Client
	Console    *Console
	File       string // on this machine
	As         string // where to put it; the name of the file where empty
	Attempts   int

	stallAfter, answerAfter time.Duration // in tests
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
	sums, err := c.sum(ctx, file)
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

// until reads until the context is done.
type until struct {
	ctx context.Context
	io.Reader
}

func (u until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(b)
}

func (c *Upload) tell(u uploaded) error {
	if c.Console.JSON {
		return Trouble(c.Console.WriteJSON(u))
	}
	c.Console.Note("Uploaded %d bytes, SHA-256 %s", u.Bytes, u.SHA256)
	fmt.Fprintln(c.Console.Out, u.FileLocation)
	return nil
}

func (c *Upload) sum(ctx context.Context, file *os.File) (checksums, error) {
	info, err := file.Stat()
	if err != nil {
		return checksums{}, err
	}
	if !info.Mode().IsRegular() {
		return checksums{}, fmt.Errorf("%s is not a file. To upload a folder, put it into a .zip", c.File)
	}
	m, s := md5.New(), sha256.New()
	size, err := io.Copy(io.MultiWriter(m, s), until{ctx, file})
	return checksums{m.Sum(nil), s.Sum(nil), size}, err
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
