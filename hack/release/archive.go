package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type file struct {
	name    string
	mode    fs.FileMode
	content []byte
}

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
			files := []file{{"LICENSE", 0o644, license}, {p.executable(name), 0o755, program}}
			if err := writeArchive(r.path(r.archiveName(name, p)), r.Source.Date, files); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeArchive writes a .zip, or else a compressed tar archive. The same files make the same bytes.
func writeArchive(path string, modified time.Time, files []file) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if strings.HasSuffix(path, ".zip") {
		return writeZip(zip.NewWriter(out), modified, files)
	}
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(tar.NewWriter(compressed), modified, files), compressed.Close())
}

func writeTar(out *tar.Writer, modified time.Time, files []file) error {
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: modified, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(f.content); err != nil {
			return err
		}
	}
	return out.Close()
}

func writeZip(out *zip.Writer, modified time.Time, files []file) error {
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified}
		header.SetMode(f.mode)
		w, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	return out.Close()
}
