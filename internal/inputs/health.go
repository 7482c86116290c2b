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
	ticker := time.NewTicker(healthEvery)
	defer ticker.Stop()
	for {
		err := w.look(ctx)
		if changed := w.Store.health.set(err); changed && ctx.Err() == nil {
			if err != nil {
				log.FromContext(ctx).Info("the store of run inputs cannot be used", "problem", err.Error())
			} else {
				log.FromContext(ctx).Info("the store of run inputs answers", "bucket", w.Store.options.Bucket)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (w *Watcher) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s := w.Store
	exists, err := s.private.BucketExists(ctx, s.options.Bucket)
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
