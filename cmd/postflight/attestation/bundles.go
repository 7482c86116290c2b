package attestation

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/signing/bundle"
)

// Signed has the signed verdicts of runs.
type Signed interface {
	Runs(ctx context.Context, f client.RunFilter) iter.Seq2[client.Run, error]
	Attestation(ctx context.Context, id string) ([]byte, error)
}

// maxRuns bounds the verdicts of a commit that a server is asked for. Each is a request.
const maxRuns = 100

// statements returns what the keys signed. A file must be good; of what lies beside an image, others may have put there what they like.
func (o *VerifyOptions) statements(ctx context.Context, keys bundle.Keys, files []string) ([]attestation.Statement, error) {
	switch {
	case len(files) > 0:
		return o.ofFiles(keys, files)
	case o.Image != "":
		return o.ofImage(ctx, keys)
	case o.Signed != nil:
		return o.ofServer(ctx, keys)
	default:
		return nil, errors.New("name the files of the verdicts, or set POSTFLIGHT_URL to get them from the server. " +
			"\"postflight attest RUN --file FILE\" gets one")
	}
}

func verified(keys bundle.Keys, content []byte) (attestation.Statement, error) {
	payload, err := keys.Verify(content, attestation.PayloadType)
	if err != nil {
		return attestation.Statement{}, err
	}
	return attestation.Parse(payload)
}

func (o *VerifyOptions) ofFiles(keys bundle.Keys, files []string) (all []attestation.Statement, err error) {
	for _, file := range files {
		content, err := read(file, o.Stdin, attestation.MaxBundle)
		if err != nil {
			return nil, err
		}
		s, err := verified(keys, content)
		if err != nil {
			return nil, cli.Exitf(cli.ExitFailed, "refused: %s: %w", file, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func (o *VerifyOptions) ofImage(ctx context.Context, keys bundle.Keys) (all []attestation.Statement, err error) {
	i, err := parseImage(o.Image)
	if err != nil {
		return nil, err
	}
	if i.repository == "" {
		return nil, errors.New("--image: name the registry and the repository, too, or the files of the verdicts")
	}
	bundles, err := pull(ctx, i)
	if err != nil {
		return nil, fmt.Errorf("read what is beside %s: %w", o.Image, err)
	}
	for _, content := range bundles {
		s, err := verified(keys, content)
		if err != nil {
			o.Console.Note("A bundle beside the image is left out: %v.", err)
			continue
		}
		all = append(all, s)
	}
	return all, nil
}

func unsigned(err error) bool {
	code := cli.FailureCode(err)
	return code == missingCode || code == pendingCode
}

// ofServer returns the verdicts of a commit. A failed run that is not signed, or not yet, must not leave an older pass as the newest
// verdict.
func (o *VerifyOptions) ofServer(ctx context.Context, keys bundle.Keys) (all []attestation.Statement, err error) {
	type place struct{ trigger, environment, service string }
	newer, asked := map[place]bool{}, 0
	for r, err := range o.Signed.Runs(ctx, client.RunFilter{SHA: o.Wanted.Digest}) { // the newest first
		if err != nil {
			return nil, err
		}
		if !state.Of(r.State).Result || !o.Wanted.Concerns(r.Trigger, r.Environment) {
			continue
		}
		if asked++; asked > maxRuns {
			return nil, fmt.Errorf("the commit has more than %d runs with a result. Name the files of the verdicts", maxRuns)
		}
		at := place{r.Trigger, r.Environment, r.Service}
		content, err := o.Signed.Attestation(ctx, r.ID)
		switch {
		case unsigned(err) && !state.Of(r.State).Green && !newer[at]:
			return nil, cli.Exitf(cli.ExitFailed, "refused: the run %s ended as %s, and is not signed: %w", r.ID, r.State, err)
		case unsigned(err):
			o.Console.Note("The run %s is left out: %v", r.ID, err)
			continue
		case err != nil:
			return nil, err
		}
		s, err := verified(keys, content)
		if err != nil {
			return nil, cli.Exitf(cli.ExitFailed, "refused: the verdict of the run %s: %w", r.ID, err)
		}
		all, newer[at] = append(all, s), true
	}
	return all, nil
}
