package auth

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
)

// TestForgedAccountTokens: tokens that the API server has not signed cost it nothing, and do not delay others.
func TestForgedAccountTokens(t *testing.T) {
	server := newAskedServer("acme/ci create acme")
	w := newAccountWorld(t, server)
	stranger, impostor, other := newIssuer(t, "stranger"), newIssuer(t, "own"), newIssuer(t, "other")
	nameless := &issuer{t: t, key: stranger.key}
	good := w.token("acme/ci")
	signature := good[strings.LastIndex(good, "."):]
	forged := map[string]func(n string) string{
		"another key":    func(n string) string { return impostor.sign(claimsOf("acme/ci", "https://kubernetes", "https://"+n)) },
		"an unknown key": func(n string) string { return stranger.sign(claimsOf("acme/ci", "https://kubernetes", "https://"+n)) },
		"another issuer": func(n string) string {
			return other.sign(claimsOf("acme/ci", "https://kubernetes", "https://other/"+n))
		},
		"expired": func(string) string { return w.token("acme/ci", fmt.Sprint(noon.Add(time.Hour).Unix()), "1000") },
		"no algorithm": func(n string) string {
			return tokenSaying(`{"alg":"none","kid":"own"}`, claimsOf("acme/ci", "https://kubernetes", n))
		},
		"a shared secret": func(n string) string {
			return tokenSaying(`{"alg":"HS256","kid":"own"}`, claimsOf("acme/ci", "https://kubernetes", n))
		},
		"our public key as a secret": func(n string) string { return w.issuer.confused(claimsOf("acme/ci", "https://kubernetes", n)) },
		"a key without a name":       func(n string) string { return nameless.sign(claimsOf("acme/ci", "https://kubernetes", n)) },
		"garbage": func(n string) string {
			return tokenSaying(`{"alg":"ES256","kid":"own"}`, claimsOf("acme/ci", "https://kubernetes", n))
		},
		"another account": func(n string) string {
			claims := tokenSaying(`{"alg":"ES256","kid":"own"}`, claimsOf("rival/ci", "https://kubernetes", n))
			return strings.TrimSuffix(claims, ".signature") + signature
		},
	}
	for n := range 10_000 / len(forged) {
		for name, forge := range forged {
			if _, err := w.ask(forge(fmt.Sprint(n)), "", grant.Notify); err == nil {
				t.Fatalf("a token with %s is accepted", name)
			}
		}
	}
	if got := server.asked(); got != [2]int{} {
		t.Errorf("%v questions after forged tokens, want none", got)
	}
	if _, err := w.ask(good, "", grant.Notify); err != nil {
		t.Errorf("a good token after forged ones: %v", err)
	}
}

// TestManyTokensOfOneNamespace: an account can have any number of good tokens. They are bounded, and leave room for other teams.
func TestManyTokensOfOneNamespace(t *testing.T) {
	server := newAskedServer("acme/ci create acme", "rival/ci create rival")
	w := newAccountWorld(t, server)
	tokens := make([]string, 2000)
	for i := range tokens {
		tokens[i] = w.token("acme/ci", "https://kubernetes", fmt.Sprint("https://", i))
	}
	other := w.token("rival/ci")
	// Without keys, no token can be verified: tokens that come while the first request for the keys runs share a group of their own.
	if w.Keys.check(t.Context(), other) != goodSignature {
		t.Fatal("the keys are not read")
	}
	synctest.Test(t, func(t *testing.T) {
		server.hangs = make(chan struct{})
		var group sync.WaitGroup
		var mu sync.Mutex
		statuses := map[int]int{}
		for _, token := range tokens {
			group.Go(func() {
				_, err := w.Authenticate(t.Context(), token, Asked{Actions: []grant.Action{grant.Notify}})
				mu.Lock()
				defer mu.Unlock()
				statuses[statusOf(err)]++
			})
		}
		synctest.Wait() // all have begun that can
		if _, err := w.Authenticate(t.Context(), other, Asked{Actions: []grant.Action{grant.Notify}}); err != nil {
			t.Errorf("another team's token, while that namespace waits: %v", err)
		}
		close(server.hangs)
		group.Wait()
		if statuses[0] == 0 || statuses[0] > maxReviews+maxWaiting || statuses[0]+statuses[http.StatusServiceUnavailable] != len(tokens) {
			t.Errorf("statuses %v, want at most %d answered, and 503 for all others", statuses, maxReviews+maxWaiting)
		}
	})
}

// TestAccountsWithoutPublishedKeys: where the keys cannot be read, limits bound what forged tokens cost, and good ones work.
func TestAccountsWithoutPublishedKeys(t *testing.T) {
	server := newAskedServer("acme/ci create acme")
	w := newAccountWorld(t, server)
	w.Keys = nil
	forger := newIssuer(t, "forged")
	good := w.token("acme/ci")
	forged := make([]string, 500)
	for i := range forged {
		namespace := fmt.Sprint("rival-", i) // anybody can claim any
		forged[i] = forger.sign(claimsOf(namespace + "/ci"))
		server.gone[namespace+"/ci"] = true
	}
	if _, err := w.ask(good, "", grant.Notify); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for _, token := range forged {
			if _, err := w.Authenticate(t.Context(), token, Asked{Actions: []grant.Action{grant.Notify}}); err == nil {
				t.Fatal("a forged token is accepted")
			}
		}
		seconds := time.Since(began).Seconds()
		if got, most := server.asked()[0], accountReviews.burst+int(seconds*float64(accountReviews.perSecond))+2; got > most {
			t.Errorf("%d reviews in %.1f s, want at most %d", got, seconds, most)
		}
	})
	if _, err := w.ask(good, "", grant.Notify); err != nil {
		t.Errorf("a token that is known: %v", err)
	}
}
