package objectstore

import (
	"context"
	"errors"
	"fmt"
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
		Help: "1 if the object store answers and accepts the manager's credentials, else 0.",
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
	text := problem.Error()
	before := h.problem.Swap(&text)
	return before == nil || *before != text
}

// record notes whether there was an answer, good or bad.
func (h *health) record(err error) {
	if answered(err) {
		h.silent.Store(nil)
		return
	}
	why := publicMessage(err)
	h.silent.Store(&why)
}

// lastFailure returns an error while a watched store is silent: runs that wait for it would otherwise occupy all workers.
func (h *health) lastFailure() error {
	if why := h.silent.Load(); why != nil && h.watched.Load() {
		return &unavailable{text: *why}
	}
	return nil
}

// Register adds the metric.
func (b *Bucket) Register(r prometheus.Registerer) error { return r.Register(b.health.up) }

// Ready is a check that fails only at /readyz/store: without the store, notifications are answered and URLs are signed.
func (b *Bucket) Ready(r *http.Request) error {
	if path.Clean("/"+r.URL.Path) == "/" {
		return nil
	}
	if problem := b.Problem(); problem != "" {
		return fmt.Errorf("the store %s cannot be used: %s", b.options.Endpoint, problem)
	}
	return nil
}

// Problem returns why the store cannot be used, as of the last check, or "".
func (b *Bucket) Problem() string {
	if problem := b.health.problem.Load(); problem != nil {
		return *problem
	}
	return ""
}

// Watcher checks the store periodically, and creates the bucket if CreateBucket is set.
type Watcher struct {
	Bucket       *Bucket
	CreateBucket bool
}

// NeedLeaderElection is false: every replica has its own connections to the store.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Start watches until the context ends.
func (w *Watcher) Start(ctx context.Context) error {
	w.Bucket.health.watched.Store(true)
	defer w.Bucket.health.watched.Store(false)
	ticker := time.NewTicker(silentEvery)
	defer ticker.Stop()
	for next := time.Now(); ; {
		if now := time.Now(); !now.Before(next) || w.Bucket.health.silent.Load() != nil {
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
	changed := w.Bucket.health.set(problem)
	log := log.FromContext(ctx)
	switch {
	case !changed || ctx.Err() != nil:
	case problem != nil:
		log.Error(problem, "the object store cannot be used", "endpoint", w.Bucket.options.Endpoint, "bucket", w.Bucket.options.Bucket)
	default:
		log.Info("the object store answers", "bucket", w.Bucket.options.Bucket)
	}
}

func (w *Watcher) check(ctx context.Context) error {
	b := w.Bucket
	asked := watch(ctx, askTimeout)
	defer asked.End()
	exists, err := b.private.BucketExists(asked, b.options.Bucket)
	err = asked.Reason(err)
	b.health.record(err)
	switch {
	case err != nil:
		return &unavailable{text: publicMessage(err), cause: err}
	case exists:
		return nil
	case !w.CreateBucket:
		return errors.New(noBucket)
	}
	if err := b.private.MakeBucket(asked, b.options.Bucket, minio.MakeBucketOptions{Region: b.options.Region}); err != nil {
		return &unavailable{text: "the bucket cannot be created: " + publicMessage(err), cause: err}
	}
	return nil
}
