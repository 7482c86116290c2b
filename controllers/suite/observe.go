package suite

import (
	"context"
	"errors"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

func (r *Reconciler) observe(ctx context.Context, s *v1alpha1.Suite) (o lifecycle.Observation, err error) {
	o.Suite, o.Stopping.GiveUp = s, r.PodGoneAfter
	if o.Trigger, o.Recreated, err = r.trigger(ctx, s); err != nil {
		return o, err
	}
	if o.Job, o.Unlabeled, err = r.job(ctx, s); err != nil {
		return o, err
	}
	if s.Finished() {
		o.Unarchived = r.Archives && lifecycle.ToArchive(s)
		if o.Job != nil {
			o.State = outcome.Observe(o.Job, nil)
		}
		return o, nil
	}
	if o.Trigger, o.Incomplete, err = index.Complete(ctx, r, o.Trigger); err != nil {
		return o, err
	}
	if o.Stream, err = r.stream(ctx, s); err != nil {
		return o, err
	}
	if o.Team, err = index.Owner(ctx, r, s.Namespace); err != nil {
		return o, err
	}
	o.UnderTest.Start = startOf(s, o.Job)
	if o.Job != nil {
		return o, r.observeJob(ctx, &o)
	}
	if s.Status.JobName != "" {
		return o, r.observePodsLeft(ctx, &o)
	}
	o.Environment, err = reconcile.Shared[v1alpha1.Environment](ctx, r, s.Namespace, s.Spec.Environment)
	if err == nil && o.Environment != nil && o.Environment.Spec.Settle != nil {
		o.Burst = r.queues.burst(o.Environment, r.runsOf)
	}
	return o, err
}

// A later Trigger of the same name is reported as recreated.
func (r *Reconciler) trigger(ctx context.Context, s *v1alpha1.Suite) (t *v1alpha1.Trigger, recreated bool, err error) {
	t, err = reconcile.Shared[v1alpha1.Trigger](ctx, r, s.Namespace, s.Spec.Trigger.Name)
	if s.IsOf(t) {
		return t, false, err
	}
	return nil, t != nil, err
}

// A Job that is gone ends its run, so only the API server's answer counts, which also has a Job without the cache's label.
func (r *Reconciler) job(ctx context.Context, s *v1alpha1.Suite) (j *batchv1.Job, unlabeled bool, err error) {
	cacheCtx, cancel := context.WithTimeout(ctx, reconcile.CacheTimeout)
	defer cancel()
	j, err = reconcile.Get[batchv1.Job](cacheCtx, r, s.Namespace, s.Name)
	late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	incomplete := err == nil && j != nil && j.Annotations[v1alpha1.AnnotationMemoryOmitted] != ""
	live := late || incomplete || (err == nil && j == nil && s.Status.JobName != "")
	if live {
		j, err = reconcile.Get[batchv1.Job](ctx, r.Live, s.Namespace, s.Name)
	}
	if err != nil || j == nil || !metav1.IsControlledBy(j, s) {
		return nil, false, err
	}
	return j, live && job.Unlabeled(j), nil
}

// observeJob reads pods and events only if the Job's status is not enough: reads are costly when a thousand runs start.
func (r *Reconciler) observeJob(ctx context.Context, o *lifecycle.Observation) error {
	o.Inputs = inputsOf(o.Suite, o.Job)
	o.Stopping.Since, o.Stopping.Requested, o.Stopping.Grace = outcome.StoppingSince(o.Job), job.StopRequested(o.Job), job.GracePeriod(o.Job)
	stopsLong := !o.Stopping.Since.IsZero() && r.Clock.Since(o.Stopping.Since) >= lifecycle.StopCheckAfter
	seen := r.observeStart(o)
	o.SetJob(o.Job, seen)
	var pods []corev1.Pod
	if ended := lifecycle.Ended(seen.Condition); ended || stopsLong || outcome.HasPods(o.Job) &&
		(r.looksAtStart(*o) || lifecycle.TimeIsUp(*o, r.Clock.Now())) {
		labeled, err := r.pods(ctx, o.Suite, batchv1.JobNameLabel, o.Job.Name)
		if err != nil {
			return err
		}
		pods = outcome.PodsOf(o.Job, labeled)
		seen = outcome.Observe(o.Job, pods)
		o.Unconfirmed = outcome.Unconfirmed(o.Job, pods, r.Clock.Now()) || ended && !r.Evictions.Known()
		if ended && r.Archives && !o.Unconfirmed {
			r.Handovers.Put(o.Suite, pods)
		}
		o.Stopping.Lost = outcome.Lost(pods, r.Clock.Now(), r.PodGoneAfter)
		o.Stopping.LostToCluster = outcome.LostToCluster(o.Job, pods)
		o.Stopping.Done = stopsLong && o.Job.DeletionTimestamp != nil && !outcome.AnyRunning(pods)
	}
	if uid := outcome.UnexplainedObject(o.Job, pods); uid != "" && r.Clock.Since(o.Job.CreationTimestamp.Time) >= explainAfter {
		seen = seen.WithWarning(o.Job, r.warnings.about(ctx, o.Job.Namespace, uid))
	}
	o.SetJob(o.Job, seen)
	if state.Of(o.Condition.Reason).Green {
		return r.observeOthers(ctx, o)
	}
	return nil
}

// observeOthers reads the runs that a run which passes is compared with.
func (r *Reconciler) observeOthers(ctx context.Context, o *lifecycle.Observation) error {
	if o.DecidedBy == v1alpha1.DecidedByExitCode {
		return nil
	}
	runs, err := r.suites(ctx, o.Suite.Namespace, client.MatchingFields{index.Trigger: o.Suite.Spec.Trigger.Name})
	o.PassedBefore = suite.LastPassed(o.Suite, runs)
	return err
}

// The first seconds of a Job are not worth a write of what it waits for, nor are those in which Kubernetes completes it.
func (r *Reconciler) observeStart(o *lifecycle.Observation) outcome.State {
	state := outcome.Observe(o.Job, nil)
	switch {
	case r.isNew(o.Job) && o.Suite.State() == v1alpha1.ReasonStarting && o.Suite.Status.PodProblem == "" &&
		state.Condition.Reason == v1alpha1.ReasonStarting:
		state.Condition = o.Suite.Succeeded()
	case o.Suite.State() == v1alpha1.ReasonRunning && outcome.Completing(o.Job) && r.Clock.Since(o.Stopping.Since) < lookAfter:
		state.Condition = o.Suite.Succeeded()
	case o.Suite.Status.StartTime == nil && outcome.Ready(o.Job) && r.starts.noted(o.Suite):
		state.Started = r.Clock.Now()
	}
	if outcome.Starting(o.Job) {
		r.starts.note(o.Suite)
	} else {
		r.starts.forget(client.ObjectKeyFromObject(o.Suite))
	}
	return state
}

// A stopped run's pods are deleted only if its tests have not begun, and the Job may not say so yet.
func (r *Reconciler) looksAtStart(o lifecycle.Observation) bool {
	if outcome.Starting(o.Job) {
		return !r.isNew(o.Job) || lifecycle.Unwanted(o)
	}
	return o.Suite.Status.StartTime == nil && o.Started.IsZero()
}

func (r *Reconciler) isNew(j *batchv1.Job) bool {
	return outcome.Starting(j) && r.Clock.Since(j.CreationTimestamp.Time) < lookAfter
}

// The Job is gone, so its pods are found by the label that names their Suite.
func (r *Reconciler) observePodsLeft(ctx context.Context, o *lifecycle.Observation) error {
	pods, err := r.pods(ctx, o.Suite, v1alpha1.LabelSuite, o.Suite.Name)
	o.Stopping.PodsLeft = outcome.AnyRunning(pods)
	o.KeepsResults, o.Collected = o.Trigger != nil && o.Trigger.Spec.Results != nil, outcome.Collect(pods)
	o.Stopping.Lost = outcome.Lost(pods, r.Clock.Now(), r.PodGoneAfter)
	return err
}

func (r *Reconciler) pods(ctx context.Context, s *v1alpha1.Suite, label, value string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := r.Live.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{label: value})
	hideSecrets(s, list.Items)
	for i := range list.Items {
		p := &list.Items[i]
		if message, evicted := r.Evictions.Message(p.Namespace, p.UID); evicted {
			outcome.SetEvicted(p, message)
		}
	}
	return list.Items, err
}

// stream lists the Suites of the same stream that bear on this one, shared with the cache: read-only.
func (r *Reconciler) stream(ctx context.Context, s *v1alpha1.Suite) ([]*v1alpha1.Suite, error) {
	id := streamIDOf(s)
	if id.key == "" {
		return nil, nil
	}
	all := func() ([]*v1alpha1.Suite, error) {
		return r.suites(ctx, id.namespace, client.MatchingFields{index.Stream: id.key})
	}
	newest, err := r.streams.newestOf(id, all)
	if err != nil {
		return nil, err
	}
	if newest != nil && suite.SameCommitOfOtherTrigger(newest, s) && !suite.Siblings(newest, s) {
		return all() // the newest of another commit counts
	}
	stream, err := r.suites(ctx, id.namespace, client.MatchingFields{index.UnfinishedStream: id.key})
	if newest != nil && !slices.ContainsFunc(stream, func(other *v1alpha1.Suite) bool { return other.Name == newest.Name }) {
		stream = append(stream, newest)
	}
	return stream, err
}

// suites does not wait for the writes of other workers: an end that the cache lacks causes an event later.
func (r *Reconciler) suites(ctx context.Context, namespace string, fields client.MatchingFields) ([]*v1alpha1.Suite, error) {
	return index.SuitesWith(ctx, reconcile.Known(r), client.InNamespace(namespace), fields)
}

// listRuns returns all Suites of an Environment.
type listRuns func(e *v1alpha1.Environment) []*v1alpha1.Suite

// runsOf is called while events of the namespace wait, so that none is missed: the cache has a change before its event.
func (r *Reconciler) runsOf(e *v1alpha1.Environment) []*v1alpha1.Suite {
	suites, err := r.suites(context.Background(), e.Namespace, client.MatchingFields{index.Deployed: e.Name})
	if err != nil {
		ctrl.Log.Error(err, "cannot list the runs of an Environment that settles", "namespace", e.Namespace, "environment", e.Name)
	}
	return suites
}

func (r *Reconciler) suitesOf(field string) func(context.Context, client.Object) []ctrl.Request {
	return func(ctx context.Context, obj client.Object) []ctrl.Request {
		return r.enqueue(ctx, obj.GetNamespace(), client.MatchingFields{field: obj.GetName()})
	}
}

func (r *Reconciler) unfinishedOfTeam(ctx context.Context, obj client.Object) []ctrl.Request {
	return r.enqueue(ctx, obj.(*v1alpha1.Team).NamespaceName(), client.MatchingFields{index.Unfinished: "true"})
}

func (r *Reconciler) enqueue(ctx context.Context, namespace string, fields client.MatchingFields) []ctrl.Request {
	suites, err := r.suites(ctx, namespace, fields)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the runs concerned", "namespace", namespace)
		return nil
	}
	return reconcile.Requests(suites)
}
