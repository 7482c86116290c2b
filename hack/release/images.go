package main

import (
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/postflight-dev/postflight/hack/dev/image"
)

// refName is the annotation of an OCI layout with a tag.
const refName = "org.opencontainers.image.ref.name"

// images are the image of all architectures, as an OCI layout.
type images struct {
	layout               layout.Path
	index                v1.Descriptor
	digest               v1.Hash // of the index
	platforms            []platformImage
	compressed, unpacked int64 // bytes of the largest
}

type platformImage struct {
	architecture string
	descriptor   v1.Descriptor
	binaries     []string // paths
}

func (r release) buildImages(work string) (result images, err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range r.Architectures {
		one := platformImage{architecture: architecture, binaries: binaries(work, architecture)}
		built, err := r.buildImage(one)
		if err != nil {
			return result, err
		}
		descriptor, err := partial.Descriptor(built)
		if err != nil {
			return result, err
		}
		descriptor.Platform = &v1.Platform{OS: "linux", Architecture: architecture}
		one.descriptor = *descriptor
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: built, Descriptor: *descriptor})
		result.platforms = append(result.platforms, one)
		if err := result.measure(built); err != nil {
			return result, err
		}
	}
	index = mutate.Annotations(index, r.annotations()).(v1.ImageIndex)
	descriptor, err := partial.Descriptor(index)
	if err != nil {
		return result, err
	}
	result.index, result.digest = *descriptor, descriptor.Digest
	if result.layout, err = layout.Write(r.path(imageFolder), empty.Index); err != nil {
		return result, err
	}
	return result, result.layout.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: r.Version}))
}

func (r release) annotations() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":    "Postflight",
		prefix + "version":  r.Version,
		prefix + "revision": r.Source.Commit,
		prefix + "created":  r.Source.Date.Format(time.RFC3339),
		prefix + "source":   repository,
		prefix + "licenses": "Apache-2.0",
	}
}

func (r release) buildImage(p platformImage) (v1.Image, error) {
	program, err := image.Program(p.binaries...)
	if err != nil {
		return nil, err
	}
	program.Config.Labels = r.annotations()
	built, err := program.Build(p.architecture, image.Compressed)
	if err != nil {
		return nil, err
	}
	built, err = mutate.CreatedAt(built, v1.Time{Time: r.Source.Date})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigMediaType(mutate.MediaType(built, types.OCIManifestSchema1), types.OCIConfigJSON), nil
}

func (i *images) measure(built v1.Image) error {
	layers, err := built.Layers()
	if err != nil {
		return err
	}
	var compressed, unpacked int64
	for _, layer := range layers {
		size, err := layer.Size()
		if err != nil {
			return err
		}
		full, err := partial.UncompressedSize(layer)
		if err != nil {
			return err
		}
		compressed, unpacked = compressed+size, unpacked+full
	}
	i.compressed, i.unpacked = max(i.compressed, compressed), max(i.unpacked, unpacked)
	return nil
}

// reference names the image by tag and digest: the tag is readable, and the digest cannot be moved to another image.
func (r release) reference(digest v1.Hash) string {
	return r.Image + ":" + r.Version + "@" + digest.String()
}

func (r release) sbomName(architecture string) string {
	return path.Base(r.Image) + "-image_" + r.Version + "_linux_" + architecture + ".spdx.json"
}
