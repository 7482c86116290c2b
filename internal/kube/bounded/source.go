package bounded

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// NewInformer is for cache.Options. It makes an informer that gets no more of an object than the Roster admits.
func (r *Roster) NewInformer(
	lw toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	if _, jobs := kind.(*batchv1.Job); jobs {
		return endedJobs{toolscache.NewSharedIndexInformer(r.wrap(lw, kind), kind, resync, decoding(indexers))}
	}
	return toolscache.NewSharedIndexInformer(r.wrap(lw, kind), kind, resync, indexers)
}

func (r *Roster) wrap(lw toolscache.ListerWatcher, kind runtime.Object) toolscache.ListerWatcher {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := origin{ListerWatcherWithContext: toolscache.ToListerWatcherWithContext(lw),
		streams: !watchlist.DoesClientNotSupportWatchListSemantics(lw)}
	switch kind := kind.(type) {
	case *v1alpha1.Team:
		if r.teams == nil {
			r.teams = &teams{owned: map[string]bool{}, known: make(chan struct{})}
		}
		return &teamSource{origin: from, roster: r}
	case *v1alpha1.Suite:
		return &strippedSource{from, suitePageSize, NewRoom(variableBytes).Share(), admitSuite}
	case *batchv1.Job:
		return &strippedSource{from, jobPageSize, NewRoom(jobBytes).Share(), admitJob}
	case client.Object:
		if _, bounded := namespaceBytes(kind); bounded {
			s := newSource(r, from, kind)
			r.sources = append(r.sources, s)
			return s
		}
	}
	return lw
}

// origin is the API server.
type origin struct {
	toolscache.ListerWatcherWithContext
	streams bool
}

// List implements toolscache.ListerWatcher, which only callers without a context use.
func (o origin) List(options metav1.ListOptions) (runtime.Object, error) {
	return o.ListWithContext(context.Background(), options)
}

// Watch implements toolscache.ListerWatcher, too.
func (o origin) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return o.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported tells a reflector whether a watch can begin with all objects.
func (o origin) IsWatchListSemanticsUnSupported() bool { return !o.streams }

// source is what an informer reads its objects from.
type source struct {
	origin
	roster  *Roster
	kind    client.Object
	book    *book
	reviews *reviews

	list uint64 // its number; guarded by the Roster
}

func newSource(l *Roster, from origin, kind client.Object) *source {
	return &source{origin: from, roster: l, kind: kind, book: l.book(kind), reviews: newReviews()}
}

// maxRestarts bounds how often a list begins again because its pages have expired.
const maxRestarts = 3

// ListWithContext reads pages, and keeps of each only what is admitted: an API server that cannot stream sends all at once otherwise.
func (s *source) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if err := s.roster.awaitTeams(ctx); err != nil {
		return nil, err
	}
	list, err := s.pages(ctx, options, objectPageSize, func() { s.roster.begin(s) }, func(o runtime.Object) bool {
		obj, ok := o.(client.Object)
		if ok {
			strip(obj)
		}
		return ok && s.roster.admit(s, obj)
	})
	if err == nil {
		s.roster.complete(s)
	}
	return list, err
}

// pages lists what keep says. It begins again if the pages expire.
func (o origin) pages(
	ctx context.Context, options metav1.ListOptions, size int64, begin func(), keep func(runtime.Object) bool,
) (runtime.Object, error) {
	for restarts := 0; ; restarts++ {
		begin()
		list, err := o.allPages(ctx, metav1.ListOptions{LabelSelector: options.LabelSelector, Limit: size}, keep)
		if err == nil || !apierrors.IsResourceExpired(err) || restarts == maxRestarts {
			return list, err
		}
	}
}

func (o origin) allPages(ctx context.Context, options metav1.ListOptions, keep func(runtime.Object) bool) (runtime.Object, error) {
	var kept []runtime.Object
	for {
		page, err := o.ListWithContext(ctx, options)
		if err != nil {
			return nil, err
		}
		err = meta.EachListItemWithAlloc(page, func(item runtime.Object) error {
			if keep(item) {
				kept = append(kept, item)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return nil, err
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return page, meta.SetList(page, kept)
		}
	}
}

// WatchWithContext passes on what is admitted.
func (s *source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := s.roster.awaitTeams(ctx); err != nil {
		return nil, err
	}
	inner, err := s.origin.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	t := newStream(ctx, s, inner, options)
	if !t.listed {
		s.roster.begin(s)
	}
	go t.run()
	go s.review(t)
	return t, nil
}
