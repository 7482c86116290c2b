package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// BenchmarkQueueChange prints what a change costs in queues of several lengths behind a team limit of 1: an arrival at
// the end, the end of the run that is active with the start of the next, the deletion of a run in the middle, and
// another limit. The replay, which finds one position, is what each of them cost before there was a Queue.
func BenchmarkQueueChange(b *testing.B) {
	for b.Loop() {
		for _, n := range []int{0, 1000, 4000, 16000} {
			benchmarkQueue(n)
		}
	}
}

func benchmarkQueue(n int) {
	const rounds = 200
	q, all := queue.New(), make([]*v1alpha1.Suite, 0, n+3*rounds)
	q.SetTeamLimit(1)
	add := func(i int) {
		s := aSuite(fmt.Sprintf("run-%06d", i), i, keyed(fmt.Sprint(i)))
		all = append(all, s)
		q.Set(s)
	}
	for i := range n + rounds {
		add(i)
	}
	replay := perRound(5, func(int) {
		queue.QueuePosition(all[len(all)-1], all, func(*v1alpha1.Suite) bool { return false }, queue.Limits{Team: 1}, noHold)
	})
	arrival := perRound(rounds, func(i int) {
		add(n + rounds + i)
		q.Next()
	})
	next := 0
	end := perRound(rounds/2, func(int) {
		q.Claim(all[next].Name)
		q.Set(took(all[next].Name, next, time.Minute))
		q.Next()
		next++
	})
	deletion := perRound(rounds/2, func(i int) {
		q.Delete(all[len(all)/2+i].Name)
		q.Next()
	})
	limit := perRound(rounds, func(i int) {
		q.SetTeamLimit(int32(1 + i%2))
		q.Next()
	})
	fmt.Printf("QUEUE_CHANGE queued=%d arrival=%s end_and_start=%s deletion=%s limit=%s replay=%s\n", n, arrival, end, deletion, limit, replay)
}

func perRound(rounds int, f func(i int)) time.Duration {
	began := time.Now()
	for i := range rounds {
		f(i)
	}
	return time.Since(began) / time.Duration(rounds)
}
