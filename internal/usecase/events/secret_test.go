package events

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const good, replaced = "a secret of more than 16 bytes", "the secret that took its place"

// TestSecretReads: whatever strangers send, a Secret is read seldom; and a new one is used soon.
func TestSecretReads(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "postflight-events", nil)
	down := apierrors.NewInternalError(errors.New("the API server is down"))
	type step struct {
		after  time.Duration // since the start
		again  bool          // a signature was wrong
		stored string        // the value by then
		fails  error         // the read
		want   string        // or the error is wantErr
		err    error
		reads  int // by then
	}
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"many events": {"it is read once in 30 seconds", []step{
			{stored: good, want: good, reads: 1}, {after: 29 * time.Second, stored: good, want: good, reads: 1}, {after: 30 * time.Second, stored: good, want: good, reads: 2}}},
		"many forged events": {"each asks again", []step{
			{stored: good, want: good, reads: 1}, {again: true, stored: good, want: good, reads: 1}, {after: 4 * time.Second, again: true, stored: good, want: good, reads: 1},
			{after: 5 * time.Second, again: true, stored: good, want: good, reads: 2}, {after: 5 * time.Second, again: true, stored: good, want: good, reads: 2}}},
		"a new secret": {"the first event that it signs finds it", []step{
			{stored: good, want: good, reads: 1}, {after: 6 * time.Second, stored: replaced, want: good, reads: 1}, {after: 6 * time.Second, again: true, stored: replaced, want: replaced, reads: 2}}},
		"a revoked one": {"it works for at most 30 seconds", []step{
			{stored: good, want: good, reads: 1}, {after: 30 * time.Second, fails: refused, err: ErrNotConfigured, reads: 2}, {after: 31 * time.Second, fails: refused, err: ErrNotConfigured, reads: 2}}},
		"missing": {"strangers cause no reads of it either", []step{
			{err: ErrNotConfigured, reads: 1}, {again: true, err: ErrNotConfigured, reads: 1}}},
		"short":         {"it could be guessed", []step{{stored: "only 15 bytes..", err: ErrNotConfigured, reads: 1}}},
		"with line end": {"a file has one", []step{{stored: good + "\n", want: good, reads: 1}}},
		"an outage": {"a known one is used for ten minutes", []step{
			{stored: good, want: good, reads: 1}, {after: time.Minute, fails: down, want: good, reads: 2}, {after: 10 * time.Minute, fails: down, want: good, reads: 3},
			{after: 11 * time.Minute, fails: down, err: ErrUnavailable, reads: 4}, {after: 11*time.Minute + 5*time.Second, stored: good, want: good, reads: 5}}},
		"an outage from the start": {"nothing is known", []step{{fails: down, err: ErrUnavailable, reads: 1}, {after: 5 * time.Second, stored: good, want: good, reads: 2}}},
		"events during an outage": {"they do not wait for one read after the other", []step{
			{fails: down, err: ErrUnavailable, reads: 1}, {fails: down, err: ErrUnavailable, reads: 1},
			{after: 4 * time.Second, again: true, fails: down, err: ErrUnavailable, reads: 1}, {after: 5 * time.Second, fails: down, err: ErrUnavailable, reads: 2}}},
		"a short outage": {"it is read again after five seconds", []step{
			{stored: good, want: good, reads: 1}, {after: 30 * time.Second, fails: down, want: good, reads: 2}, {after: 34 * time.Second, stored: replaced, want: good, reads: 2},
			{after: 35 * time.Second, stored: replaced, want: replaced, reads: 3}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			start := time.Unix(1_800_000_000, 0)
			clock, reads, now := clocktesting.NewFakePassiveClock(start), 0, step{}
			cluster := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
					reads++
					if now.fails != nil {
						return now.fails
					}
					if now.stored == "" {
						return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
					}
					*o.(*corev1.Secret) = corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Data: map[string][]byte{"github": []byte(now.stored)}}
					return nil
				},
			})
			s := newSecrets(cluster, clock)
			for i, st := range tc.steps {
				now = st
				clock.SetTime(start.Add(st.after))
				got, err := s.get(t.Context(), secretKey{"acme", "postflight-events", "github"}, st.again)
				if string(got) != st.want || !errors.Is(err, st.err) || reads != st.reads {
					t.Errorf("%s: step %d: %q, %v after %d reads; want %q, %v after %d", tc.reason, i+1, got, err, reads, st.want, st.err, st.reads)
				}
			}
		})
	}
}

// TestSenderHangsUpDuringARead: the next one finds what was read.
func TestSenderHangsUpDuringARead(t *testing.T) {
	ctx, hangUp := context.WithCancel(t.Context())
	cluster := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			hangUp()
			if _, limited := ctx.Deadline(); !limited {
				t.Error("the read has no deadline")
			}
			o.(*corev1.Secret).Data = map[string][]byte{"github": []byte(good)}
			return ctx.Err()
		},
	})
	s := newSecrets(cluster, clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)))
	for range 2 {
		if got, err := s.get(ctx, secretKey{"acme", "postflight-events", "github"}, false); string(got) != good {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestRecent(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	clock := clocktesting.NewFakePassiveClock(start)
	r := newRecent(clock)
	r.add("acme", "")
	r.add("acme", "a")
	if r.has("acme", "") || !r.has("acme", "a") || r.has("acme", "b") || r.has("other", "a") {
		t.Error("an event without a key, or another one, is known; or an equal one is not")
	}
	for i := range 2 * maxRecent {
		r.add("loud", string(rune(i+1)))
	}
	if !r.has("acme", "a") || r.until.Len() != maxRecentOfNamespace+1 {
		t.Errorf("%d keys are remembered, and that of another team: %v", r.until.Len(), r.has("acme", "a"))
	}
	clock.SetTime(start.Add(recentFor))
	if r.has("acme", "a") {
		t.Error("an equal event after five minutes is dropped")
	}
}
