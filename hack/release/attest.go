package main

import (
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Media types of what refers to the image.
const (
	spdxType   = types.MediaType("application/spdx+json")
	inTotoType = types.MediaType("application/vnd.in-toto+json")
)

const provenanceName = "provenance.json"

// attest writes bills of materials and provenance, as files and as referrers of the image. All other files must exist.
func (r release) attest(images images) error {
	for _, one := range images.platforms {
		document, err := r.sbom(one)
		if err != nil {
			return fmt.Errorf("bill of materials: %w", err)
		}
		if err := r.writeReferrer(images, one.descriptor, spdxType, r.sbomName(one.architecture), document); err != nil {
			return err
		}
	}
	statement, err := r.provenance(images)
	if err != nil {
		return fmt.Errorf("provenance: %w", err)
	}
	return r.writeReferrer(images, images.index, inTotoType, provenanceName, statement)
}

// writeReferrer writes a file, and adds it to the layout as an artifact about a subject.
func (r release) writeReferrer(images images, subject v1.Descriptor, kind types.MediaType, name string, content []byte) error {
	if err := os.WriteFile(r.path(name), content, 0o644); err != nil {
		return err
	}
	artifact, err := referrer(subject, kind, name, content)
	if err != nil {
		return err
	}
	descriptor, err := partial.Descriptor(artifact)
	if err != nil {
		return err
	}
	descriptor.ArtifactType = string(kind)
	if err := images.layout.WriteImage(artifact); err != nil {
		return err
	}
	return images.layout.AppendDescriptor(*descriptor)
}

func referrer(subject v1.Descriptor, kind types.MediaType, name string, content []byte) (v1.Image, error) {
	artifact := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), kind)
	artifact, err := mutate.Append(artifact, mutate.Addendum{
		Layer:       static.NewLayer(content, kind),
		Annotations: map[string]string{"org.opencontainers.image.title": name},
		MediaType:   kind,
	})
	if err != nil {
		return nil, err
	}
	subject.Platform = nil
	return mutate.Subject(artifact, subject).(v1.Image), nil
}
