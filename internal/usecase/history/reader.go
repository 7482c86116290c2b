// Package history reads the history of tests, and insights, from the summaries in the archive.
package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/history"
	"github.com/postflight-dev/postflight/internal/fairness"
)

// Archive has the summaries. Its errors are fs.ErrNotExist, history.ErrUnreadable, and temporary ones, the text of which is public.
type Archive interface {
	Day(ctx context.Context, team, day string) (history.Day, error)
	TestOn(ctx context.Context, team, day string, p *history.PlaceDay, name string) (t history.TestDay, found bool, err error)
	TestsOn(ctx context.Context, team, day string, p *history.PlaceDay, text string, each func(history.TestDay)) error
}

const (
	readsAtOnce = 16 // of objects of an answer: with 10 ms each, 180 days take 120 ms

	// answersAtOnce bounds the memory, and answersOfTeam that of one team: each answer holds the runs of up to 180 days, some 300 bytes each.
	answersAtOnce, answersOfTeam = 4, 2
)

// Reader answers from the archive.
type Reader struct {
	archive Archive
	clock   clock.PassiveClock
	timeout time.Duration
	turns   *fairness.Semaphore
}

// NewReader returns a Reader. The timeout is for the archive, with the wait for other answers.
func NewReader(a Archive, c clock.PassiveClock, timeout time.Duration) *Reader {
	return &Reader{archive: a, clock: c, timeout: timeout, turns: fairness.NewSharedSemaphore(answersAtOnce, answersOfTeam)}
}

// ArchiveError means that the archive cannot be read. Everyone may read its text.
type ArchiveError struct{ Err error }

func (e *ArchiveError) Error() string { return e.Err.Error() }
func (e *ArchiveError) Unwrap() error { return e.Err }

// begin waits for a turn of the team. The caller calls end.
func (r *Reader) begin(ctx context.Context, team string) (bounded context.Context, end func(), err error) {
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	release, err := r.turns.Acquire(bounded, team)
	if err != nil {
		cancel()
		return nil, nil, &ArchiveError{errors.New("other questions are being answered")}
	}
	return bounded, func() { release(); cancel() }, nil
}

// known are summaries by day, and what is missing of them.
type known struct {
	days    map[string]*history.Day
	missing int // days that cannot be read
}

func (k *known) problem() string {
	switch k.missing {
	case 0:
		return ""
	case 1:
		return "The summary of one day cannot be read. Its runs are missing here."
	default:
		return fmt.Sprintf("The summaries of %d days cannot be read. Their runs are missing here.", k.missing)
	}
}

// read returns the summaries of days, without what is older than the team.
func (r *Reader) read(ctx context.Context, team *v1alpha1.Team, days []string) (*known, error) {
	all := &known{days: map[string]*history.Day{}}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for _, day := range days {
		group.Go(func() error {
			d, err := r.archive.Day(ctx, team.Name, day)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, history.ErrUnreadable):
				all.missing++
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return &ArchiveError{err}
			default:
				all.days[day] = own(team, d)
			}
			return nil
		})
	}
	return all, group.Wait()
}

// own leaves out runs of an earlier team of the same name.
func own(team *v1alpha1.Team, d history.Day) *history.Day {
	d = d.Only(func(r history.Run) bool {
		created, err := r.Created()
		return err == nil && team.Owns(created)
	})
	return &d
}

// seen reads the days of a test in a place, the newest first, until these have enough runs of the place, and returns them with the oldest
// first, and whether they are all. With enough 0, it reads all.
func (r *Reader) seen(ctx context.Context, team, name string, in place, enough int) (s history.Seen, all bool, err error) {
	s.Place = in.Place
	runs := 0
	for page := range slices.Chunk(in.days, pageOf(enough)) {
		found := make([]*history.SeenDay, len(page))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(readsAtOnce)
		for i, day := range page {
			group.Go(func() (err error) {
				found[i], err = r.seenOn(ctx, team, name, day)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return s, false, err
		}
		for i, d := range found {
			if d != nil {
				s.Days = append(s.Days, *d)
			}
			runs += len(page[i].in.Runs)
		}
		if all = page[len(page)-1].day == in.days[len(in.days)-1].day; enough > 0 && runs >= enough {
			break
		}
	}
	slices.Reverse(s.Days)
	return s, all, nil
}

// pageOf is how many days are read at once: one after the other if few are enough.
func pageOf(enough int) int {
	if enough > 0 {
		return 2
	}
	return MaxDays
}

func (r *Reader) seenOn(ctx context.Context, team, name string, d placeDay) (*history.SeenDay, error) {
	t, found, err := r.archive.TestOn(ctx, team, d.day.Day, d.in, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, history.ErrUnreadable): // the day is being summarized again
		return nil, nil
	case err != nil:
		return nil, &ArchiveError{err}
	case !found:
		return nil, nil
	}
	t, found = t.Only(d.in, d.runs)
	if !found {
		return nil, nil
	}
	return &history.SeenDay{Test: t, In: d.in, Runs: d.runs}, nil
}
