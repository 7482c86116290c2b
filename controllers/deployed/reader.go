package deployed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// Reader reads what Environments have from the API server, not from the watches, which may lag behind: a verdict depends on it.
type Reader struct {
	*Workloads
	cache client.Reader
	live  client.Reader

	asking singleflight.Group
	clock  clock.PassiveClock
	slots  *fairness.Semaphore // bounds the pages in memory

	mu    sync.Mutex
	locks map[string]*readLock // of the Environments that are being read, or could not be
}

// readLock lets one reading of an Environment run at a time.
type readLock struct {
	busy   chan struct{}
	users  int
	failed error // why the last reading failed
	at     time.Time
}

const (
	// readTimeout is for kinds whose webhook or API server hangs: each run that waits for it holds a worker.
	readTimeout = 5 * time.Second

	// failedFor is how long runs are told that a reading has failed, so that those of one Environment do not hold up all others.
	failedFor = 5 * time.Second

	// firstPage bounds a page to 15 MiB, because the API server keeps no object of more than 1.5 MiB.
	firstPage = 10

	// readingsAtOnce are those of all teams, each with a page.
	readingsAtOnce, readingsOfNamespace = 8, 2

	// readingWait is how long a run waits for others of its namespace: it holds a worker, which those of other teams need, and comes again.
	readingWait = 500 * time.Millisecond
)

// NewReader returns a Reader with the clients of a manager.
func NewReader(mgr ctrl.Manager, shared *Workloads, clock clock.PassiveClock) *Reader {
	return &Reader{
		Workloads: shared, cache: mgr.GetClient(), live: mgr.GetAPIReader(), clock: clock, locks: map[string]*readLock{},
		slots: fairness.NewSharedSemaphore(readingsAtOnce, readingsOfNamespace),
	}
}

// UnderTest implements suite.Workloads.
func (r *Reader) UnderTest(ctx context.Context, e *v1alpha1.Environment) ([]v1alpha1.TestedWorkload, error) {
	return r.ask(ctx, e, "now", r.digests)
}

// BeforeTests implements suite.Workloads. The digests of a rollout are read when it is complete: the run that it starts need not wait for
// them again. They may be a moment older than its Job: images that change meanwhile are a change under the run.
func (r *Reader) BeforeTests(ctx context.Context, e *v1alpha1.Environment) ([]v1alpha1.TestedWorkload, error) {
	return r.ask(ctx, e, "before", func(ctx context.Context, o *unstructured.Unstructured) ([]v1alpha1.ImageDigest, error) {
		if digests, known := r.recent.get(o); known {
			return digests, nil
		}
		return r.digests(ctx, o)
	})
}

// readDigests returns the digests of an object's pods.
type readDigests func(ctx context.Context, o *unstructured.Unstructured) ([]v1alpha1.ImageDigest, error)

// ask shares readings: while an Environment is being read, all runs that ask for the same get the next reading, so a hundred runs that end
// together cost two.
func (r *Reader) ask(ctx context.Context, e *v1alpha1.Environment, what string, digests readDigests) ([]v1alpha1.TestedWorkload, error) {
	key := fmt.Sprintf("%s/%d", e.UID, e.Generation)
	answers := r.asking.DoChan(key+what, func() (any, error) {
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*readTimeout) // to wait, and to read
		defer cancel()
		lock := r.lock(key)
		select {
		case lock.busy <- struct{}{}:
		case <-shared.Done():
			r.leave(lock)
			return nil, shared.Err()
		}
		release, err := r.acquire(shared, e.Namespace)
		r.asking.Forget(key + what) // those who ask from now on need a later reading
		var all []v1alpha1.TestedWorkload
		if err == nil {
			all, err = r.readUnlessFailed(shared, lock, e, digests)
			release()
		}
		<-lock.busy
		r.leave(lock)
		return all, err
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-answers:
		if a.Err != nil {
			return nil, a.Err
		}
		var own []v1alpha1.TestedWorkload // runs write into theirs
		for _, w := range a.Val.([]v1alpha1.TestedWorkload) {
			own = append(own, *w.DeepCopy())
		}
		return own, nil
	}
}

func (r *Reader) acquire(ctx context.Context, namespace string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, readingWait)
	defer cancel()
	if release, err = r.slots.Acquire(ctx, namespace); err != nil {
		return nil, errors.New("what runs in other Environments of the team is being read")
	}
	return release, nil
}

func (r *Reader) lock(key string) *readLock {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locks[key] == nil {
		r.locks[key] = &readLock{busy: make(chan struct{}, 1)}
	}
	r.locks[key].users++
	return r.locks[key]
}

// leave drops all locks without users. A failure is remembered for a while, because the runs that were told of it ask again.
func (r *Reader) leave(own *readLock) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own.users--
	maps.DeleteFunc(r.locks, func(_ string, l *readLock) bool {
		return l.users == 0 && (l.failed == nil || r.clock.Since(l.at) > failedFor)
	})
}

// readUnlessFailed is called by one at a time.
func (r *Reader) readUnlessFailed(
	ctx context.Context, lock *readLock, e *v1alpha1.Environment, digests readDigests,
) ([]v1alpha1.TestedWorkload, error) {
	r.mu.Lock()
	failed, at := lock.failed, lock.at
	r.mu.Unlock()
	if failed != nil && r.clock.Since(at) <= failedFor {
		return nil, failed
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	all, err := r.read(ctx, e, digests)
	r.mu.Lock()
	defer r.mu.Unlock()
	lock.failed, lock.at = err, r.clock.Now()
	return all, err
}

func (r *Reader) read(ctx context.Context, e *v1alpha1.Environment, digests readDigests) ([]v1alpha1.TestedWorkload, error) {
	team, err := index.Owner(ctx, r.cache, e.Namespace)
	if err != nil {
		return nil, err
	}
	all, err := finder{e, team, r.expressions.known(e)}.findAll(
		func(w v1alpha1.Workload, s workloads.Source, selection workloads.Selection) ([]*unstructured.Unstructured, string, error) {
			return r.objects(ctx, s, w, selection)
		})
	if err != nil {
		return nil, err
	}
	all = workloads.Compared(all) // each costs a request
	for i := range all {
		if all[i].Object == nil {
			continue
		}
		if all[i].Digests, err = digests(ctx, all[i].Object); err != nil {
			return nil, err
		}
	}
	return workloads.Versions(all), nil
}

// objects lists those that a workload means. The right to list is the one that the manager has for watching.
func (r *Reader) objects(
	ctx context.Context, s workloads.Source, w v1alpha1.Workload, selection workloads.Selection,
) (all []*unstructured.Unstructured, problem string, err error) {
	resource, problem, err := r.kinds.find(ctx, s)
	if err != nil {
		return nil, "", fmt.Errorf("it cannot be found out whether the cluster has the kind %s: %w", s.Kind, err)
	}
	if problem != "" {
		return nil, problem, nil
	}
	options := metav1.ListOptions{Limit: firstPage, FieldSelector: fields.OneTermEqualSelector("metadata.name", w.Name).String()}
	if w.Selector != nil {
		options = metav1.ListOptions{Limit: firstPage, LabelSelector: metav1.FormatLabelSelector(w.Selector)}
	}
	all, err = list(ctx, r.client.Resource(resource).Namespace(s.Namespace), options, selection)
	switch {
	case apierrors.IsForbidden(err):
		return nil, workloads.MayNotRead(s), nil
	case apierrors.IsNotFound(err), apierrors.IsBadRequest(err):
		return nil, fmt.Sprintf("Objects of kind %s in namespace %s cannot be listed: %s.", s.Kind, s.Namespace,
			strings.TrimSuffix(err.Error(), ".")), nil
	case err != nil:
		return nil, "", fmt.Errorf("list objects of kind %s in namespace %s: %w", s.Kind, s.Namespace, err)
	}
	return all, "", nil
}

// list returns the first objects that a selection has, by name: the API server lists them so. It keeps of each page what is read of them.
func list(
	ctx context.Context, from dynamic.ResourceInterface, options metav1.ListOptions, selection workloads.Selection,
) (all []*unstructured.Unstructured, err error) {
	for {
		page, err := from.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			o := page.Items[i] // a pointer to it would keep the page
			if workloads.Slim(&o); selection.Has(&o) {
				all = append(all, &o)
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" || len(all) >= workloads.MaxCompared {
			return all, nil
		}
		options.Limit = nextPage(options.Limit, page)
	}
}

// digests are unknown without the right to read pods, and of more pods than are read at once.
func (r *Reader) digests(ctx context.Context, o *unstructured.Unstructured) ([]v1alpha1.ImageDigest, error) {
	selector, found := workloads.PodsOf(o)
	if !found {
		return nil, nil
	}
	pods, complete, err := podsOf(ctx, r.live, o.GetNamespace(), selector)
	if apierrors.IsForbidden(err) || err == nil && !complete {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the pods of the %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return workloads.Digests(pods), nil
}
