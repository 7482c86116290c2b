package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// errQueueDiffers means that the watch of the queue lags behind the cache, or is ahead of it.
var errQueueDiffers = errors.New("the queue and the cache differ")

// queueLag is when to try again.
const queueLag = 20 * time.Millisecond

func (r *Reconciler) requestSlot(o *lifecycle.Observation) (err error) {
	r.queues.endWaits(o.Suite.Namespace)
	r.queues.read(o.Suite.Namespace, func(waiting *queue.Queue) {
		setLimits(waiting, *o)
		if waiting.Waits(o.Suite.Spec.Environment) { // it would pass over older runs there
			err = errQueueDiffers
			return
		}
		position, known := waiting.Position(o.Suite.Name)
		if !known {
			err = errQueueDiffers
			return
		}
		o.Position = &position
	})
	return err
}

func (r *Reconciler) createJob(ctx context.Context, o *lifecycle.Observation) (err error) {
	if o.UnderTest.Start, err = r.underTest(ctx, o.Environment, Workloads.BeforeTests); err != nil && ctx.Err() == nil {
		o.Creation = lifecycle.Creation{Result: lifecycle.NotAccepted, Detail: clause(err)}
		return nil
	}
	if err != nil {
		return err
	}
	if problem := rerun.NoVersion(o.Suite, o.FailedChain, o.UnderTest.Start, changedSince); problem != "" {
		o.Creation = lifecycle.Creation{Result: lifecycle.NotWhole, Detail: problem}
		return nil
	}
	j, problem, err := r.buildJob(ctx, *o)
	if err != nil {
		return err
	}
	if problem != "" {
		o.Creation = lifecycle.Creation{Result: lifecycle.Impossible, Detail: problem}
		return nil
	}
	if j, err = r.withAllowedBy(ctx, j); err != nil {
		return err
	}
	err = r.Create(ctx, j)
	switch {
	case err == nil:
		r.Metrics.started(o.Suite, r.Clock.Now())
		o.Creation.Result = lifecycle.Created
		o.SetJob(j, outcome.Observe(j, nil))
	case apierrors.IsAlreadyExists(err):
		return r.adopt(ctx, o)
	case apierrors.IsConflict(err):
		return err // two Jobs used one quota at the same time
	case apierror.Rejected(err):
		o.Creation = lifecycle.Creation{Result: lifecycle.Rejected, Detail: apierror.Message(err)}
	default:
		o.Creation = lifecycle.Creation{Result: lifecycle.NotAccepted, Detail: apierror.Message(err), Unknown: apierror.Unanswered(err)}
	}
	return nil
}

// The problem is a sentence: why no Job can be built.
func (r *Reconciler) buildJob(ctx context.Context, o lifecycle.Observation) (j *batchv1.Job, problem string, err error) {
	if problem = job.CheckTemplate(o.Trigger); problem != "" {
		return nil, problem, nil
	}
	built := job.WithUnderTest(job.Build(o.Suite, o.Trigger, o.Environment), o.UnderTest.Start)
	j, err = r.withInputs(ctx, built, o)
	if err != nil {
		return nil, "", err
	}
	if o.Trigger.Spec.Results != nil {
		j = r.withFailed(j, o)
		results := job.ResultsOf(o.Trigger, r.Collector)
		results.Secrets, results.OnlyFailed = mask.Of(o.Suite.Spec.Variables), failedNames(o)
		if results.Quarantines, err = r.quarantines(ctx, o.Suite, results.Required); err != nil {
			return nil, "", err
		}
		j = job.WithResults(j, results)
	}
	if j, problem = r.withProbe(j, o); problem != "" {
		return nil, problem, nil
	}
	if j, problem = r.withPrepared(ctx, j, o); problem != "" {
		return nil, problem, nil
	}
	j, problem = job.WithinLimits(j, r.limitRanges.list(ctx, o.Suite.Namespace))
	return j, problem, nil
}

// +kubebuilder:rbac:groups=postflight.dev,resources=apikeys,verbs=list;watch

// unlabeled selects the Environments that the manager has not derived, as the shipped policy does.
var unlabeled = func() client.MatchingLabelsSelector {
	none, err := labels.NewRequirement(v1alpha1.LabelEnvironment, selection.DoesNotExist, nil)
	utilruntime.Must(err)
	return client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*none)}
}()

// withAllowedBy looks for any APIKey, and for Environments without the label of ephemeral ones, as the shipped policies do. A suspended key
// counts.
func (r *Reconciler) withAllowedBy(ctx context.Context, j *batchv1.Job) (*batchv1.Job, error) {
	list := &v1alpha1.APIKeyList{}
	if err := r.List(ctx, list, client.InNamespace(j.Namespace), client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("look up the API keys of the namespace: %w", err)
	}
	environments, err := index.Environments(ctx, r, j.Namespace, unlabeled)
	if err != nil {
		return nil, fmt.Errorf("look up the Environments of the namespace: %w", err)
	}
	return job.WithAllowedBy(j, len(list.Items) > 0, environments), nil
}

// A Job exists already after a crash before the write of the status, or where it lacks the label by which the cache finds it.
func (r *Reconciler) adopt(ctx context.Context, o *lifecycle.Observation) error {
	j, err := reconcile.Get[batchv1.Job](ctx, r.Live, o.Suite.Namespace, o.Suite.Name)
	switch {
	case err != nil:
		return err
	case j == nil:
		return errors.New("the Job existed and is gone")
	case metav1.IsControlledBy(j, o.Suite):
		o.Job, o.Unlabeled, o.UnderTest.Start = j, job.Unlabeled(j), job.UnderTest(j) // something may have been deployed since it was created
		return r.observeJob(ctx, o)
	case ofEarlier(j, o.Suite):
		o.Creation.Result = lifecycle.NameInUse
	default:
		o.Creation.Result = lifecycle.NameTaken
	}
	return nil
}

// deleteJob does not make later reads wait until the cache has the deletion of a Job that it never has.
func (r *Reconciler) deleteJob(ctx context.Context, o *lifecycle.Observation) error {
	var options []client.DeleteOption
	if o.Unlabeled {
		options = append(options, client.DisableReadYourWritesConsistency)
	}
	if err := r.delete(ctx, o.Job, options...); err != nil {
		return err
	}
	o.JobDeleted(r.Clock.Now())
	return nil
}

// The garbage collector is about to delete a Job of an earlier Suite of the same name.
func ofEarlier(j *batchv1.Job, s *v1alpha1.Suite) bool {
	owner := metav1.GetControllerOf(j)
	return job.Refers(owner, v1alpha1.GroupVersion.WithKind("Suite").GroupKind()) && owner.Name == s.Name && owner.UID != s.UID
}
