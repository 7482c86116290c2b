// Package image builds container images from files, without a registry or Docker. The same files make the same digest.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// User runs our images. It is numeric, so that the kubelet can check runAsNonRoot.
const User = "65532:65532"

// Programs are the binaries of the image of Postflight, each in a layer of its own. The first is the entrypoint.
var Programs = []string{"manager", "postflight", "collect"}

// passwd holds the users that busybox looks up.
const passwd = "root:x:0:0:root:/:/bin/sh\nnonroot:x:65532:65532:nonroot:/tmp:/bin/sh\n"

// Image is a container image for Linux.
type Image struct {
	Files  fstest.MapFS
	Layers []fstest.MapFS // above the files
	Config v1.Config
}

// Executable is a program in an image.
func Executable(content []byte) *fstest.MapFile { return &fstest.MapFile{Data: content, Mode: 0o755} }

// Link is a symbolic link in an image.
func Link(target string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
}

// Base is an image without programs. Those in the folder are on its PATH.
func Base(folder string) Image {
	return Image{
		Files: fstest.MapFS{
			"bin":        {Mode: fs.ModeDir | 0o755},
			"etc":        {Mode: fs.ModeDir | 0o755},
			"etc/passwd": {Mode: 0o644, Data: []byte(passwd)},
			"etc/group":  {Mode: 0o644, Data: []byte("root:x:0:\nnonroot:x:65532:\n")},
			"tmp":        {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		},
		Config: v1.Config{User: User, WorkingDir: "/tmp", Env: []string{"PATH=" + filepath.Join("/", folder), "HOME=/tmp"}},
	}
}

// Program is an image of static binaries, each in its own layer, the first as the entrypoint.
func Program(binaries ...string) (Image, error) {
	image := Base(".")
	for _, path := range binaries {
		content, err := os.ReadFile(path)
		if err != nil {
			return Image{}, err
		}
		image.Layers = append(image.Layers, fstest.MapFS{filepath.Base(path): Executable(content)})
	}
	image.Config.Entrypoint = []string{"/" + filepath.Base(binaries[0])}
	return image, nil
}

// Build makes the image for an architecture.
func (i Image) Build(architecture string, newLayer func(tarball []byte) (v1.Layer, error)) (v1.Image, error) {
	var layers []v1.Layer
	for _, files := range append([]fstest.MapFS{i.Files}, i.Layers...) {
		archive, err := archive(files)
		if err != nil {
			return nil, err
		}
		layer, err := newLayer(archive)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", architecture, i.Config
	return mutate.ConfigFile(image, file)
}

func archive(files fstest.MapFS) ([]byte, error) {
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	if err := out.AddFS(files); err != nil {
		return nil, err
	}
	err := out.Close()
	return b.Bytes(), err
}

// Uncompressed is a layer that stays on this machine.
func Uncompressed(archive []byte) (v1.Layer, error) {
	return static.NewLayer(archive, types.DockerUncompressedLayer), nil
}

// Compressed is a layer that others pull.
func Compressed(archive []byte) (v1.Layer, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
}
