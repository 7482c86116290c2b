package auth

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/server/seal"
)

func withUID(uid types.UID) func(*v1alpha1.Team) { return func(t *v1alpha1.Team) { t.UID = uid } }

// waitTokens trust the policy with the UID "policy" only.
func waitTokens(t *testing.T, secret string, now time.Time, objects ...client.Object) *WaitTokens {
	return &WaitTokens{
		Sealer:  &seal.Sealer{Secret: func(context.Context) ([]byte, error) { return []byte(secret), nil }},
		Reader:  cluster(t, interceptor.Funcs{}, objects...),
		Vouched: func(_ context.Context, _ string, uid types.UID) (bool, error) { return uid == "policy", nil },
		Clock:   clocktesting.NewFakePassiveClock(now),
	}
}

func TestWaitToken(t *testing.T) {
	const secret = "a secret of the replicas, 32 byte"
	acme := team("acme", withUID("1"))
	cases := map[string]struct {
		reason string
		secret string
		after  time.Duration
		teams  []client.Object
		asked  Asked
		origin types.UID
		change func(string) string
		want   int // 0: it is good
	}{
		"good":                  {},
		"names its team":        {asked: Asked{Team: "acme"}},
		"names another team":    {asked: Asked{Team: "rival"}, teams: []client.Object{acme, team("rival", withUID("2"))}, want: 401},
		"at its end":            {after: WaitFor - time.Second},
		"after its end":         {after: WaitFor, want: 401},
		"another key":           {secret: "another secret of the replicas 32", want: 401},
		"changed":               {change: func(token string) string { return token[:len(token)-4] + "AAAA" }, want: 401},
		"cut":                   {change: func(token string) string { return token[:20] }, want: 401},
		"only the prefix":       {change: func(string) string { return waitPrefix }, want: 401},
		"team suspended":        {teams: []client.Object{team("acme", withUID("1"), suspendedTeam)}, want: 403},
		"team gone":             {teams: []client.Object{team("rival")}, want: 401},
		"later team of it":      {reason: "it may be other people", teams: []client.Object{team("acme", withUID("2"))}, want: 401},
		"two claim the place":   {teams: []client.Object{acme, team("rival", in("acme"))}, want: 401},
		"of a policy":           {origin: "policy"},
		"of a policy that went": {origin: "another", want: 401},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sender := Principal{Team: acme, Sender: Sender{Kind: KindToken, Name: "acme/ci"}, Grant: grant.All(), Origin: tc.origin}
			token, expires, err := waitTokens(t, secret, noon).Issue(t.Context(), sender, []string{"smoke-1"})
			if err != nil || !expires.Equal(noon.Add(WaitFor)) {
				t.Fatal(expires, err)
			}
			if tc.change != nil {
				token = tc.change(token)
			}
			if tc.secret == "" {
				tc.secret = secret
			}
			if tc.teams == nil {
				tc.teams = []client.Object{acme}
			}
			w := waitTokens(t, tc.secret, noon.Add(tc.after), tc.teams...)
			p, err := (&Authenticator{Ways: []Way{w}, Keys: authenticator(w.Reader)}).Authenticate(
				&http.Request{Header: http.Header{"Authorization": {"Bearer " + token}, teamHeader: {tc.asked.Team}}}, grant.Actions...)
			if tc.want != 0 {
				if refusal, ok := errors.AsType[*Error](err); !ok || refusal.HTTPStatus() != tc.want || p.Team != nil {
					t.Errorf("%s: %+v, %v; want %d", tc.reason, p, err, tc.want)
				}
				return
			}
			if err != nil || p.Team.Name != "acme" || p.Sender.Kind != KindWait || strings.Join(p.Grant.Runs, " ") != "smoke-1" ||
				!p.Grant.Allows(grant.Outcome) || p.Grant.Allows(grant.Read) || p.Grant.Allows(grant.Notify) || p.Grant.Allows(grant.Act) {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// TestWaitTokenIsNoCookie: what is sealed for another purpose is no wait token.
func TestWaitTokenIsNoCookie(t *testing.T) {
	w := waitTokens(t, "a secret of the replicas, 32 byte", noon, team("acme", withUID("1")))
	for _, purpose := range []string{"session", "page", ""} {
		sealed, err := w.Sealer.Seal(t.Context(), purpose, waitTicket{Namespace: "acme", Team: "1", Runs: []string{"smoke-1"},
			Expires: noon.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Authenticate(t.Context(), waitPrefix+sealed, Asked{}); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%q: %v", purpose, err)
		}
	}
}

// TestWayClaims: a token that looks like one of a way is tried as no key, even if it is one.
func TestWayClaims(t *testing.T) {
	token := waitPrefix + "0123456789abcdef"
	w := waitTokens(t, "a secret of the replicas, 32 byte", noon, team("acme"), key("acme", "ci", token))
	if _, err := (&Authenticator{Ways: []Way{w}, Keys: authenticator(w.Reader)}).Authenticate(request("Bearer " + token)); err == nil {
		t.Error("it was taken for a key")
	}
	if _, err := (&Authenticator{Keys: authenticator(w.Reader)}).Authenticate(request("Bearer " + token)); err != nil {
		t.Errorf("without the way, it is a key: %v", err)
	}
}

// TestWaitTokenOfNothing: a token without runs would be for all, and a TrustPolicy's token needs a Way that knows TrustPolicies.
func TestWaitTokenOfNothing(t *testing.T) {
	acme := team("acme", withUID("1"))
	for name, tc := range map[string]struct {
		origin  types.UID
		runs    []string
		without bool // TrustPolicies
		want    int  // 0: it is good
	}{
		"a run":                  {runs: []string{"smoke-1"}, without: true},
		"no run":                 {want: 401},
		"a policy, without them": {origin: "policy", runs: []string{"smoke-1"}, without: true, want: 401},
	} {
		t.Run(name, func(t *testing.T) {
			w := waitTokens(t, "a secret of the replicas, 32 byte", noon, acme)
			if tc.without {
				w.Vouched = nil
			}
			token, _, err := w.Issue(t.Context(), Principal{Team: acme, Origin: tc.origin}, tc.runs)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Authenticate(t.Context(), token, Asked{}); statusOf(err) != tc.want {
				t.Errorf("%v, want %d", err, tc.want)
			}
		})
	}
}

// TestWaitTokenOfManyRuns: a token that no server would read is not given out.
func TestWaitTokenOfManyRuns(t *testing.T) {
	w := waitTokens(t, "a secret of the replicas, 32 byte", noon)
	sender := Principal{Team: team("acme", withUID("1")), Sender: Sender{Kind: KindToken, Name: "acme/ci"}}
	for count, want := range map[int]bool{50: true, 200: false} {
		runs := slices.Repeat([]string{strings.Repeat("x", 63)}, count)
		token, _, err := w.Issue(t.Context(), sender, runs)
		if got := err == nil && token != ""; got != want {
			t.Errorf("%d runs: %d bytes, %v", count, len(token), err)
		}
	}
}
