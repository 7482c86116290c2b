package queue_test

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// load is a day of a team: notifications at random, and how long its tests take.
type load struct {
	name       string
	limit      int32
	perHour    float64
	medians    []time.Duration // of each Trigger
	spread     float64         // of the logarithm of a run's time
	branches   int             // newer runs of a branch supersede the older; 0: each run is alone
	perTrigger bool            // the limit is that of each Trigger
}

// BenchmarkQueueWait prints how the estimated wait of a queued run, when it arrives, compares with how long it waits. The median
// ratio says whether estimates are too long or too short, and within the share of them between half and twice the real wait.
func BenchmarkQueueWait(b *testing.B) {
	for b.Loop() {
		for _, l := range []load{
			{name: "alike", limit: 4, perHour: 55, medians: []time.Duration{4 * time.Minute}, spread: .1},
			{name: "spread", limit: 4, perHour: 50, medians: []time.Duration{4 * time.Minute}, spread: .7},
			{name: "two_triggers", limit: 4, perHour: 28, medians: []time.Duration{2 * time.Minute, 15 * time.Minute}, spread: .3},
			{name: "limit_of_trigger", limit: 2, perHour: 50, medians: []time.Duration{2 * time.Minute, 6 * time.Minute}, spread: .3, perTrigger: true},
			{name: "one_slot", limit: 1, perHour: 13, medians: []time.Duration{4 * time.Minute}, spread: .5},
			{name: "superseding", limit: 4, perHour: 80, medians: []time.Duration{4 * time.Minute}, spread: .5, branches: 12},
		} {
			l.print()
		}
	}
}

type end struct {
	at   time.Duration
	name string
}

type ends []end

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at < e[j].at }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(end)) }
func (e *ends) Pop() any          { last := (*e)[len(*e)-1]; *e = (*e)[:len(*e)-1]; return last }

type waiting struct {
	suite     *v1alpha1.Suite
	arrived   time.Duration
	estimated time.Duration
	takes     time.Duration
}

func (l load) print() {
	dice := rand.New(rand.NewPCG(1, 2))
	q := queue.New()
	q.SetTeamLimit(l.limit)
	if l.perTrigger {
		q.SetTeamLimit(0)
		for i := range l.medians {
			q.SetTriggerLimit(fmt.Sprint("t", i), l.limit)
		}
	}
	running, runs := &ends{}, map[string]*waiting{}
	var ratios []float64
	unknown, superseded := 0, 0
	newest := map[string]string{}
	start := func(now time.Duration) {
		for {
			var next *waiting
			for _, w := range runs {
				if p, known := q.Position(w.suite.Name); w.suite.Status.JobName == "" && known && p.Number == 0 && (next == nil || w.arrived < next.arrived) {
					next = w
				}
			}
			if next == nil || !q.Claim(next.suite.Name) {
				return
			}
			s := next.suite.DeepCopy()
			s.Status.JobName = s.Name
			next.suite = s
			q.Set(s)
			q.SetJob(s.Name, true)
			heap.Push(running, end{now + next.takes, s.Name})
			if real := now - next.arrived; real > 30*time.Second {
				if next.estimated == 0 {
					unknown++
				} else {
					ratios = append(ratios, next.estimated.Seconds()/real.Seconds())
				}
			}
		}
	}
	finish := func(now time.Duration, name string) {
		w := runs[name]
		if w == nil {
			return
		}
		delete(runs, name)
		q.SetJob(name, false)
		q.Set(took(name, int(now.Seconds()), w.takes, ofTrigger(w.suite.Spec.Trigger.Name)))
	}
	arrival := time.Duration(0)
	for i := range 2000 {
		arrival += time.Duration(dice.ExpFloat64() / l.perHour * float64(time.Hour))
		for running.Len() > 0 && (*running)[0].at <= arrival {
			e := heap.Pop(running).(end)
			finish(e.at, e.name)
			start(e.at)
		}
		trigger := dice.IntN(len(l.medians))
		key := fmt.Sprint("k", i)
		if l.branches > 0 {
			key = fmt.Sprint("b", dice.IntN(l.branches))
		}
		name := fmt.Sprintf("run-%05d", i)
		if old := runs[newest[key]]; old != nil {
			delete(runs, newest[key])
			q.SetJob(old.suite.Name, false)
			q.Delete(old.suite.Name)
			superseded++
		}
		newest[key] = name
		w := &waiting{
			suite: aSuite(name, int(arrival.Seconds()), ofTrigger(fmt.Sprint("t", trigger)), keyed(key)), arrived: arrival,
			takes: time.Duration(float64(l.medians[trigger]) * math.Exp(l.spread*dice.NormFloat64())),
		}
		runs[name] = w
		q.Set(w.suite)
		if p, known := q.Position(name); known && p.Number > 0 {
			w.estimated = p.Wait
		}
		start(arrival)
	}
	slices.Sort(ratios)
	within := 0
	for _, r := range ratios {
		if r >= .5 && r <= 2 {
			within++
		}
	}
	at := func(p float64) float64 { return ratios[int(p*float64(len(ratios)-1))] }
	fmt.Printf("QUEUE_WAIT load=%s waited=%d unknown=%d superseded=%d ratio_p10=%.2f ratio_p50=%.2f ratio_p90=%.2f within_half_and_twice=%.2f\n",
		l.name, len(ratios), unknown, superseded, at(.1), at(.5), at(.9), float64(within)/float64(len(ratios)))
}
