package dispatch

import (
	"context"
	"errors"
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// duplicate is a notification of a commit that has a run.
type duplicate struct {
	*operation
	trigger     *v1alpha1.Trigger
	environment *v1alpha1.Environment
	desired     *v1alpha1.Suite
	existing    *v1alpha1.Suite
	differs     []v1alpha1.Difference
	changed     bool        // the existing run may differ from what is known of it
	place       rerun.Place // to which was deployed, as far as is known
	anew        bool        // the desired attempt is to be created beside the existing run
}

// resolve decides whether another attempt runs, and writes the duplicate into the status of the existing run, so that no older run
// supersedes it. If the run changed meanwhile, the write fails, and resolve decides again.
func (d *duplicate) resolve(ctx context.Context) error {
	return changeRejection(d.retrier.do(ctx, d.attempt), "change the status of the Suite")
}

func (d *duplicate) attempt(ctx context.Context) error {
	if err := d.refresh(ctx); err != nil || d.anew {
		return err
	}
	if !suite.SameRun(d.existing, d.desired) {
		d.anew = true
		return nil
	}
	r, err := d.decide(ctx)
	if err == nil && !d.anew && d.existing.Finished() && !rerun.NotifiedBy(d.existing, d.IdempotencyKey) {
		d.anew, err = d.hasNext(ctx)
	}
	before := d.existing.DeepCopy()
	if err != nil || d.Mode == DryRun || !d.note(r) {
		return err
	}
	err = d.Writer.Status().Patch(ctx, d.existing, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	d.changed = err != nil
	return d.unlessGone(err)
}

// hasNext asks for an attempt that began a moment ago, which the cache may lack: its run is the answer, not the result before it.
func (d *duplicate) hasNext(ctx context.Context) (bool, error) {
	next := d.operation.desired(ctx, d.trigger, d.environment, d.desired.Spec.Attempt+1, d.place.At)
	err := d.Live.Get(ctx, client.ObjectKeyFromObject(next), &v1alpha1.Suite{})
	return err == nil, apierror.IgnoreNotFound(err)
}

// note reports whether the status of the existing run changed. A schedule is no deployment, and makes no run the newest.
func (d *duplicate) note(r rerun.Duplicate) bool {
	switch {
	case r.Origin == v1alpha1.OriginSchedule:
		return false
	case d.anew:
		return rerun.NoteSuperseded(d.existing, r.Stream)
	default:
		noted := rerun.NoteDuplicate(d.existing, d.desired, r)
		return rerun.NoteRedeployed(d.existing, d.desired, r) || noted
	}
}

// decide looks at input files last, because that may take a while.
func (d *duplicate) decide(ctx context.Context) (r rerun.Duplicate, err error) {
	r = d.duplicateOf(d.trigger)
	d.place, d.desired.Spec.EnvironmentUID = r.Place(d.existing, d.IdempotencyKey, d.place, d.environment)
	if r.Stream, err = index.StreamOf(ctx, d.Cache, d.existing); err != nil {
		return r, err
	}
	runs, err := d.runsIn(ctx, d.existing.Spec.Environment)
	if err != nil {
		return r, err
	}
	r.Ledger = ledger.Of(d.environment, runs)
	switch origin.Of(r.Origin).Describes {
	case origin.Nothing:
		d.anew = rerun.StartsAttempt(d.existing, d.desired, r)
		return r, nil
	case origin.Some:
		r.Differences = rerun.SaidDifferences(d.existing, d.desired)
	default:
		r.Differences = rerun.Differences(d.existing, d.desired)
	}
	if d.anew = rerun.StartsAttempt(d.existing, d.desired, r); !d.anew {
		r.Differences = append(r.Differences, d.inputDifferences(ctx, d.existing)...)
		d.anew = rerun.StartsAttempt(d.existing, d.desired, r)
	}
	d.differs = r.Differences
	return r, nil
}

// duplicateOf lacks what has to be read.
func (o *operation) duplicateOf(t *v1alpha1.Trigger) rerun.Duplicate {
	r := rerun.Duplicate{Origin: o.Origin.Kind(), Policy: t.Spec.Duplicates, ReceivedAt: o.serverTime, Rerun: o.Request.Rerun}
	if t.Spec.DuplicatesMaxAge != nil {
		r.MaxAge = t.Spec.DuplicatesMaxAge.Duration
	}
	return r
}

// runsIn returns objects that are shared with the cache.
func (o *operation) runsIn(ctx context.Context, environment string) ([]*v1alpha1.Suite, error) {
	return index.Suites(ctx, o.Cache, o.namespace, index.Deployed, environment)
}

func (d *duplicate) refresh(ctx context.Context) error {
	if !d.changed {
		return nil
	}
	d.anew = false
	current := &v1alpha1.Suite{}
	err := d.Live.Get(ctx, client.ObjectKeyFromObject(d.desired), current)
	if err == nil {
		d.existing, d.changed = current, false
	}
	return d.unlessGone(err)
}

// unlessGone creates an attempt anew if the existing run was deleted just now.
func (d *duplicate) unlessGone(err error) error {
	d.anew = d.anew || apierror.NotFound(err)
	return apierror.IgnoreNotFound(err)
}

func (o *operation) inputDifferences(ctx context.Context, s *v1alpha1.Suite) []v1alpha1.Difference {
	if len(s.Status.Inputs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.Limits.InputsTimeout)
	defer cancel()
	for _, input := range s.Status.Inputs {
		same, known := o.sameInput(ctx, input)
		switch {
		case !known:
			return []v1alpha1.Difference{v1alpha1.UnknownInputs}
		case !same:
			return []v1alpha1.Difference{v1alpha1.DifferentInputs}
		}
	}
	return nil
}

func (o *operation) sameInput(ctx context.Context, input v1alpha1.SuiteInput) (same, known bool) {
	if o.Inputs == nil {
		return false, false
	}
	file, err := o.Inputs.Stat(ctx, o.Team, input.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, true
	}
	return file == input, err == nil
}
