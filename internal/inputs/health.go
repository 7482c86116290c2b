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

// health is the state of the store at the last request.
type health struct {
	up      prometheus.Gauge
	problem atomic.Pointer[string] // nil: none
	watched atomic.Bool
	silent  atomic.Pointer[string] // why the last request had no answer; nil: it had one
}

func newHealth() *health {
	h := &health{up: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "postflight_store_up",
		Help: "1 if the store of run inputs answers and accepts the manager's credentials, else 0.",
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

// record notes whether there was an answer, good or bad.
func (h *health) record(err error) {
	if err == nil || minio.ToErrorResponse(err).StatusCode != 0 {
		h.silent.Store(nil)
		return
	}
	why := publicMessage(err)
	h.silent.Store(&why)
}

// lastFailure is an error if the last request to a watched store had no answer. Then only the watcher sends
// requests: otherwise, the runs that wait for a store that hangs would occupy all workers.
func (h *health) lastFailure() error {
	if why := h.silent.Load(); why != nil && h.watched.Load() {
		return &unavailable{text: *why}
	}
	return nil
}

// Register adds the metric.
func (s *Store) Register(r prometheus.Registerer) error { return r.Register(s.health.up) }

// Ready is a check for /readyz. Alone, at /readyz/store, it says what is wrong with the store. Among all
// checks it always passes, because notifications are answered and URLs are signed without the store.
func (s *Store) Ready(r *http.Request) error {
	if path.Clean("/"+r.URL.Path) == "/" {
		return nil
	}
	if problem := s.health.problem.Load(); problem != nil {
		return errors.New("the store cannot be used: " + *problem)
	}
	return nil
}

// Watcher checks the store periodically, and creates the bucket if CreateBucket is set.
type Watcher struct {
	Store        *Store
	CreateBucket bool
}

// NeedLeaderElection is false: every replica has its own connections to the store.
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
			w.report(ctx, w.check(ctx))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (w *Watcher) report(ctx context.Context, problem error) {
	changed := w.Store.health.set(problem)
	switch log := log.FromContext(ctx); {
	case !changed || ctx.Err() != nil:
	case problem != nil:
		log.Info("the store of run inputs cannot be used", "problem", problem.Error())
	default:
		log.Info("the store of run inputs answers", "bucket", w.Store.options.Bucket)
	}
}

func (w *Watcher) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s := w.Store
	exists, err := s.private.BucketExists(ctx, s.options.Bucket)
	s.health.record(err)
	switch {
	case err != nil:
		return &unavailable{text: publicMessage(err), cause: err}
	case exists:
		return nil
	case !w.CreateBucket:
		return errors.New("it has no such bucket; create it, or set --store-create-bucket")
	}
	if err := s.private.MakeBucket(ctx, s.options.Bucket, minio.MakeBucketOptions{Region: s.options.Region}); err != nil {
		return &unavailable{text: "the bucket cannot be created: " + publicMessage(err), cause: err}
	}
	return nil
}
