package archive

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

const (
	// summarizeAfter is how long after a run its day is summarized: the runs of a deployment often end together.
	summarizeAfter = 2 * time.Second

	// summarizeShare bounds the time spent on summaries: after one, its day waits so many times as long as that took.
	summarizeShare = 20

	// summarizeRetry is how long a day waits after a failure.
	summarizeRetry = time.Minute

	// recentDays are looked at when a manager starts to lead: the last one may have ended before it had summarized them.
	recentDays = 8 // a run lasts a week at most
)

// Summarizer keeps the summaries of days up to date. It remembers nothing that it could not find again in the store.
type Summarizer struct {
	archive *Archive
	teams   func(context.Context) (map[string]time.Duration, error)
	clock   clock.Clock

	mu    sync.Mutex
	due   map[teamDay]time.Time
	until map[teamDay]time.Time // not again before
	wake  chan struct{}
}

type teamDay struct{ team, day string }

// NewSummarizer returns a Summarizer. teams returns the lifetime of each team's records, as for a Cleaner.
func NewSummarizer(a *Archive, teams func(context.Context) (map[string]time.Duration, error), c clock.Clock) *Summarizer {
	return &Summarizer{
		archive: a, teams: teams, clock: c, due: map[teamDay]time.Time{}, until: map[teamDay]time.Time{}, wake: make(chan struct{}, 1),
	}
}

// NeedLeaderElection is true: two would undo each other's work.
func (s *Summarizer) NeedLeaderElection() bool { return true }

// Changed says that the record of a run was saved that was created at a time.
func (s *Summarizer) Changed(team string, created time.Time) {
	s.add(teamDay{team, created.UTC().Format(time.DateOnly)}, summarizeAfter)
}

func (s *Summarizer) add(d teamDay, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.clock.Now().Add(after)
	if until := s.until[d]; until.After(at) {
		at = until
	}
	if known, waits := s.due[d]; !waits || at.Before(known) {
		s.due[d] = at
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Start summarizes until the context ends: days on which runs end, and each hour those that lack a summary.
func (s *Summarizer) Start(ctx context.Context) error {
	look, looked := s.clock.NewTimer(clearAfter), false
	defer look.Stop()
	for {
		day, wait := s.next()
		if day != nil {
			s.summarize(ctx, *day)
			continue
		}
		next := s.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			next.Stop()
			return nil
		case <-look.C():
			s.find(ctx, !looked)
			look.Reset(clearEvery)
			looked = true
		case <-s.wake:
		case <-next.C():
		}
		next.Stop()
	}
}

// next takes the day that is due, or returns how long to wait.
func (s *Summarizer) next() (*teamDay, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, wait := s.clock.Now(), clearEvery
	for d, at := range s.due {
		if !at.After(now) {
			delete(s.due, d)
			return &d, 0
		}
		wait = min(wait, at.Sub(now))
	}
	for d, until := range s.until {
		if !until.After(now) {
			delete(s.until, d)
		}
	}
	return nil, wait
}

func (s *Summarizer) summarize(ctx context.Context, d teamDay) {
	day, err := time.Parse(time.DateOnly, d.day)
	if err != nil {
		return
	}
	begin := s.clock.Now()
	err = s.archive.Summarize(ctx, d.team, day)
	now := s.clock.Now()
	if err != nil {
		if ctx.Err() == nil {
			log.FromContext(ctx).Info("a day could not be summarized", "team", d.team, "day", d.day, "problem", err.Error())
			s.add(d, summarizeRetry)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until[d] = now.Add(summarizeShare * now.Sub(begin))
}

// find looks for days that lack a summary, and for runs that ended without the manager. With all, it also reads the summaries of the other
// days: an earlier version, or damage, may have left some that cannot be read.
func (s *Summarizer) find(ctx context.Context, all bool) {
	teams, err := s.teams(ctx)
	if err != nil {
		log.FromContext(ctx).Info("days without a summary are not looked for, because the teams cannot be listed", "problem", err.Error())
	}
	recent := s.clock.Now().UTC().AddDate(0, 0, -recentDays)
	for team := range teams {
		days, err := s.archive.days(ctx, team)
		if err != nil {
			continue // while the store is unavailable, nothing can be summarized
		}
		summarized, err := s.archive.summaryDays(ctx, team)
		if err != nil {
			continue
		}
		done := map[time.Time]bool{}
		for _, day := range summarized {
			done[day] = true
		}
		for _, day := range days {
			name := day.Format(time.DateOnly)
			if day.After(recent) || !done[day] || all && s.unreadable(ctx, team, name) {
				s.add(teamDay{team, name}, 0)
			}
		}
	}
}

func (s *Summarizer) unreadable(ctx context.Context, team, day string) bool {
	_, err := s.archive.Day(ctx, team, day)
	return errors.Is(err, history.ErrUnreadable) || errors.Is(err, fs.ErrNotExist)
}
