package attestation

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/internal/signing/bundle"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// AttestOptions are the options of attest.
type AttestOptions struct {
	access.Server

	File string
	Push string

	Source interface {
		Attestation(ctx context.Context, id string) ([]byte, error)
	}
}

// NewAttest returns the command attest.
func NewAttest() *cobra.Command {
	o := &AttestOptions{}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:   "attest RUN",
		Short: "Get the signed verdict of a run, and put it beside an image",
		Long: `Gets the signed verdict of a run: an in-toto Statement with the test result, in a Sigstore bundle, which "postflight verify"
and cosign verify. The server signs runs that end as Passed, Failed or TimedOut, seconds after their end, if its operator has
configured a key. attest waits for that, up to two minutes.

--push puts the bundle beside an image, as an OCI referrer, with the credentials that "docker login" stored. The image must have been
under test: its digest is a subject of the verdict.

The exit code is 0, whatever the verdict is. To gate a deployment, use "postflight verify".`,
		Example: `  postflight attest smoke-3f9c2k7q5x0a1b2c --file verdict.sigstore.json

  # Beside the image, for the cluster that will run it
  postflight attest smoke-3f9c2k7q5x0a1b2c --push registry.example.com/acme/shop@sha256:5f1c...`,
		Args: cobra.ExactArgs(1),
		RunE: o.Command(func(ctx context.Context, args []string) error {
			o.Source = o.Client
			return o.Run(ctx, args[0])
		}),
	})
	cmd.Flags().StringVar(&o.File, "file", "", "write the bundle to this `file`; default without --push: standard output")
	cmd.Flags().StringVar(&o.Push, "push", "", "put the bundle beside this `IMAGE@sha256:...`")
	cmd.ValidArgsFunction = o.Complete(access.Runs)
	o.AddFlags(cmd)
	return cmd
}

// Run gets a bundle, and passes it on.
func (o *AttestOptions) Run(ctx context.Context, id string) error {
	var to image
	if o.Push != "" {
		var err error
		if to, err = parseImage(o.Push); err != nil {
			return fmt.Errorf("--push %q: %w", o.Push, err)
		}
		if to.repository == "" {
			return fmt.Errorf("--push %q: name the registry and the repository, too", o.Push)
		}
	}
	content, err := o.signed(ctx, id)
	if err != nil {
		return err
	}
	payload, err := bundle.Unverified(content, attestation.PayloadType)
	if err != nil {
		return fmt.Errorf("the server sent no signed verdict: %w", err)
	}
	s, err := attestation.Parse(payload)
	if err != nil {
		return err
	}
	if o.Push != "" && !s.About(attestation.SHA256, to.digest) {
		return fmt.Errorf("--push: sha256:%s was not under test from the start of the run %s to its end. %s", to.digest, id, imagesOf(s))
	}
	if o.File != "" {
		if err := os.WriteFile(o.File, content, 0o644); err != nil {
			return err
		}
		o.Console.Note("Wrote %s.", o.File)
	}
	if o.Push != "" {
		digest, err := push(ctx, to, s, content)
		if err != nil {
			return fmt.Errorf("put the verdict beside %s: %w", o.Push, err)
		}
		o.Console.Note("Put %s@%s beside the image.", to.repository, digest)
	}
	if o.File == "" && o.Push == "" {
		_, err := fmt.Fprintf(o.Console.Out, "%s\n", content)
		return err
	}
	return nil
}

// signingPatience is how long a run that has ended may take to be archived. Mostly it takes seconds.
const signingPatience = 2 * time.Minute

// signed waits for the signature of a run that has just ended, as in a pipeline that waited for it.
func (o *AttestOptions) signed(ctx context.Context, id string) (bundle []byte, err error) {
	err = transfer.Retry{
		Min: time.Second, Max: 5 * time.Second, Within: signingPatience,
		Retryable: func(err error) (bool, time.Duration) { return cli.FailureCode(err) == pendingCode, 0 },
	}.Do(ctx, func() (err error) {
		bundle, err = o.Source.Attestation(ctx, id)
		return err
	})
	return bundle, err
}

// The codes of the server.
const (
	missingCode = "attestation_not_found"
	pendingCode = "attestation_pending"
)

// maxShown bounds the images that an error names.
const maxShown = 10

func imagesOf(s attestation.Statement) string {
	var all []string
	for _, d := range s.Subject {
		if digest := d.Digest[attestation.SHA256]; digest != "" {
			all = append(all, fmt.Sprintf("sha256:%s (%s)", digest, d.Name))
		}
	}
	if len(all) == 0 {
		return "The verdict names no images: they are known only in an Environment with workloads that name the repository"
	}
	more := ""
	if len(all) > maxShown {
		more = fmt.Sprintf(", and %d more", len(all)-maxShown)
	}
	return "The verdict names " + strings.Join(all[:min(len(all), maxShown)], ", ") + more
}
