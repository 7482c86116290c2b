package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// burst is the number of deployments of one branch, of which several are sent at a time.
const burst, atOnce = 200, 20

// TestBurst sends 200 notifications of one stream to three replicas while a run of the stream is running. The newest
// run must be the only one left, and no two runs may ever share the environment.
func TestBurst(t *testing.T) {
	tier.All(t, "it is a flood of notifications")
	b := newBurst(t)
	b.send(nil)
	b.check("none", 3*time.Minute)
}

// TestBurstLeaderKilled kills the leader in the middle. Restarted under its name, it takes its own lease again. If it is
// gone, another replica has to wait until the lease expires.
func TestBurstLeaderKilled(t *testing.T) {
	tier.All(t, "it is a flood of notifications")
	skipWithoutPods(t)
	for name, restart := range map[string]bool{"restarted": true, "gone": false} {
		t.Run(name, func(t *testing.T) {
			b := newBurst(t)
			b.send(func() {
				leader := b.leader()
				story(t, "%s leads, and is killed", leader.name)
				leader.kill()
				if restart {
					leader.start()
				}
			})
			b.check("leader-"+name, 5*time.Minute)
		})
	}
}

type bursting struct {
	*replicas
	answered atomic.Int32
	again    atomic.Int32 // notifications that a dying replica did not answer, sent to another
}

func newBurst(t *testing.T) *bursting {
	t.Helper()
	tm := newTeam(t, useCluster(t))
	tm.trigger("shop", runs(`[ "$FIRST" ] && sleep 600; sleep 2`))
	b := &bursting{replicas: runReplicas(tm, 3, "")}
	b.awaitPod(b.run(b.all[0].manager, notification{"branch": "main", "variables": map[string]string{"FIRST": "yes"}}))
	return b
}

// send notifies all replicas in turn, and calls a function in the middle.
func (b *bursting) send(middle func()) {
	b.t.Helper()
	numbers := make(chan int)
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			for n := range numbers {
				b.sendOne(n)
			}
		})
	}
	began := time.Now()
	for n := range burst {
		if n == burst/2 && middle != nil {
			middle()
		}
		numbers <- n
	}
	close(numbers)
	group.Wait()
	story(b.t, "%d notifications were answered in %s, %d of them by a second replica", b.answered.Load(), time.Since(began).Round(time.Millisecond), b.again.Load())
	if b.answered.Load() != burst {
		b.t.Fatalf("%d of %d notifications were answered", b.answered.Load(), burst)
	}
}

// sendOne goes to the next replica where one does not answer, as a client that sends again would: by its
// Idempotency-Key it is the same notification, and no newer than those that came in between.
func (b *bursting) sendOne(n int) {
	deployment, key := notification{"branch": "main", "sha": sha()}, random(8)
	var failures []error
	for i := range b.all {
		a, err := b.tryNotify(b.all[(n+i)%len(b.all)].manager, deployment, "Idempotency-Key", key)
		if err == nil && len(a.Results) == 1 && cmp.Or(a.Results[0].Created, a.Results[0].Duplicate) != "" {
			b.answered.Add(1)
			b.again.Add(int32(min(i, 1)))
			return
		}
		failures = append(failures, err, fmt.Errorf("answer %s", a.body))
	}
	b.t.Errorf("notification %d: %v", n, errors.Join(failures...))
}

// check waits until every run has ended, and checks which one was not superseded.
func (b *bursting) check(killed string, within time.Duration) {
	b.t.Helper()
	began := time.Now()
	suites := b.awaitAll(within)
	took := time.Since(began)
	slices.SortFunc(suites, func(x, y v1alpha1.Suite) int {
		xr, yr := x.Received(), y.Received()
		return cmp.Or(xr.Compare(yr.Time), cmp.Compare(x.Name, y.Name))
	})
	newest := &suites[len(suites)-1]
	states, jobs := map[string]int{}, 0
	for i := range suites {
		states[suites[i].State()]++
		jobs += len(b.history(suites[i].Name).jobs)
	}
	overlaps := b.overlaps(suites)
	figure(b.t, "BURST killed=%s notifications=%d suites=%d passed=%d superseded=%d newest_passed=%t jobs=%d overlaps=%d settle_seconds=%.1f",
		killed, burst, len(suites), states[v1alpha1.ReasonPassed], states[v1alpha1.ReasonSuperseded], newest.State() == v1alpha1.ReasonPassed, jobs, overlaps, took.Seconds())
	if len(suites) != 1+burst || states[v1alpha1.ReasonPassed] != 1 || states[v1alpha1.ReasonSuperseded] != burst || newest.State() != v1alpha1.ReasonPassed {
		b.t.Errorf("want %d Suites of which only the newest, %s, passes and all others are superseded; got %v", 1+burst, newest.Name, states)
	}
	if overlaps != 0 {
		b.t.Errorf("%d times a run's pod came before an older one's was gone", overlaps)
	}
}

func (b *bursting) awaitAll(within time.Duration) []v1alpha1.Suite {
	b.t.Helper()
	for _, s := range b.suites() {
		err := poll.Wait(within, s.Name+" ended", func() string {
			if last := b.seen(s.Name); last == nil || !last.Finished() {
				return "it has not"
			}
			return ""
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return b.suites()
}

// overlaps counts the pods that were created while a pod of another run existed.
func (b *bursting) overlaps(suites []v1alpha1.Suite) (count int) {
	var lives []history
	for i := range suites {
		if h := b.history(suites[i].Name); len(h.pods) > 0 {
			lives = append(lives, h)
		}
	}
	slices.SortFunc(lives, func(x, y history) int { return x.podSeen.Compare(y.podSeen) })
	for i := 1; i < len(lives); i++ {
		if lives[i-1].podsStopped.IsZero() || lives[i].podSeen.Before(lives[i-1].podsStopped) {
			count++
		}
	}
	return count
}
