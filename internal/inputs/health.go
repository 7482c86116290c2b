package inputs

import (
	"context"
	"errors"
	"net/http"
	"path"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// health is what the store last said.
type health struct {
	up      prometheus.Gauge
	problem atomic.Pointer[string] // nil: none
	watched atomic.Bool
	silent  atomic.Pointer[string] // why the store gave no answer at all; nil: it did
}

func newHealth() *health {
	h := &health{up: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "postflight_store_up",
		Help: "1 if the store of run inputs answers and lets the manager in, else 0.",
	})}
	h.set(errors.New("it has not been asked yet"))
	return h
}

func (h *health) set(problem error) (changed bool) {
	if problem == nil {
		h.up.Set(1)
		return h.problem.Swap(nil) != nil
	}
	h.up.Set(0)
	is := problem.Error()
	was := h.problem.Swap(&is)
	return was == nil || *was != is
}

// heard remembers whether there was an answer, whatever it was.
func (h *health) heard(err error) {
	if err == nil || minio.ToErrorResponse(err).StatusCode != 0 {
		h.silent.Store(nil)
		return
	}
	why := words(err)
	h.silent.Store(&why)
}

// known is why a store that is watched need not be asked: it gave no answer, and the watcher tells when
// it does again. Without this, the runs that wait for a store that hangs would keep all others from
// being looked after.
func (h *health) known() error {
	if why := h.silent.Load(); why != nil && h.watched.Load() {
		return &unavailable{words: *why}
	}
	return nil
}

// Register adds the metric.
func (s *Store) Register(r prometheus.Registerer) error { return r.Register(s.health.up) }

// Ready is a check for /readyz. Asked alone, at /readyz/store, it says what is wrong with the store;
// in the sum of all checks it is always well, as notifications are answered and URLs are signed
// without the store.
func (s *Store) Ready(r *http.Request) error {
	if path.Clean("/"+r.URL.Path) == "/" {
		return nil
	}
	if problem := s.health.problem.Load(); problem != nil {
		return errors.New("the store cannot be used: " + *problem)
	}
	return nil
}

// Watcher asks the store how it is, again and again, and creates the bucket if it is told to.
type Watcher struct {
	Store        *Store
	CreateBucket bool
}

// NeedLeaderElection is false: every replica has its own way to the store.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Start watches until the context ends.
func (w *Watcher) Start(ctx context.Context) error {
	w.Store.health.watched.Store(true)
	defer w.Store.health.watched.Store(false)
	ticker := time.NewTicker(silentEvery)
	defer ticker.Stop()
	for next := time.Now(); ; {
		if now := time.Now(); !now.Before(next) || w.Store.health.silent.Load() != nil {
			next = now.Add(healthEvery)
			w.tell(ctx, w.look(ctx))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (w *Watcher) tell(ctx context.Context, problem error) {
	changed := w.Store.health.set(problem)
	switch log := log.FromContext(ctx); {
	case !changed || ctx.Err() != nil:
	case problem != nil:
		log.Info("the store of run inputs cannot be used", "problem", problem.Error())
	default:
		log.Info("the store of run inputs answers", "bucket", w.Store.options.Bucket)
	}
}

func (w *Watcher) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s := w.Store
	exists, err := s.private.BucketExists(ctx, s.options.Bucket)
	s.health.heard(err)
	switch {
	case err != nil:
		return &unavailable{words: words(err), cause: err}
	case exists:
		return nil
	case !w.CreateBucket:
		return errors.New("it has no such bucket; create it, or set --store-create-bucket")
	}
	if err := s.private.MakeBucket(ctx, s.options.Bucket, minio.MakeBucketOptions{Region: s.options.Region}); err != nil {
		return &unavailable{words: "the bucket cannot be created: " + words(err), cause: err}
	}
	return nil
}
