package objectstore

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// temporary is a source whose credentials expire, as those of a role do.
type temporary struct {
	credentials.Expiry
	err     error
	hangs   time.Duration
	expires time.Time // of what it has; zero: never
	calls   int
}

func (s *temporary) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	s.calls++
	if time.Sleep(s.hangs); s.err != nil {
		return credentials.Value{}, s.err
	}
	s.SetExpiration(s.expires, time.Second)
	return credentials.Value{AccessKeyID: "id", SecretAccessKey: "s", SessionToken: "t", Expiration: s.expires,
		SignerType: credentials.SignatureV4}, nil
}

func (s *temporary) Retrieve() (credentials.Value, error) { return s.RetrieveWithCredContext(nil) }
func (s *temporary) IsExpired() bool                      { return !s.expires.IsZero() && s.Expiry.IsExpired() }

// TestURLsEndWithCredentials: the source has credentials for half an hour. After 26 minutes, it has others.
func TestURLsEndWithCredentials(t *testing.T) {
	const later = 26 * time.Minute
	for name, tc := range map[string]struct {
		reason   string
		lifetime time.Duration
		then     time.Duration // for how long the source's credentials are valid then; 0: those of before
		err      error
		want     time.Duration // 0: an error
	}{
		"they last":             {"nothing is changed", 3 * time.Minute, 0, nil, 3 * time.Minute},
		"they can be renewed":   {"the new ones last", 15 * time.Minute, time.Hour, nil, 15 * time.Minute},
		"the source has no new": {"the store would refuse the URL then", 15 * time.Minute, 0, nil, 4 * time.Minute},
		"the source is down":    {"the old ones are valid", 15 * time.Minute, 0, errors.New("down"), 4 * time.Minute},
		"the longest":           {"no credentials last for so long", 7 * 24 * time.Hour, time.Hour, nil, time.Hour},
		"as short as can be":    {"the next request may be luckier", 15 * time.Minute, time.Millisecond, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &temporary{expires: time.Now().Add(30 * time.Minute)}
				b, err := newBucket(Options{Endpoint: "http://store", Region: "us-east-1", Bucket: "postflight", UploadLifetime: 15 * time.Minute},
					s)
				if err != nil {
					t.Fatal(err)
				}
				signed(t, b, 20*time.Minute)
				time.Sleep(later)
				if s.err = tc.err; tc.then != 0 {
					s.expires = time.Now().Add(tc.then)
				}
				if got := signed(t, b, tc.lifetime); got != tc.want {
					t.Errorf("%s: the URL is valid for %s, want %s", tc.reason, got, tc.want)
				}
			})
		})
	}
}

// TestURLsRenewSeldom: a source that cannot do better is asked once a minute.
func TestURLsRenewSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &temporary{expires: time.Now().Add(time.Hour)}
		b, err := newBucket(Options{Endpoint: "http://store", Region: "us-east-1", Bucket: "postflight", UploadLifetime: 15 * time.Minute},
			s)
		if err != nil {
			t.Fatal(err)
		}
		for range 90 {
			if got := signed(t, b, 24*time.Hour); got > time.Hour || got < 58*time.Minute {
				t.Errorf("the URL is valid for %s", got)
			}
			time.Sleep(time.Second)
		}
		if s.calls != 2 {
			t.Errorf("%d calls in 90 seconds", s.calls)
		}
	})
}

// TestSourceHangs: all requests to the store need the lock under which the source is asked, so that it is asked seldom while the
// credentials are valid, and not all the time when they are not.
func TestSourceHangs(t *testing.T) {
	const wanted = 24 * time.Hour // longer than any credentials, so that they are renewed early
	for name, tc := range map[string]struct {
		reason string
		left   time.Duration // of the credentials when the source begins to hang
		most   int           // calls in the next 10 minutes
	}{
		"valid for hours":  {"early renewals are a minute apart", 4 * time.Hour, 10},
		"valid for 90 s":   {"then it is asked with pauses", 90 * time.Second, 54},
		"about to expire":  {"the source is asked at the end, not a minute later", 20 * time.Second, 60},
		"expire meanwhile": {"the answer is an error at once", 3 * time.Second, 60},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &temporary{expires: time.Now().Add(time.Hour + tc.left)}
				b, err := newBucket(Options{Endpoint: "http://store", Region: "us-east-1", Bucket: "postflight", UploadLifetime: 15 * time.Minute},
					s)
				if err != nil {
					t.Fatal(err)
				}
				signed(t, b, time.Minute)
				time.Sleep(time.Hour)
				s.calls, s.err, s.hangs = 0, errors.New("deadline exceeded"), credentialsTimeout
				begin := time.Now()
				for time.Since(begin) < 10*time.Minute {
					_, _, err := b.SignUntil(t.Context(), Request{Method: http.MethodGet, Key: "demo/app.apk", Lifetime: wanted})
					_, used := b.credentials.GetWithContext(b.private.CredContext())
					if time.Now().Before(s.expires.Add(-time.Second)) && (err != nil || used != nil) {
						t.Fatalf("the credentials are valid: %v, %v", err, used)
					}
					time.Sleep(100 * time.Millisecond)
				}
				if s.calls == 0 || s.calls > tc.most {
					t.Errorf("%s: %d calls, want %d at most", tc.reason, s.calls, tc.most)
				}
				s.err, s.hangs, s.expires = nil, 0, time.Now().Add(2*time.Hour)
				time.Sleep(renewEvery + time.Second)
				if got := signed(t, b, 90*time.Minute); got != 90*time.Minute {
					t.Errorf("after the source has recovered, the URL is valid for %s", got)
				}
			})
		})
	}
}

// signed returns for how long a URL is valid, or 0 if none can be signed.
func signed(t *testing.T, b *Bucket, lifetime time.Duration) time.Duration {
	t.Helper()
	now := time.Now()
	text, until, err := b.SignUntil(t.Context(), Request{Method: http.MethodGet, Key: "demo/app.apk", Lifetime: lifetime})
	if err != nil {
		return 0
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	valid, err := time.ParseDuration(u.Query().Get("X-Amz-Expires") + "s")
	if err != nil || !until.Equal(now.Add(valid)) {
		t.Errorf("%v: the URL is valid for %s, until %s by the answer", err, valid, until)
	}
	return valid
}
