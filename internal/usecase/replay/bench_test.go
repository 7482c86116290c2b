package replay_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/usecase/replay"
)

// BenchmarkReplay replays the 10,000 notifications of a week, which three replicas saved every ten seconds, with five changed Triggers that
// have expressions. The store is another process.
func BenchmarkReplay(b *testing.B) {
	const notifications, replicas, triggers = 10_000, 3, 5
	w := newWorld(b)
	saveWeek(b, w.Archive, notifications, replicas)
	q := replay.Query{Team: acme(), Since: now.Add(-week)}
	var existing []*v1alpha1.Trigger
	for i := range triggers {
		t := trigger(fmt.Sprintf("smoke-%d", i), "main")
		t.Spec.Match.Expression = "notification.variables['REGION'] == 'eu' && notification.commit_message.matches('^(feat|fix)[(:]')"
		existing = append(existing, t)
		changed := t.DeepCopy()
		changed.Spec.Match.Branches = []string{"main", "release/**", "!release/7*"}
		q.Triggers = append(q.Triggers, changed)
	}
	r := replay.NewReader(readOnly(b, existing[0], existing[1], existing[2]), w.Archive, clocktesting.NewFakePassiveClock(now))
	for b.Loop() {
		peak := watchHeap(b.Context())
		began := time.Now()
		all, changes, pages := replayed(b, r, q)
		took := time.Since(began).Seconds()
		if all.Notifications != notifications || len(changes) == 0 {
			b.Fatalf("%d notifications, %d changes", all.Notifications, len(changes))
		}
		fmt.Printf("REPLAY notifications=%d triggers=%d pages=%d seconds=%.2f memory_peak_mib=%.0f\n", notifications, triggers, pages, took, peak())
		if took > 10 {
			b.Errorf("it took %.1f s", took)
		}
	}
}

func saveWeek(b *testing.B, a *archive.Archive, notifications, replicas int) {
	b.Helper()
	ctx := log.IntoContext(b.Context(), logr.Discard())
	clock := clocktesting.NewFakeClock(now.Add(-week))
	var journals []*archive.Journal
	for range replicas {
		journals = append(journals, archive.NewJournal(a, clock))
	}
	for i := range notifications {
		at := now.Add(-week + time.Duration(i+1)*week/time.Duration(notifications+1))
		branch := fmt.Sprintf("feature/shop-%d", i%200)
		switch i % 5 {
		case 0:
			branch = "main"
		case 1:
			branch = fmt.Sprintf("release/%d", i%80)
		}
		clock.SetTime(at)
		journals[i%replicas].Record("acme", record.NotificationOf(at, &notification.Notification{
			Branch: branch, SHA: fmt.Sprintf("%040x", i), DeploymentType: "staging", DeploymentURL: fmt.Sprintf("https://shop-%d.preview.example.com", i%200),
			Repository: "acme/shop", CommitMessage: "fix: keep items in the cart when a session is renewed", CommitAuthor: "Jo Example", PullRequestNumber: int64(i % 200),
			Variables: map[string]string{"REGION": []string{"eu", "us"}[i%2], "NPM_TOKEN": "npm_0123456789"},
		}, nil))
		if i%20 == 0 { // sooner than every ten seconds makes no other objects
			for _, j := range journals {
				j.Save(ctx)
			}
		}
	}
	for _, j := range journals {
		j.Save(ctx)
	}
}

// watchHeap returns a function that stops watching, and returns the most memory in use meanwhile, in MiB.
func watchHeap(ctx context.Context) func() float64 {
	runtime.GC()
	debug.FreeOSMemory()
	ctx, cancel := context.WithCancel(ctx)
	most := make(chan float64)
	go func() {
		var peak uint64
		for ctx.Err() == nil {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			time.Sleep(5 * time.Millisecond)
		}
		most <- float64(peak) / (1 << 20)
	}()
	return func() float64 { cancel(); return <-most }
}
