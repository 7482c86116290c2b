package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/stores"
)

// BenchmarkSaveLog saves the logs of 200 runs that end at once, four at a time, each as long as is kept without a cut.
// The store is another process.
func BenchmarkSaveLog(b *testing.B) {
	const logs, size, atOnce = 200, 16 << 20, 4
	stores.Credentials(b)
	a := &archive.Archive{Bucket: stores.Rclone(b).Bucket(b)}
	block := logLines(1 << 20)
	for b.Loop() {
		peak := watchMemory(b.Context())
		began := time.Now()
		group, ctx := errgroup.WithContext(b.Context())
		group.SetLimit(atOnce)
		for i := range logs {
			group.Go(func() error {
				log, err := a.SaveLog(ctx, runAt("acme", fmt.Sprintf("run-%d", i), noon), "pod", "test", false,
					io.LimitReader(&repeated{block: block}, size))
				if err == nil && (log.Bytes != size || log.Omitted != 0) {
					err = fmt.Errorf("saved %v", log)
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			b.Fatal(err)
		}
		took := time.Since(began)
		memory := float64(peak()) / (1 << 20)
		fmt.Printf("ARCHIVE logs=%d mib_each=%d at_once=%d seconds=%.1f memory_peak_mib=%.1f\n", logs, size>>20, atOnce, took.Seconds(), memory)
		if memory > 64 {
			b.Errorf("%.0f MiB of memory were needed", memory)
		}
	}
}

// logLines are like a test's lines, with times and numbers.
func logLines(size int) []byte {
	var lines bytes.Buffer
	random := rand.New(rand.NewPCG(1, 2))
	for i := 0; lines.Len() < size; i++ {
		fmt.Fprintf(&lines, "2026-11-21T12:%02d:%02d.%03dZ [chromium] › cart.spec.ts:%d › pays by card: GET /api/orders/%x 200 in %dms\n",
			i/60%60, i%60, random.IntN(1000), random.IntN(500), random.Uint64(), random.IntN(3000))
	}
	return lines.Bytes()[:size]
}

type repeated struct {
	block []byte
	at    int
}

func (r *repeated) Read(b []byte) (int, error) {
	n := copy(b, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, nil
}

// watchMemory samples the memory that Go has in use, until the returned function is called, which returns the maximum.
func watchMemory(ctx context.Context) func() uint64 {
	runtime.GC()
	ctx, stop := context.WithCancel(ctx)
	var peak atomic.Uint64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse+m.StackInuse))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return func() uint64 {
		stop()
		<-done
		return peak.Load()
	}
}
