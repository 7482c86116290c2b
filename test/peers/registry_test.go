package peers

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	pathpkg "path"
	"strconv"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/record/attestation"
)

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	emptyType    = "application/vnd.oci.empty.v1+json"
)

// registry serves one repository with one image, and the bundles that refer to it.
type registry struct {
	host      string
	digest    string // of the image, in hex
	blobs     map[string][]byte
	referrers []object
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{blobs: map[string][]byte{}}
	manifest := encode(t, object{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": r.blob("application/vnd.oci.image.config.v1+json", []byte(`{"architecture":"amd64","os":"linux","config":{}}`)),
		"layers": []object{r.blob("application/vnd.oci.image.layer.v1.tar+gzip", []byte("layer"))},
	})
	r.digest = strings.TrimPrefix(r.blob(manifestType, manifest)["digest"].(string), "sha256:")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.serve(t, w, req) }))
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	return r
}

// image names the image by its digest.
func (r *registry) image() string { return r.host + "/shop@sha256:" + r.digest }

// blob stores content, and returns its descriptor.
func (r *registry) blob(mediaType string, content []byte) object {
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.blobs[digest] = content
	return object{"mediaType": mediaType, "digest": digest, "size": len(content)}
}

// attach adds a bundle as `postflight attest --push` does.
func (r *registry) attach(t *testing.T, bundle []byte) {
	t.Helper()
	subject := object{"mediaType": manifestType, "digest": "sha256:" + r.digest, "size": len(r.blobs["sha256:"+r.digest])}
	annotations := object{"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": attestation.PredicateType}
	descriptor := r.blob(manifestType, encode(t, object{
		"schemaVersion": 2, "mediaType": manifestType, "artifactType": attestation.BundleType, "config": r.blob(emptyType, []byte("{}")),
		"layers": []object{r.blob(attestation.BundleType, bundle)}, "subject": subject, "annotations": annotations,
	}))
	descriptor["artifactType"], descriptor["annotations"] = attestation.BundleType, annotations
	r.referrers = append(r.referrers, descriptor)
}

func (r *registry) serve(t *testing.T, w http.ResponseWriter, req *http.Request) {
	kind, reference := pathpkg.Base(pathpkg.Dir(req.URL.Path)), pathpkg.Base(req.URL.Path)
	content, found := r.blobs[reference]
	mediaType := "application/octet-stream"
	switch {
	case req.URL.Path == "/v2/":
		content, found = []byte("{}"), true
	case kind == "manifests":
		mediaType = manifestType
	case kind == "referrers":
		mediaType = "application/vnd.oci.image.index.v1+json"
		index := object{"schemaVersion": 2, "mediaType": mediaType, "manifests": []object{}}
		if reference == "sha256:"+r.digest && len(r.referrers) > 0 {
			index["manifests"] = r.referrers
		}
		content, found = encode(t, index), true
	}
	if !found {
		http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", reference)
	if req.Method != http.MethodHead {
		_, _ = w.Write(content)
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	}
}
