package history

import (
	"context"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

const (
	// readBytes bounds the days that are read, of all answers together. What a day needs is estimated from its stored size, because
	// it is known only afterwards: a run has 6 bytes at least when it is compressed, and 450 and its texts in memory.
	readBytes      = 20 << 20
	bytesPerStored = 128
	leastOfDay     = 256 << 10
	dayBytes       = 8 << 20 // of one day: 17,000 runs, or 5,000 whose texts are as long as texts can be

	// testBytes bounds the tests of days that are looked for, of all answers together.
	testBytes = 8 << 20
)

// charge is what reading a day of a stored size may need.
func charge(stored int64) int64 {
	return min(max(min(stored, dayBytes)*bytesPerStored, leastOfDay), dayBytes)
}

// ticket is a place in the order in which goroutines act. Each waits for the one before, and calls done.
type ticket struct{ before, own chan struct{} }

func (t ticket) next() ticket { return ticket{t.own, make(chan struct{})} }

func firstTicket() ticket {
	t := ticket{make(chan struct{}), make(chan struct{})}
	close(t.before)
	return t
}

func (t ticket) wait(ctx context.Context) error {
	select {
	case <-t.before:
		return nil
	case <-ctx.Done():
		return errBusy
	}
}

func (t ticket) done() { close(t.own) }

// acquire waits for so much of a budget.
func acquire(ctx context.Context, budget *semaphore.Weighted, n int64) (release func(), err error) {
	if budget.Acquire(ctx, n) != nil {
		return nil, errBusy
	}
	return func() { budget.Release(n) }, nil
}

// atOnce calls read for the indexes of n things, several at once.
func atOnce(ctx context.Context, n int, read func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i := range n {
		group.Go(func() error { return read(ctx, i) })
	}
	return group.Wait()
}
