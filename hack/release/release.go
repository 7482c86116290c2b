package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

const (
	repository   = "https://github.com/postflight-dev/postflight"
	defaultImage = "ghcr.io/postflight-dev/postflight"
	imageFolder  = "image" // of the output: an OCI layout
)

var imageArchitectures = []string{"amd64", "arm64"}

// release is what to build. With the same Go, it has the same bytes wherever and whenever it is built.
type release struct {
	Root    string // the checkout
	Output  string
	Version string // such as v1.2.3
	Image   string // repository, without tag
	Source  source
	FIPS140 string // version of Go's cryptographic module, such as v1.0.0; off: the toolchain's, not in FIPS mode

	Architectures []string // of the image
	Platforms     []platform
}

type built struct {
	Image                string // digest
	Compressed, Unpacked int64  // bytes of the largest image
	Checksum             string // of the file with the checksums of all files
}

func (r release) check() error {
	if !semver.IsValid(r.Version) || semver.Canonical(r.Version) != r.Version {
		return fmt.Errorf("%q is not a version such as v1.2.3", r.Version)
	}
	if len(r.Architectures) == 0 || len(r.Platforms) == 0 {
		return errors.New("there is nothing to build for")
	}
	return nil
}

// build writes all files of the release into the output.
func (r release) build(ctx context.Context) (result built, err error) {
	if err := r.check(); err != nil {
		return result, err
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := r.clearOutput(); err != nil {
		return result, err
	}
	if err := r.compileAll(ctx, work); err != nil {
		return result, err
	}
	images, err := r.buildImages(work)
	if err != nil {
		return result, err
	}
	for _, write := range []func() error{
		func() error { return r.writeArchives(work) },
		func() error { return r.writeManifests(images.digest) },
		r.writeKrew,
		func() error { return r.writeNotes(images.digest) },
	} {
		if err := write(); err != nil {
			return result, err
		}
	}
	if err := r.attest(images); err != nil {
		return result, err
	}
	result.Image = images.digest.String()
	result.Compressed, result.Unpacked = images.compressed, images.unpacked
	result.Checksum, err = r.writeChecksums()
	return result, err
}

// clearOutput deletes the previous release, but nothing else.
func (r release) clearOutput() error {
	entries, err := os.ReadDir(r.Output)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(r.path(imageFolder)); len(entries) > 0 && err != nil {
		return fmt.Errorf("%s has files, but no release: choose another folder", r.Output)
	}
	return errors.Join(os.RemoveAll(r.Output), os.MkdirAll(r.Output, 0o755))
}

func (r release) path(name string) string { return filepath.Join(r.Output, name) }

const checksumsName = "checksums.txt"

// writeChecksums writes checksums.txt, and returns the hash of that. The image's index covers the rest of the image.
func (r release) writeChecksums() (string, error) {
	entries, err := os.ReadDir(r.Output)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() {
			name += "/index.json"
		}
		sum, err := sha256File(r.path(name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	if err := os.WriteFile(r.path(checksumsName), []byte(b.String()), 0o644); err != nil {
		return "", err
	}
	return sha256File(r.path(checksumsName))
}

func sha256File(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
