// Package images builds container images out of files, without a registry and without Docker.
package images

import (
	"archive/tar"
	"bytes"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// User is the numeric user of all our images that need no rights; numeric, so that the kubelet can
// check runAsNonRoot.
const User = "65532:65532"

// File is an entry of an image: a file, a link (Link is set) or a folder (Mode has no file, Dir).
type File struct {
	Name    string
	Mode    int64
	Content []byte
	Link    string
	Dir     bool
}

// Image is what a tarball is made from. The same files make the same digest.
type Image struct {
	Ref    string // with registry host, as containerd stores it: docker.io/postflight/x:dev
	Files  []File
	Config v1.Config
}

// Build makes the image, of one uncompressed layer: it only travels from a folder into containerd.
func (i Image) Build() (v1.Image, error) {
	layer, err := i.layer()
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, static.NewLayer(layer, types.DockerUncompressedLayer))
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

func (i Image) layer() ([]byte, error) {
	var layer bytes.Buffer
	out := tar.NewWriter(&layer)
	for _, file := range i.Files {
		header := &tar.Header{Name: file.Name, Mode: file.Mode, Size: int64(len(file.Content)), Typeflag: tar.TypeReg}
		switch {
		case file.Dir:
			header.Typeflag = tar.TypeDir
		case file.Link != "":
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, file.Link, 0o777
		}
		if err := out.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := out.Write(file.Content); err != nil {
			return nil, err
		}
	}
	return layer.Bytes(), out.Close()
}

// Save writes the image as a tarball (the format of docker save) and returns its digest.
func (i Image) Save(path string) (digest string, err error) {
	image, err := i.Build()
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
