package signin

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// sessionsOf is a replica, and what it shares with others.
func sessionsOf(shared client.Client) *Sessions {
	return NewSessions(shared, shared, "s", clock.RealClock{})
}

func emptySecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "s", Name: sessionSecretName}}
}

func TestEndedSessions(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	cases := map[string]struct {
		reason string
		keys   []string
		begun  time.Time
		want   bool
	}{
		"That session":  {"The provider names it.", []string{"person", "one"}, now.Add(-time.Hour), true},
		"Another":       {"It names another.", []string{"person", "two"}, now.Add(-time.Hour), false},
		"All before":    {"It names the person.", []string{"everything", "three"}, now.Add(-time.Second), true},
		"At that time":  {"Who is quicker than a second was there before.", []string{"everything", "three"}, now, true},
		"One afterward": {"They have signed in again.", []string{"everything", "three"}, now.Add(time.Second), false},
	}
	for name, secret := range map[string][]client.Object{"with a Secret": {emptySecret()}, "without": nil} {
		s := sessionsOf(fake.NewClientBuilder().WithObjects(secret...).Build())
		for _, key := range []string{"one", "everything", "one"} {
			if err := s.End(t.Context(), End{Key: key, At: now}); err != nil {
				t.Fatal(err)
			}
		}
		for what, tc := range cases {
			if got := s.hasEnded(tc.keys, tc.begun); got != tc.want {
				t.Errorf("%s, %s: %s: ended %v, want %v", name, what, tc.reason, got, tc.want)
			}
		}
	}
}

// TestEndsAreShared: another replica sees the key and what has ended, also if both write.
func TestEndsAreShared(t *testing.T) {
	shared := fake.NewClientBuilder().WithObjects(emptySecret()).Build()
	a, b := sessionsOf(shared), sessionsOf(shared)
	key, err := a.Key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.End(t.Context(), End{Key: "one", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	other, err := b.Key(t.Context())
	if err != nil || string(other) != string(key) {
		t.Errorf("another key: %v", err)
	}
	if !b.hasEnded([]string{"one"}, time.Now().Add(-time.Minute)) {
		t.Error("the other replica lets an ended session in")
	}
	stored := emptySecret()
	if err := shared.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil ||
		string(stored.Data[sessionSecretField]) != string(key) {
		t.Errorf("the key was lost: %v", err)
	}
	stored.Data = nil
	if err := shared.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	a.observe(stored)
	if next, err := a.Key(t.Context()); err != nil || string(next) == string(key) {
		t.Errorf("after the key was deleted, it is the same: %v", err)
	}
}

// TestEndsAreBounded: the Secret never grows, the key stays, and the latest ends are kept.
func TestEndsAreBounded(t *testing.T) {
	now := time.Now()
	data := map[string][]byte{sessionSecretField: []byte("key"), endedPrefix + "broken": []byte("yesterday")}
	data = withEnd(data, End{Key: "old", At: now.Add(-14 * time.Hour)}, now.Add(-14*time.Hour))
	for i := range maxEnded + 10 {
		data = withEnd(data, End{Key: fmt.Sprint(i), At: now.Add(time.Duration(i) * time.Second)}, now)
	}
	ended := endedIn(&corev1.Secret{Data: data})
	if _, known := ended["old"]; known || len(ended) != maxEnded || string(data[sessionSecretField]) != "key" {
		t.Errorf("%d ends, the oldest among them: %v", len(ended), known)
	}
	for i := 10; i < maxEnded+10; i++ {
		if _, known := ended[fmt.Sprint(i)]; !known {
			t.Fatalf("the end %d is lost", i)
		}
	}
}
