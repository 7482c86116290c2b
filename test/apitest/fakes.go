package apitest

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// FakeClock moves only while a caller sleeps.
type FakeClock struct {
	mu   sync.Mutex
	Time time.Time
}

// Now returns the Time.
func (c *FakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Time
}

// Since returns how long ago a time was.
func (c *FakeClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Sleep moves the clock.
func (c *FakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Time = c.Time.Add(d)
	return ctx.Err()
}

// LockedBuffer is a buffer for several goroutines.
type LockedBuffer struct {
	mu sync.Mutex
	B  bytes.Buffer
}

func (b *LockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.B.Write(p)
}

// WriteString appends a text.
func (b *LockedBuffer) WriteString(s string) { _, _ = b.Write([]byte(s)) }

func (b *LockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.B.String()
}
