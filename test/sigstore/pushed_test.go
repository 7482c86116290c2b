package sigstore

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	command "github.com/postflight-dev/postflight/cmd/postflight/attestation"

	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
)

type source []byte

func (s source) Attestation(context.Context, string) ([]byte, error) { return s, nil }

// TestPushed: cosign finds and verifies what "postflight attest --push" put beside an image.
func TestPushed(t *testing.T) {
	cosign := buildCosign(t)
	// The registry of go-containerregistry lists referrers by the type of their configuration, and not of the artifact; tags have both.
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	repository := strings.TrimPrefix(server.URL, "http://") + "/acme/shop"
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	reference := repository + "@" + digest.String()
	tag, err := name.NewTag(repository + ":v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, image); err != nil {
		t.Fatal(err)
	}
	s := signers(t)["ECDSA P-256"]
	o := &command.AttestOptions{
		Server: access.Server{Output: cli.Output{Console: &cli.Console{Out: io.Discard, Err: io.Discard}}},
		Push:   reference, Source: source(s.verdictOf(t, digest.Hex)),
	}
	if err := o.Run(t.Context(), "smoke-1"); err != nil {
		t.Fatal(err)
	}
	run := func(key string) (string, error) {
		cosign := exec.Command(cosign, "verify-attestation", "--key", key, "--new-bundle-format", "--insecure-ignore-tlog",
			"--allow-http-registry", "--type", attestation.PredicateType, reference)
		cosign.Env = append(os.Environ(), "HOME="+t.TempDir())
		var out bytes.Buffer
		cosign.Stdout, cosign.Stderr = &out, &out
		err := cosign.Run()
		return out.String(), err
	}
	if out, err := run(s.public); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run(signers(t)["ECDSA P-256"].public); err == nil {
		t.Errorf("another key verifies it: %s", out)
	}
}
