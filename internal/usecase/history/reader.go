// Package history reads the history of tests, and insights, from the summaries in the archive.
package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/fairness"
)

// Archive has the summaries. Its errors are fs.ErrNotExist, history.ErrUnreadable, and temporary errors with a public text.
type Archive interface {
	OpenDay(ctx context.Context, team, day string) (content io.ReadCloser, bytes int64, err error)
	TestOn(ctx context.Context, team, day string, p *history.PlaceDay, name string) (t history.TestDay, found bool, err error)
	TestsOn(ctx context.Context, team, day string, p *history.PlaceDay, text string, each func(history.TestDay)) error
}

const (
	readsAtOnce = 16 // of objects of an answer: with 10 ms each, 180 days take 120 ms

	// answersAtOnce bounds the memory, and answersOfTeam that of one team: an answer keeps 6 MiB at most, beside days that are being read.
	answersAtOnce, answersOfTeam = 4, 2
)

// Reader answers from the archive.
type Reader struct {
	archive Archive
	clock   clock.PassiveClock
	timeout time.Duration
	slots   *fairness.Semaphore

	days, tests *semaphore.Weighted // bytes
}

// NewReader returns a Reader. The timeout is for the archive, with the wait for other answers.
func NewReader(a Archive, c clock.PassiveClock, timeout time.Duration) *Reader {
	return &Reader{
		archive: a, clock: c, timeout: timeout, slots: fairness.NewSharedSemaphore(answersAtOnce, answersOfTeam),
		days: semaphore.NewWeighted(readBytes), tests: semaphore.NewWeighted(testBytes),
	}
}

// ArchiveError means that the archive cannot be read. Everyone may read its text.
type ArchiveError struct{ Err error }

func (e *ArchiveError) Error() string { return e.Err.Error() }
func (e *ArchiveError) Unwrap() error { return e.Err }

// errBusy means that there was no slot in time.
var errBusy = &ArchiveError{errors.New("other questions are being answered")}

// useDay takes from a day what an answer needs. What it returns is called in the order of days.
type useDay func(context.Context, *history.IndexedDay) (add func(), err error)

// answer is a question that is being answered.
type answer struct {
	*Reader
	team       *v1alpha1.Team
	query      Query
	reads      *semaphore.Weighted // of tests
	unreadable int                 // days
	tooLarge   int                 // days
	cut        bool                // there is more than an answer holds
}

// begin waits for a slot of the team. The caller calls end.
func (r *Reader) begin(ctx context.Context, team *v1alpha1.Team, q Query) (a *answer, bounded context.Context, end func(), err error) {
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	release, err := r.slots.Acquire(bounded, team.Name)
	if err != nil {
		cancel()
		return nil, nil, nil, errBusy
	}
	a = &answer{Reader: r, team: team, query: q, reads: semaphore.NewWeighted(readsAtOnce)}
	return a, bounded, func() { release(); cancel() }, nil
}

// problem says what is missing.
func (a *answer) problem() string {
	var all []string
	switch a.unreadable {
	case 0:
	case 1:
		all = append(all, "The summary of one day cannot be read. Its runs are missing here.")
	default:
		all = append(all, fmt.Sprintf("The summaries of %d days cannot be read. Their runs are missing here.", a.unreadable))
	}
	switch a.tooLarge {
	case 0:
	case 1:
		all = append(all, "One day has more runs than an answer can read. They are missing here, and are still in the archive.")
	default:
		all = append(all, fmt.Sprintf("%d days have more runs than an answer can read. "+
			"They are missing here, and are still in the archive.", a.tooLarge))
	}
	if a.cut {
		all = append(all, "There are more tests, or Triggers and Environments, than an answer holds. "+
			"Some of older days are missing in the lists. Choose fewer days or one Trigger.")
	}
	return strings.Join(all, " ")
}

// has reports whether a run is selected, and not of an earlier team of the same name.
func (a *answer) has(r history.Run) bool {
	if !a.query.selection().Has(r.Place) {
		return false
	}
	created, err := r.Created()
	return err == nil && a.team.Owns(created)
}

// each reads days, several at once, the newest first. It keeps none.
func (a *answer) each(ctx context.Context, days []string, parts history.Parts, use useDay) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	take, add := firstTicket(), firstTicket()
	for _, day := range days {
		r := reading{answer: a, day: day, parts: parts, take: take, add: add}
		group.Go(func() error { return r.read(ctx, use) })
		take, add = take.next(), add.next()
	}
	return group.Wait()
}

// reading is a day that is being read.
type reading struct {
	*answer
	day       string
	parts     history.Parts
	take, add ticket // days take their bytes in order, so that none waits for the bytes of a later day
}

func (r reading) read(ctx context.Context, use useDay) error {
	content, stored, err := r.archive.OpenDay(ctx, r.team.Name, r.day)
	if err != nil && !isMissing(err) {
		return &ArchiveError{err}
	}
	bytes := int64(0)
	if err == nil {
		defer content.Close()
		bytes = charge(stored)
	}
	if err := r.take.wait(ctx); err != nil {
		return err
	}
	release, busy := acquire(ctx, r.days, bytes)
	if busy != nil {
		return busy
	}
	defer release()
	r.take.done()
	add := func() {}
	if err == nil {
		add, err = r.decode(ctx, content, bytes, use)
	}
	if err != nil {
		if add = r.count(err); add == nil {
			return err
		}
	}
	if err := r.add.wait(ctx); err != nil {
		return err
	}
	add()
	r.add.done()
	return nil
}

func (r reading) decode(ctx context.Context, content io.Reader, bytes int64, use useDay) (func(), error) {
	parts := r.parts
	parts.Bytes = int(bytes)
	if parts.Has == nil {
		parts.Has = r.has
	}
	d, err := history.ReadParts(content, parts)
	if err != nil {
		return nil, err
	}
	d.Day.Day = r.day
	return use(ctx, d)
}

// count returns what counts a day that is missing, or nil for another error.
func (r reading) count(err error) func() {
	switch {
	case errors.Is(err, history.ErrTooLarge):
		return func() { r.tooLarge++ }
	case errors.Is(err, history.ErrUnreadable):
		return func() { r.unreadable++ }
	case isMissing(err):
		return func() {}
	}
	return nil
}

// isMissing reports whether an object is not there, or is not what its key says. Other errors may pass.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, history.ErrUnreadable)
}

// see looks for a test in a place on a day. It returns nil if there is none.
func (a *answer) see(ctx context.Context, d *history.IndexedDay, pd *history.PlaceDay, name string) (*history.SeenDay, error) {
	t, found, err := a.find(ctx, d, pd, name)
	if err != nil || !found {
		return nil, err
	}
	return d.See(t, pd), nil
}

// find returns a test in a place on a day, with its outcomes in all runs.
func (a *answer) find(ctx context.Context, d *history.IndexedDay, pd *history.PlaceDay, name string) (
	t history.TestDay, found bool, err error,
) {
	err = a.reading(ctx, pd, func() (err error) {
		t, found, err = a.archive.TestOn(ctx, a.team.Name, d.Day.Day, pd, name)
		return err
	})
	return t, found && err == nil, err
}

// reading reads tests of a place, within bounds. While the day is being summarized again, there are none.
func (a *answer) reading(ctx context.Context, pd *history.PlaceDay, read func() error) error {
	done, err := acquire(ctx, a.reads, 1)
	if err != nil {
		return err
	}
	defer done()
	release, err := acquire(ctx, a.tests, min(int64(pd.TestBytes()), testBytes))
	if err != nil {
		return err
	}
	defer release()
	if err := read(); err != nil && !isMissing(err) {
		return &ArchiveError{err}
	}
	return nil
}
