// Package replay tries changed Triggers on the notifications that the archive has. It only reads.
package replay

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/fairness"
)

// Archive has the lines of notifications. NotificationsOn is in the order of time; more says that there are others. Notifications returns
// fs.ErrNotExist, record.ErrDamaged with the lines before the damage, or errors that may pass, the text of which is public.
type Archive interface {
	NotificationsOn(ctx context.Context, team string, day time.Time, limit int) (all []record.NotificationsObject, more bool, err error)
	Notifications(ctx context.Context, o record.NotificationsObject) ([]record.Notification, error)
}

const (
	// pageOf notifications take half a second, or less. A page ends with the hour in which it has so many, or after pageTime.
	pageOf   = 5000
	pageTime = 3 * time.Second

	// maxTime bounds an hour with expensive expressions, after which nothing is answered.
	maxTime = 20 * time.Second

	pageDays   = 31   // each takes a request to the archive, also without notifications
	maxObjects = 2000 // of a day: three replicas make 72, and more only if a team sends 20 notifications a second
	maxChanges = 1000 // of a page: each takes half a KiB, and 8 at worst

	// readsAtOnce are of a few hours: at 40 ms each, a week from three replicas takes 1.5 s. They take less than a MiB, and 24 at worst.
	readsAtOnce = 16

	// answersAtOnce bounds the memory, and the processors that expressions take; answersOfTeam leaves room for others.
	answersAtOnce, answersOfTeam = 3, 1
)

// Reader replays. What it reads in the cache must not be changed.
type Reader struct {
	cache     client.Reader
	archive   Archive
	clock     clock.PassiveClock
	answering *fairness.Semaphore
}

// NewReader returns a Reader.
func NewReader(cache client.Reader, a Archive, c clock.PassiveClock) *Reader {
	return &Reader{cache: cache, archive: a, clock: c, answering: fairness.NewSharedSemaphore(answersAtOnce, answersOfTeam)}
}

// Query is what to replay.
type Query struct {
	Team     *v1alpha1.Team
	Triggers []*v1alpha1.Trigger
	Since    time.Time
	Before   time.Time // the end of the page
}

// ArchiveError means that the archive cannot be read. Everyone may read its text.
type ArchiveError struct{ Err error }

func (e *ArchiveError) Error() string { return e.Err.Error() }
func (e *ArchiveError) Unwrap() error { return e.Err }

// ErrBusy means that other answers take all the room there is.
var ErrBusy = errors.New("other replays are being answered")

// ErrExpensive means that the expressions of the Triggers take too long.
var ErrExpensive = errors.New("the replay took too long")

// Replay answers a page, the newest notifications first. Besides these errors, it returns *replay.InvalidError, and those of the cache.
func (r *Reader) Replay(ctx context.Context, q Query) (httpapi.Replay, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime+pageTime)
	defer cancel()
	release, err := r.answering.Acquire(ctx, q.Team.Name)
	if err != nil {
		return httpapi.Replay{}, ErrBusy
	}
	defer release()
	p := &page{Reader: r, Query: q, began: r.clock.Now(), Replay: httpapi.Replay{From: q.Before, To: q.Before,
		Changes: []httpapi.ReplayChange{}}}
	for _, t := range q.Triggers {
		if err := p.compare(ctx, t); err != nil {
			return httpapi.Replay{}, err
		}
	}
	if err := p.readDays(ctx); err != nil {
		return httpapi.Replay{}, err
	}
	return p.answer(), nil
}
