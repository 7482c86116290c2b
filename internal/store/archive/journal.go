package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/internal/core/record"
)

const (
	// journalEvery is how much a manager that is killed loses, and how often it sends one request for each team with notifications.
	journalEvery = 10 * time.Second

	// maxSegment bounds the lines of an object, in bytes before compression: some 1,300 notifications. Each request sends a whole segment.
	maxSegment = 512 << 10

	// maxNotification bounds a line, in bytes: see record.NotificationOf.
	maxNotification = 128 << 10

	// maxJournal and maxJournalOfTeam bound the lines in memory, in bytes, also while the store is unavailable: 20,000 and 2,500
	// notifications.
	maxJournal, maxJournalOfTeam = 8 << 20, 1 << 20

	sheetsAtOnce = 4 // of those that are saved: compressed, they take up to 2 MiB
)

// Journal saves a line for each notification, in every replica. Lines wait in memory for up to journalEvery. A segment has a team's lines
// of an hour, and replaces the shorter segment that was saved under its key before: a week takes few objects, however many notifications
// come.
type Journal struct {
	archive *Archive
	clock   clock.Clock
	process string // makes keys differ from other replicas' keys
	lost    prometheus.Counter

	saving sync.Mutex // one round after the other, so that the longest segment is the last one

	mu       sync.Mutex
	segments []*segment // that are open or not saved
	bytes    int        // of all segments
	parts    int        // how many segments there have been
}

type segment struct {
	team  string
	hour  time.Time
	key   string
	lines []byte // only grows
	saved int    // how many bytes of it are in the store
	full  bool
}

// NewJournal returns a Journal. Its clock paces it; times of notifications are their own.
func NewJournal(a *Archive, c clock.Clock) *Journal {
	return &Journal{archive: a, clock: c, process: strings.ToLower(rand.Text()[:10]), lost: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "postflight_notifications_unrecorded_total",
		Help: "Notifications that replay does not know, because their lines found no room in memory while the store was unavailable.",
	})}
}

// Register adds the metric.
func (j *Journal) Register(r prometheus.Registerer) error { return r.Register(j.lost) }

// NeedLeaderElection is false: every replica saves what it was notified.
func (j *Journal) NeedLeaderElection() bool { return false }

// Start saves periodically until the context ends. Save the rest after the last notification.
func (j *Journal) Start(ctx context.Context) error {
	for {
		timer := j.clock.NewTimer(journalEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
			j.Save(ctx)
		}
	}
}

// Record keeps a line until it is saved. It never waits.
func (j *Journal) Record(team string, n record.Notification) {
	line, err := json.Marshal(n)
	if err != nil || len(line) >= maxNotification { // record.NotificationOf makes neither
		j.lost.Inc()
		return
	}
	line = append(line, '\n')
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.bytes+len(line) > maxJournal {
		j.drop(func(*segment) bool { return true })
	}
	if j.bytes+len(line) > maxJournal || j.bytesOf(team)+len(line) > maxJournalOfTeam {
		j.lost.Inc()
		return
	}
	s := j.segment(team, n.At.UTC().Truncate(time.Hour), len(line))
	s.lines = append(s.lines, line...)
	j.bytes += len(line)
}

func (j *Journal) bytesOf(team string) (bytes int) {
	for _, s := range j.segments {
		if s.team == team {
			bytes += len(s.lines)
		}
	}
	return bytes
}

// segment returns the open one of the team and hour, with room for a line.
func (j *Journal) segment(team string, hour time.Time, line int) *segment {
	for _, s := range j.segments {
		if s.team != team || !s.hour.Equal(hour) || s.full {
			continue
		}
		if len(s.lines)+line <= maxSegment {
			return s
		}
		s.full = true
	}
	s := &segment{team: team, hour: hour, key: record.NotificationsKey(team, hour, fmt.Sprintf("%s-%d", j.process, j.parts))}
	j.parts++
	j.segments = append(j.segments, s)
	return s
}

// drop forgets segments that are saved.
func (j *Journal) drop(which func(*segment) bool) {
	j.segments = slices.DeleteFunc(j.segments, func(s *segment) bool {
		done := s.saved == len(s.lines) && which(s)
		if done {
			j.bytes -= len(s.lines)
		}
		return done
	})
}

// Save writes all segments with new lines. What cannot be saved now waits for the next call.
func (j *Journal) Save(ctx context.Context) {
	j.saving.Lock()
	defer j.saving.Unlock()
	var group errgroup.Group
	group.SetLimit(sheetsAtOnce)
	for s, lines := range j.unsaved() {
		group.Go(func() error {
			if err := j.save(ctx, s.key, lines); err != nil {
				return err
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			s.saved = len(lines)
			return nil
		})
	}
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Info("notifications cannot be recorded for replay at the moment", "problem", err.Error())
	}
	hour := j.clock.Now().UTC().Truncate(time.Hour)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.drop(func(s *segment) bool { return s.full || s.hour.Before(hour) })
}

func (j *Journal) unsaved() map[*segment][]byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := map[*segment][]byte{}
	for _, s := range j.segments {
		if s.saved < len(s.lines) {
			all[s] = s.lines
		}
	}
	return all
}

func (j *Journal) save(ctx context.Context, key string, lines []byte) error {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(lines); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return j.archive.put(ctx, key, packed.Bytes())
}
