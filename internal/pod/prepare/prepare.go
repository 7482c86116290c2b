package prepare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// List says what to put where.
type List struct {
	Directory string
	Program   string // the name of the copy of the program; empty: none
	Files     []File
}

// File is a file to write.
type File struct {
	Name    string
	Content []byte
}

// ReadList reads the environment that job.WithPrepared makes.
func ReadList(lookup func(string) (string, bool)) (l List, err error) {
	l.Directory, _ = lookup(job.PrepareDirectoryVariable)
	l.Program, _ = lookup(job.PrepareProgramVariable)
	if !filepath.IsAbs(l.Directory) {
		return l, fmt.Errorf("$%s must be an absolute path", job.PrepareDirectoryVariable)
	}
	if l.Program != "" && !isName(l.Program) {
		return l, fmt.Errorf("$%s must be a name without a folder", job.PrepareProgramVariable)
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%d", job.PrepareFileVariable, i)
		text, ok := lookup(name)
		if !ok {
			return l, nil
		}
		var packed job.PackedFile
		if err := json.Unmarshal([]byte(text), &packed); err != nil || !isName(packed.Name) {
			return l, fmt.Errorf("$%s must be JSON with a name without a folder, and a content", name)
		}
		content, err := packed.Unpack()
		if err != nil {
			return l, fmt.Errorf("the content of $%s cannot be read: %w", name, err)
		}
		l.Files = append(l.Files, File{packed.Name, content})
	}
}

func isName(name string) bool {
	return filepath.IsLocal(name) && filepath.Base(name) == name && name != "."
}

// Prepare writes the files, and copies the program. It replaces what another attempt has left.
func Prepare(l List, program string) error {
	root, err := os.OpenRoot(l.Directory)
	if err != nil {
		return fmt.Errorf("the directory for the tests cannot be opened: %w", cause(err))
	}
	defer func() { _ = root.Close() }()
	for _, f := range l.Files {
		if err := write(root, f.Name, 0o444, func(to io.Writer) error { _, err := to.Write(f.Content); return err }); err != nil {
			return err
		}
	}
	if l.Program == "" {
		return nil
	}
	return write(root, l.Program, 0o555, func(to io.Writer) error {
		from, err := os.Open(program)
		if err != nil {
			return err
		}
		defer from.Close()
		_, err = io.Copy(to, from)
		return err
	})
}

// write replaces a file only once the new one is whole.
func write(root *os.Root, name string, mode os.FileMode, content func(io.Writer) error) error {
	part := name + ".part"
	_ = root.Remove(part)
	file, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		err = errors.Join(content(file), file.Chmod(mode), file.Close()) // whatever the umask is
	}
	if err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		return fmt.Errorf("%q cannot be written for the tests: %w", name, cause(err))
	}
	return nil
}

// cause omits the path of the init container, which tells readers of a status nothing.
func cause(err error) error {
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return failed.Err
	}
	return err
}
