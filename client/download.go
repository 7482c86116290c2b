package client

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Destination is where to store a file.
type Destination struct {
	Dir       *os.Root  // nothing outside of it is written, whatever names and links there are
	Name      string    // below Dir, as the system writes it
	Overwrite bool      // what is there, unless it is a directory
	Progress  io.Writer // gets what arrives; may be nil
}

// Download stores a file of a run. It resumes broken connections and renews an expired URL. The file gets its name once it is complete.
func (c *Client) Download(ctx context.Context, run string, a Artifact, to Destination) error {
	if err := to.check(); err != nil {
		return err
	}
	folder := filepath.Dir(to.Name)
	if err := to.Dir.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	part := filepath.Join(folder, ".postflight-"+rand.Text())
	file, err := to.Dir.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	d := &download{client: c, run: run, artifact: a, file: file, progress: to.Progress}
	err = errors.Join(d.fetch(ctx), file.Close())
	if err == nil {
		err = to.check() // another file may have come meanwhile
	}
	if err == nil {
		err = to.Dir.Rename(part, to.Name)
	}
	if err != nil {
		_ = to.Dir.Remove(part) // the first error matters more
	}
	return err
}

// check returns an error if the name is taken.
func (to Destination) check() error {
	_, err := to.Dir.Lstat(to.Name)
	switch {
	case to.Overwrite, errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	default:
		return &fs.PathError{Op: "create", Path: to.Name, Err: fs.ErrExist}
	}
}
