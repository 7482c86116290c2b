package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
)

// Inputs is the store of the files that runs need.
type Inputs interface {
	// Stat returns fs.ErrNotExist for a missing file; any other error is temporary, and a clause that says why the store fails.
	Stat(ctx context.Context, team *v1alpha1.Team, path string) (v1alpha1.SuiteInput, error)

	// SignDownload makes a URL by which pods get a file.
	SignDownload(ctx context.Context, team, path string, lifetime time.Duration) (string, error)
}

// InputsConfig is what Jobs with input files need.
type InputsConfig struct {
	Store Inputs // nil: none is configured
	Limit int64  // of a file, in bytes; 0: none
	Image string // of the init container that downloads
	CA    string // PEM that the download trusts beside the image's own
}

// downloadMargin is how much longer than its timeout a run's URLs are valid: for clocks that differ.
const downloadMargin = 10 * time.Minute

func (r *Reconciler) findInputs(ctx context.Context, o lifecycle.Observation) *lifecycle.Inputs {
	required, problem := job.ResolveInputs(o.Suite, o.Trigger, o.Environment, o.Team.Name)
	switch {
	case problem != "":
		return &lifecycle.Inputs{Invalid: problem}
	case len(required.Paths) == 0:
		return &lifecycle.Inputs{Directory: required.Directory, Rewritten: required.Rewritten}
	case r.Inputs.Store == nil:
		return &lifecycle.Inputs{NoStore: true}
	default:
		return r.findFiles(ctx, o.Team, required)
	}
}

// findFiles stops at a store that does not answer, but not at a missing file, so that the message names all of these.
func (r *Reconciler) findFiles(ctx context.Context, team *v1alpha1.Team, required job.RequiredInputs) *lifecycle.Inputs {
	inputs := &lifecycle.Inputs{Limit: r.Inputs.Limit, Directory: required.Directory, Rewritten: required.Rewritten}
	for _, path := range required.Paths {
		file, err := r.Inputs.Store.Stat(ctx, team, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			inputs.Missing = append(inputs.Missing, path)
		case err != nil:
			return &lifecycle.Inputs{Unavailable: err.Error()}
		default:
			inputs.Found = append(inputs.Found, file)
		}
	}
	return inputs
}

func (r *Reconciler) withInputs(ctx context.Context, j *batchv1.Job, o lifecycle.Observation) (*batchv1.Job, error) {
	if o.Inputs == nil {
		return j, nil
	}
	inputs := job.Inputs{Directory: o.Inputs.Directory, Rewritten: o.Inputs.Rewritten, Image: r.Inputs.Image, CA: r.Inputs.CA}
	for _, f := range o.Inputs.Found {
		url, err := r.Inputs.Store.SignDownload(ctx, o.Team.Name, f.Path, lifetime(o.Trigger))
		if err != nil {
			return nil, fmt.Errorf("sign the download of an input file: %w", err)
		}
		inputs.Files = append(inputs.Files, job.File{Path: f.Path, URL: url, ETag: f.ETag, Size: f.Size})
	}
	return job.WithInputs(j, inputs), nil
}

// Even a pod that starts at the last moment of its run can download.
func lifetime(t *v1alpha1.Trigger) time.Duration { return t.RunTimeout() + downloadMargin }

// inputsOf restores from a Job what the status of its Suite lacks if the manager stopped in between.
func inputsOf(s *v1alpha1.Suite, j *batchv1.Job) *lifecycle.Inputs {
	if len(s.Status.Inputs) > 0 {
		return nil
	}
	found := job.InputsOf(j)
	if len(found) == 0 {
		return nil
	}
	return &lifecycle.Inputs{Found: found}
}
