package archive

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/reflector"
)

const (
	// rescueStreams is as many logs as one node has containers of tests, which a drain evicts together. Each may need 16 MiB of disk.
	rescueStreams = 32

	// rescueTeamStreams is how many of them one team has: its pods decide how long they take to stop.
	rescueTeamStreams = rescueStreams / 4

	// rescueFollows is how many of them follow containers that still run, which may take long. The others are for containers that have ended:
	// the kubelet removes the log from before a restart when the container ends again.
	rescueFollows = rescueStreams - rescueStreams/8

	// rescueTeamFollows is how many of these one team has.
	rescueTeamFollows = rescueFollows / 4

	// rescuePods is how many pods are read at once, of hundreds that may be deleted.
	rescuePods = 8

	// rescueTeamPods is how many of them one team has.
	rescueTeamPods = rescuePods / 4

	// rescueWithin bounds following a log: teams may set any grace period, but few containers need more than five minutes to stop.
	rescueWithin = 15 * time.Minute

	// rescueMargin is how long a container may take to end after its grace period, until its log is saved as it is.
	rescueMargin = time.Minute
)

// Rescue follows logs of pods that are being deleted or evicted: the kubelet removes their containers as soon as they stop.
type Rescue struct {
	client.Reader               // reads from the cache
	Live          client.Reader // reads from the API server
	Watch         client.WithWatch
	Archive       Archive
	Logs          PodLogs
	Clock         clock.PassiveClock
	Namespaces    []string // to watch one by one; one empty name: all at once

	streams *rescueSlots
	reads   *fairness.Semaphore // of pods

	mu   sync.Mutex
	pods map[types.UID]*rescuedPod
	all  sync.WaitGroup
}

type rescuedPod struct {
	run     ctrl.Request
	busy    bool
	changed bool // since it became busy
	gone    bool // since then
}

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=list;watch

func newRescue(mgr ctrl.Manager, config Config) (*Rescue, error) {
	watching, err := reflector.NewClient(mgr)
	if err != nil {
		return nil, fmt.Errorf("set up the watch of pods: %w", err)
	}
	r := &Rescue{
		Reader: mgr.GetCache(), Live: mgr.GetAPIReader(), Watch: watching, Archive: config.Store, Logs: config.Logs, Clock: config.Clock,
		Namespaces: config.Namespaces, streams: newRescueStreams(), reads: fairness.NewSharedSemaphore(rescuePods, rescueTeamPods),
		pods: map[types.UID]*rescuedPod{},
	}
	config.Evictions.OnEviction(r.evicted)
	return r, nil
}

// rescueSlots are the streams. Those of containers that still run are acquired in both.
type rescueSlots struct{ all, follows *fairness.Semaphore }

func newRescueStreams() *rescueSlots {
	return &rescueSlots{
		all:     fairness.NewSharedSemaphore(rescueStreams, rescueTeamStreams),
		follows: fairness.NewSharedSemaphore(rescueFollows, rescueTeamFollows),
	}
}

func (s *rescueSlots) acquire(ctx context.Context, team string, running bool) (release func(), err error) {
	if !running {
		return s.all.Acquire(ctx, team)
	}
	endFollow, err := s.follows.Acquire(ctx, team)
	if err != nil {
		return nil, err
	}
	endStream, err := s.all.Acquire(ctx, team)
	if err != nil {
		endFollow()
		return nil, err
	}
	return func() { endStream(); endFollow() }, nil
}

// NeedLeaderElection is true: two replicas would follow the same logs.
func (r *Rescue) NeedLeaderElection() bool { return true }

// Start watches until ctx ends.
func (r *Rescue) Start(ctx context.Context) error {
	var watches sync.WaitGroup
	for _, namespace := range r.Namespaces {
		watches.Go(func() { r.watchPods(ctx, namespace) })
	}
	watches.Wait()
	r.all.Wait()
	return nil
}

// busy reports whether logs of a run are being followed.
func (r *Rescue) busy(run ctrl.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods {
		if p.run == run && p.busy {
			return true
		}
	}
	return false
}

func (r *Rescue) podSeen(ctx context.Context, p *metav1.PartialObjectMetadata) {
	if p.DeletionTimestamp != nil {
		run := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: p.Namespace, Name: p.Labels[v1alpha1.LabelSuite]}}
		r.begin(ctx, run, p.Name, p.UID)
	}
}

// The kubelet's event precedes the stop of the containers; the pod itself says so only afterwards.
func (r *Rescue) evicted(ctx context.Context, e *eventsv1.Event) {
	p := &corev1.Pod{}
	key := types.NamespacedName{Namespace: e.Regarding.Namespace, Name: e.Regarding.Name}
	team, err := index.Owner(ctx, r, key.Namespace)
	if err == nil && team != nil {
		err = r.Live.Get(ctx, key, p)
	}
	if apierror.IgnoreNotFound(err) != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot look up a pod that is evicted", "pod", key)
	}
	if name := p.Labels[v1alpha1.LabelSuite]; name != "" && p.UID == e.Regarding.UID {
		r.begin(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: p.Namespace, Name: name}}, p.Name, p.UID)
	}
}

func (r *Rescue) begin(ctx context.Context, run ctrl.Request, name string, uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.pods[uid]; p != nil {
		p.changed = true
		return
	}
	p := &rescuedPod{run: run, busy: true}
	r.pods[uid] = p
	r.all.Go(func() {
		for r.retries(uid, p, r.rescue(ctx, run, name, uid)) {
		}
	})
}

// retries reports whether to rescue again at once, because the pod has changed. If not, it forgets the pod if a later change may save more
// (a container starts late, or a node is back). Otherwise it keeps the pod, so that it is rescued once.
func (r *Rescue) retries(uid types.UID, p *rescuedPod, more bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if more && p.changed && !p.gone {
		p.changed = false
		return true
	}
	p.busy = false
	if more || p.gone {
		delete(r.pods, uid)
	}
	return false
}

func (r *Rescue) forget(namespace string, gone func(types.UID) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, p := range r.pods {
		switch {
		case namespace != "" && namespace != p.run.Namespace, !gone(uid):
		case p.busy:
			p.gone = true
		default:
			delete(r.pods, uid)
		}
	}
}

// The logs are opened before the store is asked which ones it has: the kubelet does not wait for a slow store.
func (r *Rescue) rescue(ctx context.Context, run ctrl.Request, name string, uid types.UID) (more bool) {
	s, team, err := r.runOf(ctx, run)
	if err != nil || s == nil || team == nil {
		return err != nil
	}
	pod, err := r.pod(ctx, team.Name, client.ObjectKey{Namespace: run.Namespace, Name: name})
	if err != nil || pod == nil || pod.UID != uid || !record.IsPodOf(s, pod) {
		return err != nil
	}
	archived := record.Of(team.Name, s)
	saved := sync.OnceValue(func() []record.Log { return r.saved(ctx, archived) })
	deadline := time.Now().Add(r.left(pod))
	results := make(chan bool)
	sources := record.Sources([]corev1.Pod{*pod})
	for _, source := range sources {
		go func() { results <- r.follow(ctx, archived, s, source, saved, deadline) }()
	}
	more = startsLate(pod)
	for range sources {
		more = <-results || more
	}
	return more
}

// The kubelet may have started a container without having said so.
func startsLate(p *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(p.Spec.InitContainers, p.Spec.Containers), func(c corev1.Container) bool {
		return !slices.ContainsFunc(record.Sources([]corev1.Pod{*p}), func(s record.Source) bool { return s.Container == c.Name })
	})
}

func (r *Rescue) saved(ctx context.Context, run record.Run) []record.Log {
	logs, err := r.Archive.Logs(ctx, run)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the store does not say which logs it has", "team", run.Team, "suite", run.ID)
	}
	return logs
}

func (r *Rescue) runOf(ctx context.Context, run ctrl.Request) (*v1alpha1.Suite, *v1alpha1.Team, error) {
	s, err := reconcile.Get[v1alpha1.Suite](ctx, r, run.Namespace, run.Name)
	if err != nil || s == nil || s.Archived() {
		return nil, nil, err
	}
	if s.Finished() || s.Annotations[v1alpha1.AnnotationVariablesOmitted] != "" { // the cache has dropped its variables
		if s, err = reconcile.Get[v1alpha1.Suite](ctx, r.Live, run.Namespace, run.Name); err != nil || s == nil {
			return nil, nil, err
		}
	}
	team, err := index.Owner(ctx, r, run.Namespace)
	return s, team, err
}

// Hundreds of pods may be deleted at once, so few are read at once.
func (r *Rescue) pod(ctx context.Context, team string, key client.ObjectKey) (*corev1.Pod, error) {
	release, err := r.reads.Acquire(ctx, team)
	if err != nil {
		return nil, err
	}
	defer release()
	return reconcile.Get[corev1.Pod](ctx, r.Live, key.Namespace, key.Name)
}

// What containers print later is lost.
func (r *Rescue) left(p *corev1.Pod) time.Duration {
	if p.DeletionTimestamp != nil { // the end of the grace period
		return min(max(0, p.DeletionTimestamp.Sub(r.Clock.Now()))+rescueMargin, rescueWithin)
	}
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if p.Spec.TerminationGracePeriodSeconds != nil {
		grace = min(*p.Spec.TerminationGracePeriodSeconds, int64(rescueWithin/time.Second))
	}
	return min(time.Duration(grace)*time.Second+rescueMargin, rescueWithin)
}
