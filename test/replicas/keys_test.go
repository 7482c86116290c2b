package replicas

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestRevoked: every replica rejects a revoked key, and accepts a restored one. In test-all, each does so within a second.
func TestRevoked(t *testing.T) {
	s := apiserver.Alone(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	all := replicas(t, s, p.kubeconfig(), processes)
	tm.awaitKnown(all)
	rival := newTeamNamed(tm, "rival")
	revoke := func() (longest time.Duration) {
		steps := tm.revocations(rival)
		for _, step := range steps {
			step.do()
			done := time.Now()
			for _, r := range all {
				poll.True(t, fmt.Sprintf("a key that is %s gets %d", step.what, step.status), func() bool {
					a, err := notify(t.Context(), r.URL, tm.key, `{"sha":"revoked"}`)
					return err == nil && a.Status == step.status
				})
			}
			longest = max(longest, time.Since(done))
		}
		t.Logf("REVOKED steps=%d longest=%s", len(steps), longest.Round(time.Millisecond))
		return longest
	}
	if tier.Gate() {
		revoke()
		return
	}
	tier.AtMost(t, "the longest step", time.Second, revoke)
}

// revocation changes something on which a key depends, after which it gets the status.
type revocation struct {
	what   string
	do     func()
	status int
}

// revocations end as they began.
func (tm *team) revocations(rival *team) []revocation {
	key, owner := tm.apiKey("ci", tm.key), &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tm.namespace}}
	claim := func() *v1alpha1.Team {
		return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: rival.namespace + "-2"}, Spec: v1alpha1.TeamSpec{Namespace: tm.namespace}}
	}
	return []revocation{
		{"suspended", func() { tm.update(key, func() { key.Spec.Suspended = true }) }, 401},
		{"resumed", func() { tm.update(key, func() { key.Spec.Suspended = false }) }, 200},
		{"expired", func() {
			tm.update(key, func() { key.Spec.ExpiresAt = &metav1.Time{Time: time.Now().Add(-time.Second)} })
		}, 401},
		{"extended", func() { tm.update(key, func() { key.Spec.ExpiresAt = nil }) }, 200},
		{"of a suspended team", func() { tm.update(owner, func() { owner.Spec.Suspended = true }) }, 403},
		{"of a resumed team", func() { tm.update(owner, func() { owner.Spec.Suspended = false }) }, 200},
		{"held by another namespace", func() { rival.create(rival.apiKey("stolen", tm.key)) }, 401},
		{"no longer", func() { rival.remove(rival.apiKey("stolen", tm.key)) }, 200},
		{"of a namespace that another team claims", func() { tm.create(claim()) }, 401},
		{"no longer, 2", func() { tm.remove(claim()) }, 200},
		{"deleted", func() { tm.remove(key) }, 401},
		{"created again", func() { tm.create(tm.apiKey("ci", tm.key)) }, 200},
	}
}

// TestLastUsed: the time is written once, by one of the processes.
func TestLastUsed(t *testing.T) {
	s := apiserver.Alone(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	all := replicas(t, s, p.kubeconfig(), 1)
	tm.awaitKnown(all)
	poll.True(t, "status.lastUsedTime", func() bool {
		key := tm.apiKey("ci", tm.key)
		tm.get(key)
		return key.Status.LastUsedTime != nil
	})
}

// TestEphemeralEnvironment needs rights that admission plugins of some clusters require.
func TestEphemeralEnvironment(t *testing.T) {
	s := apiserver.Alone(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	all := replicas(t, s, p.kubeconfig(), 1)
	tm.awaitKnown(all)
	a, err := notify(t.Context(), all[0].URL, tm.key, `{"ephemeral_environment":true,"deployment_url":"https://pr-7.example.com"}`)
	if err != nil || len(a.Results) != 1 || a.Results[0].Created == "" {
		t.Fatalf("%+v, %v, want a created run", a, err)
	}
	for _, suite := range tm.suites() {
		env := &v1alpha1.Environment{ObjectMeta: tm.meta(suite.Spec.Environment)}
		tm.get(env)
		if env.Spec.Ephemeral == nil || env.Spec.URL != "https://pr-7.example.com" {
			t.Errorf("the Environment is %+v, want an ephemeral one", env.Spec)
		}
	}
}

// TestKeysWithTheSameHash: an APIKey in another namespace with the hash of a named key has no effect, even if it is
// the older one. With the hash of an opaque key it has no effect if its namespace has no Team.
func TestKeysWithTheSameHash(t *testing.T) {
	s := apiserver.Alone(t)
	p := newProxy(t, s.Manager(t))
	tm := newTeam(t, s)
	rival := newTeamNamed(tm, "rival")
	orphan := &team{t: t, s: s, namespace: s.Namespace(t)}
	named := apikey.New(tm.namespace)
	rival.create(rival.apiKey("earlier", named)) // alone, it is not accepted either
	all := replicas(t, s, p.kubeconfig(), processes)
	tm.awaitKnown(all)
	awaitStatus := func(key string, status int) {
		t.Helper()
		for _, r := range all {
			poll.True(t, "the answer to a key whose hash is in two namespaces", func() bool {
				a, err := notify(t.Context(), r.URL, key, `{"sha":"same-hash"}`)
				return err == nil && a.Status == status
			})
		}
	}
	awaitStatus(named, 401)
	tm.create(tm.apiKey("named", named))
	awaitStatus(named, 200)

	later := rival.apiKey("later", named)
	later.Spec.Suspended = true
	rival.create(later)
	orphan.create(orphan.apiKey("named", named))
	orphan.create(orphan.apiKey("opaque", tm.key))
	const marker = "pf_marker_of_keys_with_the_same_hash"
	tm.create(tm.apiKey("marker", marker)) // replicas hear of it after those above
	awaitStatus(marker, 200)
	for _, key := range []string{named, tm.key} {
		for _, r := range all {
			if a, err := notify(t.Context(), r.URL, key, `{"sha":"same-hash"}`); err != nil || a.Status != 200 {
				t.Errorf("with the same hash elsewhere: %+v, %v, want 200", a, err)
			}
		}
	}
}
