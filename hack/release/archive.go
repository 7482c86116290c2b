package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/image"
)

// cliNames are the names of the command line: by itself, and as a plugin of kubectl.
var cliNames = []string{"postflight", "kubectl-postflight"}

func (r release) archiveName(name string, p platform) string {
	extension := ".tar.gz"
	if p.OS == "windows" {
		extension = ".zip"
	}
	return name + "_" + r.Version + "_" + p.String() + extension
}

func (r release) writeArchives(work string) error {
	license, err := os.ReadFile(filepath.Join(r.Root, "LICENSE"))
	if err != nil {
		return err
	}
	for _, p := range r.Platforms {
		program, err := os.ReadFile(filepath.Join(work, p.String(), p.executable("postflight")))
		if err != nil {
			return err
		}
		for _, name := range cliNames {
			files := fstest.MapFS{"LICENSE": {Data: license, Mode: 0o644}, p.executable(name): image.Executable(program)}
			if err := writeArchive(r.path(r.archiveName(name, p)), r.Source.Date, files); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeArchive writes a .zip, or else a compressed tar archive. The same files make the same bytes. A folder that is not among the files
// would be read-only where the archive is unpacked.
func writeArchive(path string, modified time.Time, files fstest.MapFS) (err error) {
	for _, f := range files {
		f.ModTime = modified
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if strings.HasSuffix(path, ".zip") {
		archive := zip.NewWriter(out)
		return errors.Join(archive.AddFS(files), archive.Close())
	}
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	return errors.Join(archive.AddFS(files), archive.Close(), compressed.Close())
}
