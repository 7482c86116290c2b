package archive

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers/evictions"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// Archive keeps what runs leave behind. Its errors are temporary; their public text completes a sentence after "the store:".
type Archive interface {
	// SaveLog reads a log to its end. If reading fails, it saves what it has read, and the problem of the Log says so.
	SaveLog(ctx context.Context, r record.Run, pod, container string, previous bool, log io.Reader) (record.Log, error)

	// Logs are those saved so far. Of each, Bytes is the size of the object.
	Logs(ctx context.Context, r record.Run) ([]record.Log, error)

	// OpenLog reads a log that was saved.
	OpenLog(ctx context.Context, r record.Run, pod, container string, previous bool) (io.ReadCloser, error)

	// SaveTests makes the object with all tests of a run from what its pods uploaded.
	SaveTests(ctx context.Context, r record.Run) error

	// Tests reads all tests of a run. It returns fs.ErrNotExist if they are not known, and history.ErrUnreadable if that does not pass.
	Tests(ctx context.Context, r record.Run, each func(httpapi.Test)) (history.RunHeader, error)

	// Attestation is the signed verdict of a run, or fs.ErrNotExist.
	Attestation(ctx context.Context, r record.Run) ([]byte, error)
	SaveAttestation(ctx context.Context, r record.Run, bundle []byte) error

	SaveRecord(ctx context.Context, rec record.Record) error
}

// Summaries are of the days on which runs were created.
type Summaries interface {
	// Changed says that the record of a run was saved that was created at a time.
	Changed(team string, created time.Time)
}

// PodLogs reads logs of containers. The errors of apierror.OfLog say why one cannot be read.
type PodLogs interface {
	Open(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error)
}

// Config is what the reconciler needs besides a manager.
type Config struct {
	Store      Archive // nil: none is configured
	Summaries  Summaries
	Logs       PodLogs
	Signer     Signer // of verdicts; nil: they are not signed
	PublicURL  string // of the run pages; empty: it is not known
	Clock      clock.PassiveClock
	Metrics    *Metrics
	Handovers  *Handovers
	Evictions  *evictions.Watch
	Namespaces []string // whose pods are watched
}

const (
	// archiveWorkers each compress one log on a processor with 16 MiB of disk; more would delay the reconciling of runs.
	archiveWorkers = 4

	// archiveTimeout frees a worker. What was saved by then stays saved, and the next attempt continues after it.
	archiveTimeout = 5 * time.Minute

	// logTimeout is how long the log of a container that has ended may take.
	logTimeout = time.Minute

	// unreadableFor is how long a log is asked for that may become readable: a node that restarts takes less.
	unreadableFor = 5 * time.Minute

	// unreadableEvery is how often.
	unreadableEvery = 20 * time.Second

	// storeRetryMin and storeRetryMax bound the pause while the store is unavailable, and so how late a record may be.
	storeRetryMin = 2 * time.Second
	storeRetryMax = time.Minute

	// rescueInterval is how often to look whether the logs of a run are being rescued.
	rescueInterval = 500 * time.Millisecond

	// ownerInterval is how often to look for a Team that owns the namespace.
	ownerInterval = time.Minute
)

// Reconciler saves the logs and the record of each run that has ended.
type Reconciler struct {
	client.Client               // reads from the cache
	Live          client.Reader // reads from the API server: pods, and the variables of Suites, which the cache drops
	Config

	rescue  *Rescue
	backlog *backlog
	silent  *silentNodes
}

// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("archive").
		Watches(&v1alpha1.Suite{}, r.backlog.handler()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: archiveWorkers, ReconciliationTimeout: archiveTimeout, RateLimiter: retry.Backoff(),
		}).
		Complete(retry.Conflicts(r))
}

// Reconcile saves what is missing. It never rereads what the archive has, which may be from a container that no longer exists.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := reconcile.Get[v1alpha1.Suite](ctx, r, req.Namespace, req.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if s == nil || !lifecycle.ToArchive(s) {
		r.backlog.remove(req)
		return ctrl.Result{}, nil
	}
	team, err := index.Owner(ctx, r, s.Namespace)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case team == nil:
		return ctrl.Result{RequeueAfter: ownerInterval}, nil
	case r.rescue.busy(req):
		return ctrl.Result{RequeueAfter: rescueInterval}, nil
	}
	return r.archive(ctx, s, record.Of(team.Name, s))
}

// archive asks the store first: while it is unavailable, an attempt costs the API server nothing.
func (r *Reconciler) archive(ctx context.Context, cached *v1alpha1.Suite, run record.Run) (ctrl.Result, error) {
	saved, err := r.Store.Logs(ctx, run)
	if err != nil {
		return r.storeUnavailable(ctx, cached, err)
	}
	s, sources, err := r.left(ctx, cached)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	logs, unreadable, err := r.saveLogs(ctx, s, run, unsaved(sources, saved))
	if err == nil && unreadable != "" {
		return ctrl.Result{RequeueAfter: unreadableEvery}, r.report(ctx, s, v1alpha1.NotArchived(v1alpha1.ReasonLogsUnavailable, unreadable))
	}
	if err == nil {
		err = r.measure(ctx, run, saved)
	}
	if err != nil {
		return r.storeUnavailable(ctx, s, err)
	}
	return r.saveRecord(ctx, s, run, append(saved, logs...))
}

// left returns the Suite with its variables and logs, handed over or from the API server; nil if there is nothing to archive.
func (r *Reconciler) left(ctx context.Context, cached *v1alpha1.Suite) (s *v1alpha1.Suite, sources []record.Source, err error) {
	if given, ok := r.Handovers.take(cached); ok {
		cached.Spec.Variables = given.variables
		return cached, given.sources, nil
	}
	s, err = reconcile.Reread(ctx, r.Live, cached)
	if err != nil || s == nil || !lifecycle.ToArchive(s) {
		return nil, nil, err
	}
	list := &corev1.PodList{}
	err = r.Live.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelSuite: s.Name})
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !record.IsPodOf(s, &p) })
	return s, record.Sources(pods), err
}

// saveRecord comes last: a record implies its logs, its tests and its signed verdict.
func (r *Reconciler) saveRecord(ctx context.Context, s *v1alpha1.Suite, run record.Run, logs []record.Log) (ctrl.Result, error) {
	j := &batchv1.Job{}
	err := r.Get(ctx, client.ObjectKeyFromObject(s), j, client.DisableReadYourWritesConsistency)
	if apierror.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	ended := record.Ended{Ran: s.Status.StartTime != nil}
	if metav1.IsControlledBy(j, s) {
		ended.Pods = j.Status.Succeeded + j.Status.Failed
	}
	if s.Status.Results != nil {
		if err := r.Store.SaveTests(ctx, run); err != nil {
			return r.storeUnavailable(ctx, s, err)
		}
	}
	if err := r.attest(ctx, s, run); err != nil {
		return r.storeUnavailable(ctx, s, err)
	}
	condition := record.Condition(logs, ended)
	archived := s.DeepCopy()
	setArchived(archived, condition, r.Clock.Now())
	if err := r.Store.SaveRecord(ctx, record.New(run.Team, archived, logs)); err != nil {
		return r.storeUnavailable(ctx, s, err)
	}
	if err := r.report(ctx, s, condition); err != nil {
		return ctrl.Result{}, err
	}
	r.Summaries.Changed(run.Team, run.Created)
	r.Metrics.archived(s, condition, r.Clock.Now())
	return ctrl.Result{}, nil
}

// The pause is half as long as the store has been unavailable.
func (r *Reconciler) storeUnavailable(ctx context.Context, s *v1alpha1.Suite, err error) (ctrl.Result, error) {
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // the manager stops, or the attempt took too long
	}
	ctrl.LoggerFrom(ctx).Info("the store does not take what a run leaves behind", "reason", err.Error())
	c := v1alpha1.NotArchived(v1alpha1.ReasonStoreUnavailable, fmt.Sprintf("Waiting for the store: %s.", err))
	if err := r.report(ctx, s, c); err != nil {
		return ctrl.Result{}, err
	}
	unavailable := r.Clock.Since(meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionArchived).LastTransitionTime.Time)
	return ctrl.Result{RequeueAfter: min(max(unavailable/2, storeRetryMin), storeRetryMax)}, nil
}

// What is not archived may have been meanwhile, by another leader or a reconcile whose write the cache lacks.
func (r *Reconciler) report(ctx context.Context, s *v1alpha1.Suite, c metav1.Condition) error {
	before := s.DeepCopy()
	setArchived(s, c, r.Clock.Now())
	if !lifecycle.StatusChanged(before, s) {
		return nil
	}
	set := meta.FindStatusCondition(s.Status.Conditions, c.Type)
	return reconcile.StatusWrite{Owner: reconcile.ArchiveOwner, Suite: s, Condition: set, Locked: !s.Archived()}.Apply(ctx, r)
}

func setArchived(s *v1alpha1.Suite, c metav1.Condition, now time.Time) {
	if before := meta.FindStatusCondition(s.Status.Conditions, c.Type); before != nil && before.Reason != c.Reason {
		meta.RemoveStatusCondition(&s.Status.Conditions, c.Type)
	}
	c.ObservedGeneration, c.LastTransitionTime = s.Generation, metav1.NewTime(now)
	meta.SetStatusCondition(&s.Status.Conditions, c)
}
