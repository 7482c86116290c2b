package issuer

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/test/tokens"
)

func trusted(ci *tokens.Issuer) []client.Object {
	return []client.Object{team("acme", "acme"), policy(ci.URL, "acme", "a")}
}

func TestRotation(t *testing.T) {
	ci := tokens.NewIssuer(t)
	w, clock := newWay(t, ci, trusted(ci)...)
	now := noon
	pass := func(d time.Duration) { now = now.Add(d); clock.SetTime(now) }
	expect := func(token string, status int, when string) {
		t.Helper()
		if _, err := send(t, w, token, notify); statusOf(t, err) != status {
			t.Errorf("%s: %v, want %d", when, err, status)
		}
	}
	old := ci.Sign(tokens.GitHub(ci.URL, noon))
	expect(old, 200, "the first")
	if ci.Requests() != 2 {
		t.Errorf("%d requests, want that for the document and that for the keys", ci.Requests())
	}
	ci.RotateEC()
	fresh := ci.Sign(tokens.GitHub(ci.URL, noon))
	expect(fresh, 503, "a new key, a moment after the keys were read")
	expect(old, 200, "the old key, meanwhile")
	pass(fetchEvery)
	expect(fresh, 200, "a new key")
	expect(old, 200, "the old key, which is still published")
	ci.Withdraw()
	expect(old, 200, "a withdrawn key, before the keys are read again")
	pass(refreshAfter)
	expect(old, 200, "a withdrawn key, while the keys are read again")
	w.sources[ci.URL].keys.Idle()
	expect(old, 503, "a withdrawn key, a moment after the keys were read")
	pass(fetchEvery)
	expect(old, 401, "a withdrawn key")
	expect(fresh, 200, "the newest key")
}

func TestIssuerIsDown(t *testing.T) {
	ci := tokens.NewIssuer(t)
	w, clock := newWay(t, ci, trusted(ci)...)
	now := noon
	pass := func(d time.Duration) { now = now.Add(d); clock.SetTime(now); w.sources[ci.URL].keys.Idle() }
	token := ci.Sign(tokens.GitHub(ci.URL, noon))
	expect := func(status int, when string) {
		t.Helper()
		_, err := send(t, w, token, notify)
		if statusOf(t, err) != status {
			t.Errorf("%s: %v, want %d", when, err, status)
		}
		w.sources[ci.URL].keys.Idle()
	}
	down := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	ci.Answer(down)
	expect(503, "no keys are known")
	ci.Answer(nil)
	expect(503, "a moment later")
	pass(fetchEvery)
	expect(200, "it is back")
	ci.Answer(down)
	pass(refreshAfter)
	expect(200, "it is down, and the keys are known")
	expect(200, "after a request that failed")
	pass(keepFor - refreshAfter - time.Second)
	expect(200, "hours later")
	pass(time.Second)
	expect(503, "the keys are too old")
	ci.Answer(nil)
	pass(fetchEvery)
	expect(200, "it is back again")
}

// TestFlood: tokens of keys that do not exist cost the issuer a request in a while, however many come.
func TestFlood(t *testing.T) {
	ci := tokens.NewIssuer(t)
	w, clock := newWay(t, ci, trusted(ci)...)
	good := ci.Sign(tokens.GitHub(ci.URL, noon))
	if _, err := send(t, w, good, notify); err != nil {
		t.Fatal(err)
	}
	before := ci.Requests()
	for round := range 3 {
		clock.SetTime(noon.Add(time.Duration(round+1) * fetchEvery))
		var all sync.WaitGroup
		for n := range 300 {
			all.Go(func() {
				head := fmt.Sprintf(`{"alg":"RS256","kid":"none-%d-%d"}`, round, n)
				parts := strings.Split(good, ".")
				_, err := w.Authenticate(context.WithoutCancel(t.Context()), encode(head)+"."+parts[1]+"."+parts[2], notify)
				if status := statusOf(t, err); status != 401 && status != 503 {
					t.Errorf("%d: %v", status, err)
				}
			})
		}
		all.Wait()
		if _, err := send(t, w, good, notify); err != nil {
			t.Errorf("a good token beside them: %v", err)
		}
		w.sources[ci.URL].keys.Idle()
		if got := ci.Requests() - before; got > 2*(round+1) {
			t.Errorf("%d requests after %d rounds, want two each", got, round+1)
		}
	}
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// TestClaims: only tokens of listed issuers are taken; opaque keys may look like others.
func TestClaims(t *testing.T) {
	ci := tokens.NewIssuer(t)
	w, _ := newWay(t, ci)
	for token, want := range map[string]bool{
		ci.Sign(tokens.GitHub(ci.URL, noon)):                   true,
		ci.Sign(tokens.GitHub("https://ci.example.com", noon)): false,
		"pf_acme_0123456789":                                   false,
		"a.b.c":                                                false,
		"":                                                     false,
		encode("{}") + "." + encode(`{"iss":"`+ci.URL+`"}`) + ".x":   true,
		encode("{}") + "." + encode(`{"iss":["`+ci.URL+`"]}`) + ".x": false,
	} {
		if got := w.Claims(token); got != want {
			t.Errorf("%.60s: %v", token, got)
		}
	}
	if !w.Lists(ci.URL) || w.Lists("") {
		t.Error("the list is another one")
	}
	if _, err := w.Authenticate(t.Context(), "a.b.c", auth.Asked{}); statusOf(t, err) != 401 {
		t.Errorf("%v", err)
	}
}
