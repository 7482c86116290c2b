// Package images builds container images from files, without a registry and without Docker.
package images

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"runtime"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// User runs our images. It is numeric, so that the kubelet can check runAsNonRoot.
const User = "65532:65532"

// Image is a container image. The same files make the same digest.
type Image struct {
	Ref    string // with the registry's host, as containerd stores it: docker.io/postflight/x:dev
	Files  fstest.MapFS
	Layers []fstest.MapFS // above the files
	Config v1.Config
}

func executable(content []byte) *fstest.MapFile { return &fstest.MapFile{Data: content, Mode: 0o755} }

func link(target string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
}

// build makes the image. Layers are not compressed, because they stay on this machine.
func (i Image) build() (v1.Image, error) {
	var layers []v1.Layer
	for _, files := range append([]fstest.MapFS{i.Files}, i.Layers...) {
		layer, err := layer(files)
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
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, i.Config
	return mutate.ConfigFile(image, file)
}

func layer(files fstest.MapFS) (v1.Layer, error) {
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	if err := out.AddFS(files); err != nil {
		return nil, err
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	return static.NewLayer(b.Bytes(), types.DockerUncompressedLayer), nil
}

// Save writes the image as a tarball, in the format of docker save, and returns its digest.
func (i Image) Save(path string) (digest string, err error) {
	image, err := i.build()
	if err != nil {
		return "", err
	}
	hash, err := image.Digest()
	if err != nil {
		return "", err
	}
	tag, err := name.NewTag(i.Ref)
	if err != nil {
		return "", err
	}
	return hash.String(), tarball.WriteToFile(path, tag, image)
}
