// Package attestation has the commands about signed verdicts: attest and verify.
package attestation

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// read reads a file, or standard input for "-", up to a limit.
func read(name string, stdin io.Reader, limit int64) ([]byte, error) {
	from := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		from = file
	}
	content, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return content, nil
}

// image names an image by its digest.
type image struct {
	repository string // with its registry; empty: only the digest is known
	digest     string // in hexadecimal digits
}

var errNoDigest = errors.New("name the image by its digest, such as registry.example.com/acme/shop@sha256:..., because a tag can be moved")

func parseImage(text string) (image, error) {
	name, digest, found := strings.Cut(text, "@")
	if !found {
		name, digest = "", text
	}
	hex, found := strings.CutPrefix(digest, "sha256:")
	if !found || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "" {
		return image{}, errNoDigest
	}
	if slash := strings.LastIndex(name, "/"); strings.Contains(name[slash+1:], ":") && slash >= 0 {
		name = name[:strings.LastIndex(name, ":")] // the tag says no more than the digest
	}
	return image{name, hex}, nil
}

// sentence says what a verdict is about, and what it lacks.
func sentence(s attestation.Statement, now time.Time) string {
	d := s.Details()
	text := fmt.Sprintf("%s: the run %s of the Trigger %s in %s ended as %s %s.", s.Predicate.Result, d.Run, d.Trigger, d.Environment, d.State,
		plaintext.Ago(d.EndedAt, now))
	if t := d.Tests; t != nil {
		text += fmt.Sprintf(" %s, %d failed", plaintext.Count(t.Tests, "test"), t.Failed)
		if t.Quarantined > 0 {
			text += fmt.Sprintf(", %d of these quarantined", t.Quarantined)
		}
		text += "."
	}
	if d.DecidedBy == "ExitCode" {
		text += " The exit code alone decided."
	}
	if d.OnlyFailedOf != "" {
		text += fmt.Sprintf(" It repeated only the failed tests of %s.", d.OnlyFailedOf)
	}
	return text
}
