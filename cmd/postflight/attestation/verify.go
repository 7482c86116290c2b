package attestation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/internal/signing/bundle"
)

// VerifyOptions are the options of verify.
type VerifyOptions struct {
	access.Server

	Keys     []string // files
	SHA      string
	Image    string
	Wanted   attestation.Wanted
	Now      func() time.Time
	Stdin    io.Reader
	Verdicts Verdicts // nil: no server is asked
	Signed   Signed   // nil: no server is asked
}

// Verdicts say whether what was signed still holds.
type Verdicts interface {
	// Verdict returns the verdict of a commit in an Environment now.
	Verdict(ctx context.Context, q client.VerdictQuery, wait time.Duration) (*client.Verdict, error)
}

// maxKeyFile bounds a file of public keys, in bytes: 16 keys have less than 4 KiB.
const maxKeyFile = 64 << 10

// NewVerify returns the command verify.
func NewVerify() *cobra.Command {
	o := &VerifyOptions{Now: time.Now}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:   "verify [BUNDLE...] --key FILE (--sha SHA | --image IMAGE@sha256:...)",
		Short: "Verify the signed verdicts of a commit or an image before you deploy it",
		Long: `Verifies that the tests of a commit or an image passed, by the signed verdicts of its runs. It checks the signature, what the
verdict is about, that the result is PASSED, and how old it is. Of several verdicts of one Trigger and Environment, the last to end decides,
so pass all that you have: a later failure withdraws a pass. A server signs for all its teams: name yours with --team.

The verdicts are files, which "postflight attest" wrote, or - for standard input. Without any, they are those beside the image in its
registry, or, with --sha, those of the server of $POSTFLIGHT_URL.

If $POSTFLIGHT_URL is set, the server is asked, too, whether the commit still passes: a later failure withdraws a pass that was signed.

The keys are the public keys of the server, which anyone may get from it once, over a connection that you trust:

  curl -fsS https://postflight.example.com/.well-known/postflight/attestation-keys.pem > postflight.pem

WARNED is a pass in spite of failures, because of a Quarantine, for example. --allow-warnings accepts it.

Exit codes: 0 verified, 1 refused, 3 trouble: no verdict can be read, no key, no server, no registry.`,
		Example: `  # By files
  postflight verify verdict.sigstore.json --key postflight.pem --sha 5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d

  # What is beside an image, in the pipeline that deploys it, if both Triggers passed in staging today
  postflight verify --key postflight.pem --image registry.example.com/acme/shop@sha256:5f1c... \
    --team shop --environment staging --trigger smoke --trigger visual --max-age 24h`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Open(cmd); err != nil {
				return err
			}
			o.Stdin, o.Wanted.Team = cmd.InOrStdin(), o.TeamName()
			if err := o.connect(cmd, len(args)); err != nil {
				return err
			}
			return o.Run(cmd.Context(), args)
		},
	})
	o.addFlags(cmd)
	return cmd
}

func (o *VerifyOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.Keys, "key", nil, "`file` with public keys in PEM, as the server publishes them; may be given several times")
	f.StringVar(&o.SHA, "sha", "", "full SHA of the commit")
	f.StringVar(&o.Image, "image", "", "`IMAGE@sha256:...`, or the digest alone if the verdicts are files")
	f.StringVar(&o.Wanted.Run, "run", "", "require that this run counts")
	f.StringArrayVar(&o.Wanted.Triggers, "trigger", nil, "only verdicts of this Trigger, and one is required; may be given several times")
	f.StringArrayVar(&o.Wanted.Environments, "environment", nil,
		"only verdicts in this Environment, and one is required; may be given several times")
	cli.DurationVar(f, &o.Wanted.MaxAge, "max-age", 0, "refuse verdicts of runs that ended longer ago, such as 24h; default: any age")
	f.BoolVar(&o.Wanted.Warnings, "allow-warnings", false, "accept WARNED: a pass in spite of failures that did not count")
	o.AddFlags(cmd)
}

// connect connects to the server if there is one: it knows what was withdrawn.
func (o *VerifyOptions) connect(cmd *cobra.Command, files int) error {
	if os.Getenv("POSTFLIGHT_URL") == "" && !cli.AnyChanged(cmd, "url") {
		return nil
	}
	if err := o.Connect(); err != nil {
		return err
	}
	if o.Verdicts = o.Client; files == 0 && o.SHA != "" {
		o.Signed = o.Client
	}
	return nil
}

// Run verifies the bundles of files, or finds some.
func (o *VerifyOptions) Run(ctx context.Context, files []string) error {
	if err := o.subject(); err != nil {
		return err
	}
	keys, err := o.keys()
	if err != nil {
		return err
	}
	statements, err := o.statements(ctx, keys, files)
	if err != nil {
		return err
	}
	now := o.Now()
	accepted, err := o.Wanted.Accept(statements, now)
	if err != nil {
		return refuse(err)
	}
	if err := o.stillHolds(ctx, accepted); err != nil {
		return err
	}
	shown := make([]attestation.Predicate, len(accepted))
	for i, s := range accepted {
		shown[i] = s.Predicate
	}
	return o.Console.Result(shown, func() error {
		for _, s := range accepted {
			o.Console.Note("%s", sentence(s, now))
		}
		o.Console.Note("Verified.")
		return nil
	})
}

func refuse(err error) error {
	if refused := (attestation.Refused{}); errors.As(err, &refused) {
		return cli.Exitf(cli.ExitFailed, "refused: %w", err)
	}
	return err
}

func (o *VerifyOptions) subject() error {
	switch {
	case (o.SHA == "") == (o.Image == ""):
		return errors.New("say what is to be deployed: --sha SHA or --image IMAGE@sha256:..., one of them")
	case o.SHA != "" && !commit.IsSHA(o.SHA):
		return fmt.Errorf("--sha %q: name the full SHA of the commit, 40 or 64 hexadecimal digits. Verdicts name no other", o.SHA)
	case o.SHA != "":
		o.Wanted.Algorithm, o.Wanted.Digest = attestation.GitCommit, commit.NormalSHA(o.SHA)
		return nil
	}
	i, err := parseImage(o.Image)
	if err != nil {
		return fmt.Errorf("--image %q: %w", o.Image, err)
	}
	o.Wanted.Algorithm, o.Wanted.Digest = attestation.SHA256, i.digest
	return nil
}

func (o *VerifyOptions) keys() (all bundle.Keys, err error) {
	if len(o.Keys) == 0 {
		return nil, errors.New("name the public keys of the server with --key. " +
			"They are at /.well-known/postflight/attestation-keys.pem of the server")
	}
	for _, file := range o.Keys {
		text, err := read(file, o.Stdin, maxKeyFile)
		if err != nil {
			return nil, err
		}
		keys, err := bundle.ParseKeys(text)
		if err != nil {
			return nil, fmt.Errorf("--key %s: the file %w", file, err)
		}
		all = append(all, keys...)
	}
	return all, nil
}

// stillHolds asks the server whether a verdict that was right when it was signed still is.
func (o *VerifyOptions) stillHolds(ctx context.Context, accepted []attestation.Statement) error {
	if o.Verdicts == nil {
		return nil
	}
	for _, s := range accepted {
		d := s.Details()
		if !commit.IsSHA(d.Revision) {
			continue
		}
		query := client.VerdictQuery{SHA: d.Revision, Environment: d.Environment, Repository: d.Repository}
		v, err := o.Verdicts.Verdict(ctx, query, 0)
		if err != nil {
			return fmt.Errorf("ask the server whether the verdict still holds: %w", err)
		}
		if !v.Passed {
			return cli.Exitf(cli.ExitFailed, "refused: the signature is good, but the verdict of the server is %s by now: %s", v.State,
				v.Sentence)
		}
	}
	return nil
}

var _ Signed = (*client.Client)(nil)
