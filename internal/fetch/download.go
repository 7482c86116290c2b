package fetch

import (
	"crypto/md5" // #nosec -- the ETag of most objects is one; it detects damage, not attacks
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/postflight-dev/postflight/internal/job"
)

const (
	// Containers with any user id may read the files.
	fileMode   = 0o644
	folderMode = 0o755

	// partial is the suffix of a file that is not complete.
	partial = ".partial"
)

// download is one file. All names are resolved within the root, so that no link leads out of it.
type download struct {
	root      *os.Root
	file      job.File
	out       *os.File
	offset    int64     // bytes that are written
	sum       hash.Hash // of these bytes
	etagIsMD5 bool      // as far as the store says
	damaged   bool      // it once had another checksum
	progress  *progress
}

// open continues what an earlier attempt left, even that of a container that was killed.
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
	if file.ETag == "" && d.offset > 0 { // the rest may be of another file
		return d, d.restart()
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

func (d *download) restart() error {
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
	if err != nil {
		return n, &Error{Kind: Local, Path: d.file.Path, Text: "cannot be written: " + cause(err) + "."}
	}
	return n, nil
}

// check compares the whole file with what is known of it.
func (d *download) check() error {
	if d.file.Size > 0 && d.offset != d.file.Size {
		text := fmt.Sprintf("has %d bytes or more, and had %d when the run started. Notify again.", d.offset, d.file.Size)
		return &Error{Kind: Changed, Path: d.file.Path, Text: text}
	}
	sum := hex.EncodeToString(d.sum.Sum(nil))
	if !d.hasMD5() || strings.EqualFold(sum, d.file.ETag) {
		return nil
	}
	if !d.damaged { // maybe by the network, or on this disk
		d.damaged = true
		return d.restartLater("sent bytes that do not have the checksum of the file")
	}
	text := fmt.Sprintf("does not have its checksum (MD5 %s, not %s), twice in a row. Upload it again, and notify again.", sum, d.file.ETag)
	return &Error{Kind: Changed, Path: d.file.Path, Text: text}
}

// hasMD5 reports whether the ETag is an MD5. That of objects that were uploaded in parts has another form.
func (d *download) hasMD5() bool {
	digest, err := hex.DecodeString(d.file.ETag)
	return err == nil && len(digest) == md5.Size && d.etagIsMD5
}

// finish gives the file its name, which no incomplete file has.
func (d *download) finish() error {
	err := errors.Join(d.out.Chmod(fileMode), d.out.Sync(), d.root.Rename(d.file.Path+partial, d.file.Path))
	if err == nil {
		d.progress.done(d.offset)
	}
	return d.localError(err)
}

func (d *download) close() { d.out.Close() }

// cause is the error of the system, without the path in the pod.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
