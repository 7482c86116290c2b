package transfer_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/internal/transfer"
)

var errNothing = errors.New("nothing moves")

func TestStall(t *testing.T) {
	const patience = 10 * time.Second
	for name, tc := range map[string]struct {
		reason  string
		during  func(*transfer.Stall)
		stalled bool
		took    time.Duration
	}{
		"Nothing moves": {"The caller would wait for ever.", func(s *transfer.Stall) { <-s.Done() }, true, patience},
		"It moves": {"Slow is not dead.", func(s *transfer.Stall) {
			for range 5 {
				time.Sleep(patience - 1)
				s.Moved()
			}
		}, false, 5 * (patience - 1)},
		"It moves once": {"Then the patience counts from the last move.", func(s *transfer.Stall) {
			time.Sleep(patience - 1)
			s.Moved()
			<-s.Done()
		}, true, 2*patience - 1},
		"It may take longer": {"A store writes a file before it answers.", func(s *transfer.Stall) {
			s.Allow(time.Minute)
			<-s.Done()
		}, true, time.Minute},
		"The caller is busy": {"Its own time does not count.", func(s *transfer.Stall) {
			s.Pause()
			time.Sleep(time.Hour)
		}, false, time.Hour},
		"It ends otherwise": {"The cause is that of the end.", func(s *transfer.Stall) {
			s.EndWith(io.ErrClosedPipe)
			time.Sleep(time.Hour)
		}, false, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, s := time.Now(), transfer.NewStall(t.Context(), patience, errNothing)
				defer s.End()
				tc.during(s)
				if took := time.Since(began); s.Stalled() != tc.stalled || took != tc.took {
					t.Errorf("%s: stalled is %t after %s, want %t after %s", tc.reason, s.Stalled(), took, tc.stalled, tc.took)
				}
				want := io.EOF
				if tc.stalled {
					want = errNothing
				}
				if got := s.Reason(io.EOF); !errors.Is(got, want) || s.Reason(nil) != nil {
					t.Errorf("the reason is %v, want %v", got, want)
				}
			})
		})
	}
}

// TestStallReader: only the time of Reads counts, and the end of the content is no stall.
func TestStallReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := transfer.NewStall(t.Context(), time.Second, errNothing)
		defer s.End()
		in, out := io.Pipe()
		context.AfterFunc(s, func() { in.CloseWithError(context.Canceled) })
		go func() {
			_, _ = out.Write([]byte("a"))
			_, _ = out.Write([]byte("b"))
		}()
		r, b := s.Reader(in), make([]byte, 1)
		for _, want := range []string{"a", "b"} {
			if _, err := r.Read(b); err != nil || string(b) != want {
				t.Fatalf("read %q, %v, want %q", b, err, want)
			}
			time.Sleep(time.Hour)
		}
		if _, err := r.Read(b); !errors.Is(err, errNothing) {
			t.Errorf("a read that takes for ever ends with %v", err)
		}
	})
}
