package upload

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/test/clitest"
	"github.com/postflight-dev/postflight/test/poll"
)

// An upload to a store that hangs ends with an error.
func TestUploadToAStoreThatHangs(t *testing.T) {
	const quick, never = 200 * time.Millisecond, time.Hour
	cases := map[string]struct {
		size          int64
		reads         bool
		stall, answer time.Duration
	}{
		"takes nothing":            {size: 64 << 20, stall: quick, answer: never}, // more than fits between the two
		"takes all, and no answer": {size: 1 << 20, reads: true, stall: never, answer: quick},
		"an empty file":            {stall: quick, answer: never},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			store := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if tc.reads {
					_, _ = io.Copy(io.Discard, r.Body)
				}
				<-release
			}))
			defer store.Close()
			defer close(release)
			c, _, _ := clitest.Console()
			u := &Options{Server: clitest.Server(c, signs(t, store.URL)), File: fileOf(t, tc.size), Attempts: 1, StallAfter: tc.stall,
				AnswerAfter: tc.answer}
			clitest.Fails(t, name, u.Run(t.Context()), "does not answer")
		})
	}
}

// A slow store has time as long as it accepts data, twice as long as one that takes none. A busy machine may take none in a
// short time.
func TestUploadToASlowStore(t *testing.T) {
	t.Parallel()
	err := errors.New("not tried")
	for stall := 500 * time.Millisecond; stall < poll.Limit && err != nil; stall *= 8 {
		store := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for n := int64(1); n > 0; time.Sleep(stall / 8) {
				n, _ = io.CopyN(io.Discard, r.Body, 4<<20)
			}
		}))
		c, _, _ := clitest.Console()
		u := &Options{Server: clitest.Server(c, signs(t, store.URL)), File: fileOf(t, 64<<20), Attempts: 1, StallAfter: stall}
		err = u.Run(t.Context())
		store.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

// signs is a server that signs a URL of the store.
func signs(t *testing.T, store string) *client.Client {
	t.Helper()
	return clitest.Connect(t, func(w http.ResponseWriter, _ *http.Request) {
		clitest.Reply(w, http.StatusOK, map[string]string{"fileLocation": "acme/a", "playgroundFileLocation": "a", "signedUrl": store})
	})
}

// fileOf is a file of zeros, which take no room.
func fileOf(t *testing.T, size int64) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "app.apk")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestHashingIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, _, _ := clitest.Console()
	u := &Options{Server: clitest.Server(c, signs(t, "http://127.0.0.1:1")), File: fileOf(t, 1<<40), Attempts: 1} // hours of it
	if err := u.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
