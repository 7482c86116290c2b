package auth

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
)

// TestAccountsAreRemembered: what the API server said counts for two minutes, a refusal for ten seconds, and nothing for longer than
// the token.
func TestAccountsAreRemembered(t *testing.T) {
	server := newAskedServer("acme/ci create acme")
	w := newAccountWorld(t, server)
	long, short := w.token("acme/ci"), w.token("acme/ci", fmt.Sprint(noon.Add(time.Hour).Unix()), fmt.Sprint(noon.Add(30*time.Second).Unix()))
	gone := w.token("acme/gone")
	server.gone["acme/gone"] = true
	const create = "acme/ci create acme"
	for _, step := range []struct {
		reason string
		at     time.Duration
		change func()
		token  string
		want   int
		asked  [2]int // about tokens and rights, since the start
	}{
		{"the first time, it is asked about both", 0, nil, long, 0, [2]int{1, 1}},
		{"then it is not", time.Minute, nil, long, 0, [2]int{1, 1}},
		{"a revoked binding still counts", 119 * time.Second, func() { server.allowed[create] = false }, long, 0, [2]int{1, 1}},
		{"but for no longer than two minutes", 120 * time.Second, nil, long, 403, [2]int{2, 2}},
		{"a new binding is not noticed at once", 121 * time.Second, func() { server.allowed[create] = true }, long, 403, [2]int{2, 2}},
		{"but in seconds", 130 * time.Second, nil, long, 0, [2]int{2, 3}},
		{"a deleted account is noticed", 240 * time.Second, func() { server.gone["acme/ci"] = true }, long, 401, [2]int{3, 3}},
		{"and not asked about again", 241 * time.Second, nil, long, 401, [2]int{3, 3}},
		{"for ten seconds", 250 * time.Second, func() { server.gone["acme/ci"] = false }, long, 0, [2]int{4, 4}},
		{"a wrong one is asked about once", 251 * time.Second, nil, gone, 401, [2]int{5, 4}},
		{"in ten seconds", 260 * time.Second, nil, gone, 401, [2]int{5, 4}},
	} {
		w.clock.SetTime(noon.Add(step.at))
		server.set(func() {
			if step.change != nil {
				step.change()
			}
		})
		if _, err := w.ask(step.token, "", grant.Notify); statusOf(err) != step.want || server.asked() != step.asked {
			t.Fatalf("%s at %s: %v after %v questions, want %d after %v", step.reason, step.at, err, server.asked(), step.want, step.asked)
		}
	}
	server = newAskedServer(create)
	w.ServiceAccounts = NewServiceAccounts(ServiceAccountConfig{Reviewer: server, Keys: w.Keys, Reader: w.Reader, Clock: w.clock})
	for _, step := range []struct {
		at    time.Duration
		asked [2]int
	}{{0, [2]int{1, 1}}, {29 * time.Second, [2]int{1, 1}}, {30 * time.Second, [2]int{2, 2}}, {31 * time.Second, [2]int{3, 3}}} {
		w.clock.SetTime(noon.Add(step.at))
		if _, err := w.ask(short, "", grant.Notify); err != nil || server.asked() != step.asked {
			t.Fatalf("a token of 30 s at %s: %v after %v questions, want %v: once it has expired, the API server decides each time",
				step.at, err, server.asked(), step.asked)
		}
	}
}

// TestAccountsWhileTheServerIsAway: what it said before counts within its time, and everything else is asked for again later.
func TestAccountsWhileTheServerIsAway(t *testing.T) {
	server := newAskedServer("acme/ci create acme", "acme/ci get acme")
	w := newAccountWorld(t, server)
	token := w.token("acme/ci")
	if _, err := w.ask(token, "", grant.Notify); err != nil {
		t.Fatal(err)
	}
	server.set(func() { server.away = true })
	for name, step := range map[string]struct {
		token  string
		action grant.Action
		want   int
	}{
		"a known right":    {token, grant.Notify, 0},
		"an unknown one":   {token, grant.Read, http.StatusServiceUnavailable},
		"an unknown token": {w.token("acme/ci", "https://kubernetes", "https://kubernetes:443"), grant.Notify, http.StatusServiceUnavailable},
	} {
		if _, err := w.ask(step.token, "", step.action); statusOf(err) != step.want {
			t.Errorf("%s: %v, want %d", name, err, step.want)
		}
	}
	w.clock.SetTime(noon.Add(serviceaccount.ReviewedFor))
	if _, err := w.ask(token, "", grant.Notify); statusOf(err) != http.StatusServiceUnavailable {
		t.Errorf("after its time: %v, want 503", err)
	}
}

// TestOneReviewForOneToken: requests with the same new token wait for one answer.
func TestOneReviewForOneToken(t *testing.T) {
	server := newAskedServer("acme/ci create acme")
	w := newAccountWorld(t, server)
	token := w.token("acme/ci")
	synctest.Test(t, func(t *testing.T) {
		server.hangs = make(chan struct{})
		left, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		ask := func(ctx context.Context) {
			group.Go(func() {
				if _, err := w.Authenticate(ctx, token, Asked{Actions: []grant.Action{grant.Notify}}); err != nil {
					t.Error(err)
				}
			})
		}
		ask(left)
		synctest.Wait()
		for range 100 {
			ask(t.Context())
		}
		synctest.Wait()
		leave() // the first may leave
		close(server.hangs)
		group.Wait()
		if got := server.asked(); got != [2]int{1, 1} {
			t.Errorf("%v questions, want one of each", got)
		}
	})
}

func TestKnownAccountsAreBounded(t *testing.T) {
	known := newKnownAccounts()
	until := noon.Add(time.Minute)
	id := func(n int) (id [32]byte) {
		copy(id[:], fmt.Sprint(n))
		return id
	}
	for _, quiet := range []string{"a", "b", "c"} {
		known.add(quiet, id(0), &knownAccount{until: until})
	}
	for n := range 2 * maxAccounts {
		known.add("loud", id(n), &knownAccount{until: until})
	}
	if n := known.byToken.Len(); n != 3+maxAccountsOfNamespace {
		t.Errorf("%d are kept", n)
	}
	for _, quiet := range []string{"a", "b", "c"} {
		if known.get(quiet, id(0), noon) == nil {
			t.Errorf("the token of %s is displaced by others", quiet)
		}
	}
	a := &knownAccount{until: until}
	for n := range 10 * maxRights {
		a.learn(right{fmt.Sprint(n), "create"}, true, noon)
	}
	if len(a.rights) > maxRights {
		t.Errorf("%d rights are known of a token", len(a.rights))
	}
}
