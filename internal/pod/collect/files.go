package collect

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/junit"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
)

type file struct {
	path   string // below the directory, with slashes
	bytes  int64
	report bool // in JUnit XML
}

// find lists the regular files of a directory by path, and counts what is unread and may hold reports. It follows no links.
func find(root *os.Root, lost *losses) (files []file, unread int32) {
	entries := 0
	_ = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if entries++; entries > maxEntries {
			lost.add(path, "beyond the first 100,000 names in the results directory")
			unread++
			return fs.SkipAll
		}
		f, reason := look(path, entry, err)
		if reason != "" && (err != nil || junit.IsReport(path)) {
			unread++
		}
		switch {
		case reason != "":
			lost.add(path, reason)
		case f != nil:
			files = append(files, *f)
		}
		return nil // a folder that cannot be read has no entries
	})
	return files, unread
}

// look returns the file of an entry, nil for a folder, or the reason why it is not kept.
func look(path string, entry fs.DirEntry, err error) (f *file, reason string) {
	if err != nil {
		return nil, cannotRead(err)
	}
	if entry.IsDir() {
		return nil, ""
	}
	if !entry.Type().IsRegular() {
		return nil, "a link or a special file"
	}
	if err := inputpath.Check(path); err != nil {
		return nil, "the path " + err.Error()
	}
	info, err := entry.Info()
	if err != nil {
		return nil, cannotRead(err)
	}
	return &file{path: path, bytes: info.Size()}, ""
}

// cannotRead describes an error without the paths in it.
func cannotRead(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "not readable by the user of the collector (permission denied)"
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		return "not readable (" + number.Error() + ")"
	}
	return "not readable"
}

// open opens a file only if it is still a regular one. It never blocks.
func (f file) open(root *os.Root) (*os.File, int64, error) {
	file, err := root.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("no regular file")
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// choose returns the files to keep in the order of upload: reports, then small before large, so that most are there if time runs out.
// The manager applies the limits to all pods of the run together.
func choose(files []file, lost *losses) []file {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int {
		return cmp.Or(reportFirst(a, b), cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.path, b.path))
	})
	var kept []file
	var total int64
	for _, f := range files {
		switch {
		case f.bytes > record.MaxArtifactBytes:
			lost.add(f.path, "larger than 1 GiB")
		case len(kept) == record.MaxArtifacts:
			lost.add(f.path, "beyond the 1,000 files that are kept of a run")
		case total+f.bytes > record.MaxRunBytes:
			lost.add(f.path, "beyond the 2 GiB that are kept of a run")
		default:
			kept = append(kept, f)
			total += f.bytes
		}
	}
	return kept
}

func reportFirst(a, b file) int {
	switch {
	case a.report == b.report:
		return 0
	case a.report:
		return -1
	default:
		return 1
	}
}
