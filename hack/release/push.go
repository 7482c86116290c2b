package main

import (
	"errors"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push copies an image and its referrers to a registry, and returns its name by digest. Registries without referrers list them under a tag.
func push(dist, reference string, options ...remote.Option) (string, error) {
	tag, err := name.NewTag(reference, name.StrictValidation)
	if err != nil {
		return "", err
	}
	content, err := layout.ImageIndexFromPath(filepath.Join(dist, imageFolder))
	if err != nil {
		return "", err
	}
	manifest, err := content.IndexManifest()
	if err != nil {
		return "", err
	}
	digest := ""
	for _, descriptor := range manifest.Manifests {
		if !descriptor.MediaType.IsIndex() {
			if err := pushReferrer(content, tag.Digest(descriptor.Digest.String()), descriptor.Digest, options); err != nil {
				return "", err
			}
			continue
		}
		index, err := content.ImageIndex(descriptor.Digest)
		if err != nil {
			return "", err
		}
		if err := remote.WriteIndex(tag, index, options...); err != nil {
			return "", err
		}
		digest = tag.Digest(descriptor.Digest.String()).String()
	}
	if digest == "" {
		return "", errors.New("there is no image in " + dist)
	}
	return digest, nil
}

func pushReferrer(content v1.ImageIndex, to name.Digest, digest v1.Hash, options []remote.Option) error {
	artifact, err := content.Image(digest)
	if err != nil {
		return err
	}
	return remote.Write(to, artifact, options...)
}
