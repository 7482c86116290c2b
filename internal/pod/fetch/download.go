package fetch

import (
	"crypto/md5" // #nosec -- the ETag of most objects; it detects damage, not attacks
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/run/job"
)

const (
	// Containers may run as any user, and all must be able to read the files.
	fileMode   = 0o644
	folderMode = 0o755

	// partial is the suffix of incomplete files.
	partial = ".partial"
)

// download is one file that is being fetched. Names are resolved within the root, so that no link leads out of it.
type download struct {
	root      *os.Root
	file      job.File
	out       *os.File
	offset    int64     // bytes written
	sum       hash.Hash // of these bytes
	etagIsMD5 bool      // see ETagIsMD5
	mismatch  bool      // the complete file has had a wrong checksum before
	progress  *progress
}

// open continues what an earlier attempt left, even in a container that was killed.
func open(root *os.Root, file job.File) (*download, error) {
	if err := makeFolders(root, path.Dir(file.Path)); err != nil {
		return nil, err
	}
	out, err := root.OpenFile(file.Path+partial, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	d := &download{root: root, file: file, out: out, sum: md5.New(), etagIsMD5: true}
	if d.offset, err = io.CopyBuffer(d.sum, struct{ io.Reader }{out}, make([]byte, bufferBytes)); err != nil {
		out.Close()
		return nil, err
	}
	if file.ETag == "" && d.offset > 0 { // the object may have changed since
		return d, d.truncate()
	}
	return d, nil
}

// makeFolders sets the mode of each folder, whatever the umask is.
func makeFolders(root *os.Root, folder string) error {
	if folder == "." {
		return nil
	}
	var made string
	for segment := range strings.SplitSeq(folder, "/") {
		made = path.Join(made, segment)
		err := root.Mkdir(made, folderMode)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return err
		}
		if err := root.Chmod(made, folderMode); err != nil {
			return err
		}
	}
	return nil
}

func (d *download) truncate() error {
	d.offset = 0
	d.sum.Reset()
	if _, err := d.out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return d.out.Truncate(0)
}

func (d *download) Write(b []byte) (int, error) {
	n, err := d.out.Write(b)
	d.offset += int64(n)
	d.sum.Write(b[:n])
	d.progress.at(d.offset)
	return n, d.local(err)
}

// check compares the size and the checksum.
func (d *download) check() error {
	if d.file.Size > 0 && d.offset != d.file.Size {
		return d.fail(Changed, "has %d bytes or more, and had %d when the run started. Notify again.", d.offset, d.file.Size)
	}
	sum := hex.EncodeToString(d.sum.Sum(nil))
	if !d.hasMD5() || strings.EqualFold(sum, d.file.ETag) {
		return nil
	}
	if !d.mismatch { // it may have been damaged in transit or on this disk
		d.mismatch = true
		return d.restart("sent bytes that do not have the checksum of the file")
	}
	return d.fail(Changed, "does not have its checksum (MD5 %s, not %s), twice in a row. Upload it again, and notify again.", sum, d.file.ETag)
}

// hasMD5 reports whether the ETag is the MD5 of the file; it is not after a multipart upload.
func (d *download) hasMD5() bool {
	digest, err := hex.DecodeString(d.file.ETag)
	return err == nil && len(digest) == md5.Size && d.etagIsMD5
}

// finish gives the file its final name, so that a file of that name is always complete.
func (d *download) finish() error {
	err := errors.Join(d.out.Chmod(fileMode), d.out.Sync(), d.root.Rename(d.file.Path+partial, d.file.Path))
	if err == nil {
		d.progress.done(d.offset)
	}
	return d.local(err)
}

func (d *download) fail(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Path: d.file.Path, Text: fmt.Sprintf(format, args...)}
}

// local returns the Error for one of the file system, or nil. It leaves out the path, which is internal to the pod.
func (d *download) local(err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return d.fail(Local, "cannot be written: %s.", err)
}

func (d *download) close() { d.out.Close() }
