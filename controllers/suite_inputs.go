package controllers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/job"
	"github.com/postflight-dev/postflight/internal/suite"
)

// Inputs is the store of the files that runs need.
type Inputs interface {
	// Stat looks a file of a team up. The error is fs.ErrNotExist where there is none; any other may
	// pass, and is the end of a sentence about the store.
	Stat(ctx context.Context, team, path string) (size int64, etag string, err error)

	// SignDownload makes a URL by which pods get a file.
	SignDownload(ctx context.Context, team, path string, lifetime time.Duration) (string, error)
}

// InputsConfig is what Jobs with input files are made with.
type InputsConfig struct {
	Store Inputs // nil: none is configured
	Image string // of the init container that downloads
	CA    string // PEM that the download trusts beside the image's own
}

// downloadMargin is how much longer than its timeout a run's URLs are valid: for clocks that differ.
const downloadMargin = 10 * time.Minute

const noStore = "The run needs input files, and no store for files is configured. Ask the operator of Postflight to set --store-bucket and --store-endpoint, and notify again."

// lookUpInputs finds out about the files that a run needs.
func (r *SuiteReconciler) lookUpInputs(ctx context.Context, o suite.Observation) *suite.Inputs {
	wanted, problem := job.Want(o.Suite, o.Trigger, o.Environment, o.Team.Name)
	switch {
	case problem != "":
		return &suite.Inputs{Problem: problem}
	case len(wanted.Paths) == 0:
		return &suite.Inputs{}
	case r.Inputs.Store == nil:
		return &suite.Inputs{Problem: noStore}
	default:
		return r.find(ctx, o.Team.Name, wanted.Paths)
	}
}

// find asks the store for each file. It stops at a store that does not answer, but not at a file that
// is missing, to name all of them at once.
func (r *SuiteReconciler) find(ctx context.Context, team string, paths []string) *suite.Inputs {
	in := &suite.Inputs{}
	var missing []string
	for _, path := range paths {
		size, etag, err := r.Inputs.Store.Stat(ctx, team, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, fmt.Sprintf("%q", path))
		case err != nil:
			return &suite.Inputs{Waiting: err.Error()}
		default:
			in.Found = append(in.Found, v1alpha1.SuiteInput{Path: path, Size: size, ETag: etag})
		}
	}
	if len(missing) > 0 {
		in.Problem = fmt.Sprintf("These input files are not among those of team %q: %s. Upload them before the notification, and notify again.", team, strings.Join(missing, ", "))
	}
	return in
}

// buildJob is the Job of a run, with the files that were found.
func (r *SuiteReconciler) buildJob(ctx context.Context, o suite.Observation) (*batchv1.Job, error) {
	j := job.Build(o.Suite, o.Trigger, o.Environment)
	if o.Inputs == nil {
		return j, nil
	}
	wanted, problem := job.Want(o.Suite, o.Trigger, o.Environment, o.Team.Name)
	if problem != "" {
		return nil, errors.New(problem) // something changed since the look; look again
	}
	in := job.Inputs{Directory: wanted.Directory, Rewritten: wanted.Rewritten, Image: r.Inputs.Image, CA: r.Inputs.CA}
	for _, f := range o.Inputs.Found {
		url, err := r.Inputs.Store.SignDownload(ctx, o.Team.Name, f.Path, lifetime(o.Trigger))
		if err != nil {
			return nil, fmt.Errorf("sign the download of an input file: %w", err)
		}
		in.Files = append(in.Files, job.File{Path: f.Path, URL: url, ETag: f.ETag, Size: f.Size})
	}
	return job.WithInputs(j, in), nil
}

// lifetime lets a pod that starts at the last moment of its run still download.
func lifetime(t *v1alpha1.Trigger) time.Duration { return t.RunTimeout() + downloadMargin }

// inputsOf reads from a Job what the status of its Suite lacks where the manager stopped in between.
func inputsOf(s *v1alpha1.Suite, j *batchv1.Job) *suite.Inputs {
	if len(s.Status.Inputs) > 0 {
		return nil
	}
	found := job.InputsOf(j)
	if len(found) == 0 {
		return nil
	}
	return &suite.Inputs{Found: found}
}
