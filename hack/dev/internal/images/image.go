// Package images has the images of the development cluster, and loads them into its node.
package images

import (
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/postflight-dev/postflight/hack/dev/image"
)

// Image is a container image with a name.
type Image struct {
	image.Image
	Ref string // with the registry's host, as containerd stores it: docker.io/postflight/x:dev
}

// Save writes the image as a tarball, in the format of docker save, and returns its digest.
func (i Image) Save(path string) (digest string, err error) {
	built, err := i.Build(runtime.GOARCH, image.Uncompressed)
	if err != nil {
		return "", err
	}
	hash, err := built.Digest()
	if err != nil {
		return "", err
	}
	tag, err := name.NewTag(i.Ref)
	if err != nil {
		return "", err
	}
	return hash.String(), tarball.WriteToFile(path, tag, built)
}
