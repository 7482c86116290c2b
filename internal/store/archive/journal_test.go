package archive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

func line(at time.Time, branch string) record.Notification {
	return record.NotificationOf(at, &notification.Notification{Branch: branch}, nil)
}

// branches of all lines of a day, sorted.
func (w world) branches(t *testing.T, team string, day time.Time) []string {
	t.Helper()
	all, err := w.readBranches(t.Context(), team, day)
	must(t, err)
	return all
}

func (w world) readBranches(ctx context.Context, team string, day time.Time) (all []string, err error) {
	objects, _, err := w.NotificationsOn(ctx, team, day, 1000)
	for _, o := range objects {
		lines, readErr := w.Notifications(ctx, o)
		err = errors.Join(err, readErr)
		for _, n := range lines {
			all = append(all, n.Branch)
		}
	}
	slices.Sort(all)
	return all, err
}

func quiet(t *testing.T) context.Context { return log.IntoContext(t.Context(), logr.Discard()) }

// notificationLines: replicas save lines beside each other, and one object per hour grows.
func notificationLines(t *testing.T, w world) {
	ctx, clock := quiet(t), clocktesting.NewFakeClock(noon)
	a, b := archive.NewJournal(w.Archive, clock), archive.NewJournal(w.Archive, clock)
	a.Record("journal", line(noon, "1"))
	a.Record("journal-2", line(noon, "other"))
	a.Save(ctx)
	b.Record("journal", line(noon.Add(time.Minute), "2"))
	a.Record("journal", line(noon.Add(2*time.Minute), "3"))
	b.Save(ctx)
	a.Save(ctx)
	a.Save(ctx)
	if diff := cmp.Diff([]string{"1", "2", "3"}, w.branches(t, "journal", noon)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if keys := w.keys(t, "journal/"); len(keys) != 2 {
		t.Errorf("there are %q, want one object of each replica", keys)
	}
	clock.Step(time.Hour)
	a.Save(ctx) // forgets the hour
	a.Record("journal", line(noon.Add(time.Hour), "4"))
	a.Record("journal", line(noon, "late"))
	a.Save(ctx)
	if diff := cmp.Diff([]string{"1", "2", "3", "4", "late"}, w.branches(t, "journal", noon)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := w.branches(t, "journal-2", noon); !cmp.Equal(got, []string{"other"}) {
		t.Errorf("another team has %q", got)
	}
}

// notificationsOfABusyTeam: an object has a bound, and so has a listing.
func notificationsOfABusyTeam(t *testing.T, w world) {
	j := archive.NewJournal(w.Archive, clocktesting.NewFakeClock(noon))
	for i := range 900 { // 1 KiB each
		j.Record("busy", line(noon, fmt.Sprintf("%04d%s", i, strings.Repeat("x", 1000))))
	}
	j.Save(quiet(t))
	if got := w.branches(t, "busy", noon); len(got) != 900 {
		t.Errorf("%d lines are there, want 900", len(got))
	}
	objects, more, err := w.NotificationsOn(t.Context(), "busy", noon, 1)
	if len(objects) != 1 || !more || err != nil {
		t.Errorf("%d of %d objects, more %t, %v; want 1 of more", len(objects), len(w.keys(t, "busy/")), more, err)
	}
}

// damagedNotifications: what can be read is returned.
func damagedNotifications(t *testing.T, w world) {
	key := record.NotificationsKey("damaged", noon, "a-0")
	w.put(t, map[string][]byte{key: []byte("no gzip"), record.NotificationsDay("damaged", noon) + "notes.txt": nil})
	objects, _, err := w.NotificationsOn(t.Context(), "damaged", noon, 10)
	if err != nil || len(objects) != 1 || objects[0].Key != key || !objects[0].Hour.Equal(noon) {
		t.Fatalf("got %+v, %v", objects, err)
	}
	if lines, err := w.Notifications(t.Context(), objects[0]); !errors.Is(err, record.ErrDamaged) || len(lines) > 0 {
		t.Errorf("got %d lines, %v", len(lines), err)
	}
}

// clearNotifications deletes days that have ended, of one team, and nothing else.
func clearNotifications(t *testing.T, w world) {
	j := archive.NewJournal(w.Archive, clocktesting.NewFakeClock(noon))
	for _, team := range []string{"lines-clear", "lines-clear-2"} {
		for day := range 4 {
			j.Record(team, line(noon.AddDate(0, 0, -day), "main"))
		}
	}
	j.Save(quiet(t))
	run := runAt("lines-clear", "old", noon.AddDate(0, 0, -3))
	w.save(t, run)
	must(t, w.ClearNotifications(t.Context(), "lines-clear", noon.AddDate(0, 0, -1)))
	for team, want := range map[string]int{"lines-clear": 2 + 2, "lines-clear-2": 4} {
		if keys := w.keys(t, team+"/"); len(keys) != want {
			t.Errorf("%s has %q, want %d objects", team, keys, want)
		}
	}
}

// TestJournalWithoutStore: it keeps what has room, counts the rest, and saves it when the store is back.
func TestJournalWithoutStore(t *testing.T) {
	stores.Credentials(t)
	s := stores.Rclone(t)
	w := world{s, &archive.Archive{Bucket: s.Bucket(t)}}
	away := s.Options()
	away.Endpoint = "http://127.0.0.1:1"
	registry := prometheus.NewRegistry()
	j := archive.NewJournal(&archive.Archive{Bucket: stores.Open(t, away)}, clocktesting.NewFakeClock(noon))
	must(t, j.Register(registry))
	for i := range 1200 { // of 1 KiB each, and 1 MiB is kept
		j.Record("acme", line(noon, fmt.Sprintf("%04d%s", i, strings.Repeat("x", 1000))))
	}
	j.Record("other", line(noon, "main"))
	j.Save(quiet(t))
	metrics, err := registry.Gather()
	must(t, err)
	lost := int(metrics[0].GetMetric()[0].GetCounter().GetValue())
	if lost < 100 || lost > 400 {
		t.Errorf("%d lines are lost, want the last ones of 1200", lost)
	}
	archive.Move(j, w.Archive)
	j.Save(quiet(t))
	if got := w.branches(t, "acme", noon); len(got) != 1200-lost {
		t.Errorf("%d lines are there, and %d are lost", len(got), lost)
	}
	if got := w.branches(t, "other", noon); len(got) != 1 {
		t.Errorf("another team has %d lines, want 1", len(got))
	}
}

// TestJournalSaves periodically.
func TestJournalSaves(t *testing.T) {
	stores.Credentials(t)
	s := stores.Rclone(t)
	w := world{s, &archive.Archive{Bucket: s.Bucket(t)}}
	clock := clocktesting.NewFakeClock(noon)
	j := archive.NewJournal(w.Archive, clock)
	ctx, stop := context.WithCancel(quiet(t))
	done := make(chan error, 1)
	go func() { done <- j.Start(ctx) }()
	for i := range 3 {
		j.Record("acme", line(noon, fmt.Sprint(i)))
		poll.True(t, "it waits for the clock", clock.HasWaiters)
		clock.Step(10 * time.Second)
		poll.True(t, "the line is saved", func() bool {
			all, err := w.readBranches(t.Context(), "acme", noon) // rclone fails while an object is replaced
			return err == nil && len(all) == i+1
		})
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
