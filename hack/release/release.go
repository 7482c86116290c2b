package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
