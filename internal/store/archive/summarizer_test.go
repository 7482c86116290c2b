package archive_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

// TestSummarizer: a new leader finds what the last one left undone, and each run that ends is soon in the summary of its day.
func TestSummarizer(t *testing.T) {
	stores.Credentials(t)
	s := stores.Rclone(t)
	w := world{s, &archive.Archive{Bucket: s.Bucket(t)}}
	clock := clocktesting.NewFakeClock(noon)
	teams := func(context.Context) (map[string]time.Duration, error) {
		return map[string]time.Duration{"acme": time.Hour}, nil
	}
	summarizer := archive.NewSummarizer(w.Archive, teams, clock)
	runs := func(day string) int {
		d, err := w.Day(t.Context(), "acme", day)
		if err != nil {
			return 0
		}
		return len(d.Runs)
	}
	old := noon.AddDate(0, 0, -40)
	w.ended(t, runAt("acme", "smoke-old", old), smoke, test("a", httpapi.TestPassed))
	w.ended(t, runAt("acme", "smoke-damaged", old.AddDate(0, 0, -1)), smoke, test("a", httpapi.TestPassed))
	w.put(t, map[string][]byte{record.SummaryKey("acme", old.AddDate(0, 0, -1).Format(time.DateOnly)): []byte("damaged")})
	w.ended(t, runAt("acme", "smoke-1", noon), smoke, test("a", httpapi.TestPassed))

	ctx, stop := context.WithCancel(log.IntoContext(t.Context(), logr.Discard()))
	done := make(chan error, 1)
	go func() { done <- summarizer.Start(ctx) }()
	step := func(d time.Duration) {
		poll.True(t, "it waits for the clock", clock.HasWaiters)
		clock.Step(d)
	}
	step(time.Minute)
	poll.True(t, "what was left undone is found", func() bool {
		return runs("2026-11-21") == 1 && runs("2026-10-12") == 1 && runs("2026-10-11") == 1
	})

	w.ended(t, runAt("acme", "smoke-2", noon.Add(time.Minute)), smoke, test("a", httpapi.TestFailed))
	summarizer.Changed("acme", noon.Add(time.Minute))
	if runs("2026-11-21") != 1 {
		t.Error("it does not wait for other runs that end at the same time")
	}
	step(time.Hour)
	poll.True(t, "the run is in the summary", func() bool { return runs("2026-11-21") == 2 })
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
