package attestation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/internal/core/text/version"
)

const (
	maxReferrers = 200      // bounds the bundles of an image that are read: as many as two Triggers sign in a hundred runs of it
	maxManifest  = 64 << 10 // bounds the manifest of a referrer, in bytes: ours have less than 1 KiB
)

// repositoryOf returns the repository of an image, with the credentials of "docker login". A registry on this machine speaks HTTP.
func repositoryOf(i image) (*remote.Repository, error) {
	r, err := remote.NewRepository(i.repository)
	if err != nil {
		return nil, err
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("the credentials of docker cannot be read: %w", err)
	}
	client := &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(store)}
	client.SetUserAgent(version.UserAgent("postflight"))
	r.Client, r.PlainHTTP = client, onThisMachine(r.Reference.Host())
	return r, nil
}

func onThisMachine(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// push puts a bundle beside an image, as cosign does. The same bundle has the same manifest.
func push(ctx context.Context, to image, s attestation.Statement, bundle []byte) (digest string, err error) {
	r, err := repositoryOf(to)
	if err != nil {
		return "", err
	}
	subject, err := r.Resolve(ctx, "sha256:"+to.digest)
	if err != nil {
		return "", err
	}
	layer := content.NewDescriptorFromBytes(attestation.BundleType, bundle)
	if err := r.Push(ctx, layer, bytes.NewReader(bundle)); err != nil && !errors.Is(err, errdef.ErrAlreadyExists) {
		return "", err
	}
	manifest, err := oras.PackManifest(ctx, r, oras.PackManifestVersion1_1, attestation.BundleType, oras.PackManifestOptions{
		Subject: &ocispec.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
		Layers:  []ocispec.Descriptor{layer},
		ManifestAnnotations: map[string]string{
			ocispec.AnnotationCreated:           s.Details().EndedAt.UTC().Format(time.RFC3339),
			"dev.sigstore.bundle.content":       "dsse-envelope",
			"dev.sigstore.bundle.predicateType": attestation.PredicateType,
		},
	})
	return manifest.Digest.String(), err
}

// pull returns the bundles beside an image.
func pull(ctx context.Context, of image) (bundles [][]byte, err error) {
	r, err := repositoryOf(of)
	if err != nil {
		return nil, err
	}
	subject, err := r.Resolve(ctx, "sha256:"+of.digest)
	if err != nil {
		return nil, err
	}
	var found []ocispec.Descriptor
	err = r.Referrers(ctx, subject, "", func(page []ocispec.Descriptor) error {
		for _, d := range page {
			if mayBeBundle(d) {
				found = append(found, d)
			}
		}
		if len(found) > maxReferrers {
			return fmt.Errorf("it has more than %d bundles. Name the files of those to verify", maxReferrers)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		bundle, err := fetch(ctx, r, d)
		if err != nil {
			return nil, err
		}
		if bundle != nil {
			bundles = append(bundles, bundle)
		}
	}
	return bundles, nil
}

// mayBeBundle also accepts what registries list that show the type of the configuration in place of the type of the artifact.
func mayBeBundle(d ocispec.Descriptor) bool {
	return d.ArtifactType == attestation.BundleType || d.ArtifactType == ocispec.MediaTypeEmptyJSON
}

// fetch returns nil for what is no bundle.
func fetch(ctx context.Context, r *remote.Repository, d ocispec.Descriptor) ([]byte, error) {
	if d.Size > maxManifest {
		return nil, fmt.Errorf("the manifest %s has %d bytes, and at most %d are read", d.Digest, d.Size, maxManifest)
	}
	text, err := content.FetchAll(ctx, r, d)
	if err != nil {
		return nil, err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, err
	}
	if manifest.ArtifactType != attestation.BundleType || len(manifest.Layers) != 1 {
		return nil, nil
	}
	layer := manifest.Layers[0]
	if layer.Size > attestation.MaxBundle {
		return nil, fmt.Errorf("a bundle beside the image has %d bytes, and at most %d are read", layer.Size, attestation.MaxBundle)
	}
	return content.FetchAll(ctx, r.Blobs(), layer)
}
