package objectstore

import (
	"errors"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	clocktesting "k8s.io/utils/clock/testing"
)

// source fails, or has credentials.
type source struct {
	credentials.Static
	err   error
	calls int
}

func (s *source) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	s.calls++
	value, _ := s.Static.RetrieveWithCredContext(cc)
	return value, s.err
}

func TestCachedProvider(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(noon)
	s := &source{Static: credentials.Static{Value: credentials.Value{AccessKeyID: "first", SecretAccessKey: "s",
		Expiration: noon.Add(time.Minute)}}}
	c := &cachedProvider{source: s, clock: clock}
	for _, step := range []struct {
		reason string
		at     time.Duration
		err    error
		next   string // key of the source
		want   string // empty: an error
		calls  int
	}{
		{"the source has credentials", 0, nil, "first", "first", 1},
		{"the old ones have not expired", time.Second, errors.New("down"), "second", "first", 2},
		{"a failed source is not called for a while", 2 * time.Second, nil, "second", "first", 2},
		{"also not after the pause of a source that is needed", 2*time.Second + credentialsPause, nil, "second", "first", 2},
		{"when they expire it is", time.Minute, nil, "second", "second", 3},
		{"the old ones have expired", 2 * time.Minute, errors.New("down"), "third", "", 4},
	} {
		clock.SetTime(noon.Add(step.at))
		s.err, s.AccessKeyID = step.err, step.next
		got, err := c.RetrieveWithCredContext(nil)
		if got.AccessKeyID != step.want || (err != nil) != (step.want == "") || s.calls != step.calls {
			t.Errorf("%s: %q, %v, %d calls; want %q and %d", step.reason, got.AccessKeyID, err, s.calls, step.want, step.calls)
		}
	}
}
