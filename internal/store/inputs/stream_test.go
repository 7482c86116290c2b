package inputs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/pod/fetch"
	"github.com/postflight-dev/postflight/internal/store/inputs"
	"github.com/postflight-dev/postflight/test/tier"
)

// stream: POSTFLIGHT_INPUTS_FULL=1 makes it 1 GiB.
func stream(t *testing.T, name string, store *inputs.Store) {
	tier.All(t, "it measures memory, for which it moves 64 MiB")
	size := int64(64 << 20)
	if os.Getenv("POSTFLIGHT_INPUTS_FULL") == "1" {
		size = 1 << 30
	}
	block := make([]byte, 1<<20)
	_, _ = rand.Read(block)
	sum := sha256.New()
	signed, _, err := store.SignUpload(t.Context(), "demo", "large.zip", -1)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	body := io.TeeReader(io.LimitReader(&repeat{block: block}, size), sum)
	if code := put(t, signed, "application/octet-stream", body, size); code != http.StatusOK {
		t.Fatalf("PUT: %d", code)
	}
	uploaded := time.Since(began)
	file := recorded(t, store, "large.zip")
	if file.Size != size {
		t.Fatalf("the store has %d bytes, want %d", file.Size, size)
	}
	dir := t.TempDir()
	peak := watchMemory(t.Context())
	began = time.Now()
	f := fetcher(t)
	if err := f.Fetch(t.Context(), fetch.List{Directory: dir, Files: []job.File{file}}); err != nil {
		t.Fatal(err)
	}
	memory := peak()
	fmt.Printf("STREAM store=%s bytes=%d put_s=%.1f fetch_s=%.1f fetch_heap_mib=%.1f\n",
		name, size, uploaded.Seconds(), time.Since(began).Seconds(), float64(memory)/(1<<20))
	if memory > 32<<20 {
		t.Errorf("fetching took %d MiB of memory", memory>>20)
	}
	out, err := os.Open(filepath.Join(dir, "large.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	got := sha256.New()
	if _, err := io.Copy(got, out); err != nil || !bytes.Equal(got.Sum(nil), sum.Sum(nil)) {
		t.Errorf("another content came back: %v", err)
	}
}

type repeat struct {
	block []byte
	at    int
}

func (r *repeat) Read(b []byte) (int, error) {
	n := copy(b, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, nil
}

// watchMemory samples the size of the heap until the returned function is called, which returns the maximum.
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
