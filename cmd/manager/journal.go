package main

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/internal/server/api/notifications"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/replay"
)

// journalTimeout bounds the last save of lines, after the last request was answered. A working store takes less than a second.
const journalTimeout = 5 * time.Second

// setupJournal returns nil without a store.
func setupJournal(mgr ctrl.Manager, bucket *objectstore.Bucket, metrics prometheus.Registerer) (*archive.Journal, error) {
	if bucket == nil {
		return nil, nil
	}
	j := archive.NewJournal(&archive.Archive{Bucket: bucket}, clock.RealClock{})
	return j, errors.Join(j.Register(metrics), mgr.Add(j))
}

// saveJournal saves what the last requests notified.
func saveJournal(j *archive.Journal) {
	if j == nil {
		return
	}
	ctx, cancel := context.WithTimeout(log.IntoContext(context.Background(), ctrl.Log.WithName("journal")), journalTimeout)
	defer cancel()
	j.Save(ctx)
}

// journalOfDispatcher is nil without a store.
func (env surroundings) journalOfDispatcher() dispatch.Journal {
	if env.journal == nil {
		return nil
	}
	return env.journal
}

// replays is nil without a store.
func replays(cache client.Reader, bucket *objectstore.Bucket, c clock.PassiveClock) notifications.Replayer {
	if bucket == nil {
		return nil
	}
	return replay.NewReader(cache, &archive.Archive{Bucket: bucket}, c)
}
