package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
)

// askedServer is an API server that counts what it is asked.
type askedServer struct {
	mu      sync.Mutex
	gone    map[string]bool // accounts, as "acme/ci"
	allowed map[string]bool // "acme/ci create acme"
	away    bool
	hangs   chan struct{} // no question about the namespace acme is answered until it is closed; nil: all are

	tokens, rights int
}

func (s *askedServer) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	account := accountOf(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if hangs := s.hangs; hangs != nil && strings.HasPrefix(account, "acme/") {
		s.mu.Unlock()
		select {
		case <-hangs:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	switch review := o.(type) {
	case *authenticationv1.TokenReview:
		s.tokens++
		claims, _ := serviceaccount.Unverified(review.Spec.Token)
		if !s.gone[account] {
			review.Status = authenticationv1.TokenReviewStatus{
				Authenticated: true, Audiences: review.Spec.Audiences, User: authenticationv1.UserInfo{Username: claims.Subject},
			}
		}
	case *authorizationv1.SubjectAccessReview:
		s.rights++
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = s.allowed[account+" "+a.Verb+" "+a.Namespace]
	}
	if s.away {
		return errors.New("connection refused")
	}
	return ctx.Err()
}

// accountOf is the account that a question is about, as "acme/ci".
func accountOf(question client.Object) string {
	claims := serviceaccount.Claims{}
	switch review := question.(type) {
	case *authenticationv1.TokenReview:
		claims, _ = serviceaccount.Unverified(review.Spec.Token)
	case *authorizationv1.SubjectAccessReview:
		claims.Subject = review.Spec.User
	}
	namespace, name, _ := claims.Account()
	return namespace + "/" + name
}

func (s *askedServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *askedServer) asked() [2]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return [2]int{s.tokens, s.rights}
}

func newAskedServer(allowed ...string) *askedServer {
	s := &askedServer{gone: map[string]bool{}, allowed: map[string]bool{}}
	for _, right := range allowed {
		s.allowed[right] = true
	}
	return s
}

// accountWorld has teams, and an issuer whose tokens are good.
type accountWorld struct {
	t      *testing.T
	server *askedServer
	issuer *issuer
	clock  *clocktesting.FakePassiveClock
	*ServiceAccounts
}

func newAccountWorld(t *testing.T, server *askedServer) *accountWorld {
	t.Helper()
	w := &accountWorld{t: t, server: server, issuer: newIssuer(t, "own"), clock: clocktesting.NewFakePassiveClock(noon)}
	teams := cluster(t, interceptor.Funcs{},
		team("acme"), team("shop", in("shop-ci")), team("rival"), team("asleep", suspendedTeam), team("one", in("both")), team("two", in("both")))
	keys := NewClusterKeys(func(context.Context) ([]byte, error) { return published(w.issuer), nil }, w.clock, logr.Discard())
	w.ServiceAccounts = NewServiceAccounts(ServiceAccountConfig{Reviewer: server, Keys: keys, Reader: teams, Clock: w.clock})
	return w
}

// claimsOf returns the claims of a ServiceAccount, as the API server writes them.
func claimsOf(account string, change ...string) string {
	namespace, name, _ := strings.Cut(account, "/")
	claims := fmt.Sprintf(`{"iss":"https://kubernetes","sub":"system:serviceaccount:%s:%s","aud":["postflight"],"exp":%d,`+
		`"kubernetes.io":{"namespace":%q}}`, namespace, name, noon.Add(time.Hour).Unix(), namespace)
	return strings.NewReplacer(change...).Replace(claims)
}

func (w *accountWorld) token(account string, change ...string) string {
	return w.issuer.sign(claimsOf(account, change...))
}

func (w *accountWorld) ask(token, team string, actions ...grant.Action) (Principal, error) {
	return w.Authenticate(w.t.Context(), token, Asked{Team: team, Actions: actions})
}

func TestServiceAccounts(t *testing.T) {
	server := newAskedServer("acme/ci create acme", "acme/ci get acme", "hooks/ci create shop-ci", "asleep/ci create asleep",
		"nobody/ci create nobody", "both/ci create both", "hooks/admin create acme", "hooks/admin patch acme", "hooks/admin create both")
	for name, tc := range map[string]struct {
		reason  string
		account string
		change  []string // of its claims
		team    string
		actions []grant.Action
		want    int // HTTP status; 0: it is the team
		says    string
		granted []grant.Action
		owner   string
	}{
		"own team": {"the namespace says which", "acme/ci", nil, "", []grant.Action{grant.Notify}, 0,
			"", []grant.Action{grant.Notify}, "acme"},
		"own team by name": {"the header may name it", "acme/ci", nil, "acme", []grant.Action{grant.Read}, 0, "", []grant.Action{grant.Read},
			"acme"},
		"whoami": {"of all, what is allowed", "acme/ci", nil, "", grant.Actions, 0, "",
			[]grant.Action{grant.Notify, grant.Upload, grant.Outcome, grant.Read}, "acme"},
		"another team": {"it has the right there", "hooks/ci", nil, "shop", []grant.Action{grant.Upload},
			0, "", []grant.Action{grant.Upload}, "shop"},
		"act": {"it may create and patch", "hooks/admin", nil, "acme", []grant.Action{grant.Act},
			0, "", []grant.Action{grant.Act}, "acme"},
		"act without patch": {"create is not enough", "acme/ci", nil, "", []grant.Action{grant.Act}, 403, "may not create or patch suites",
			nil, ""},
		"none of several": {"the rights are a list", "acme/default", nil, "", []grant.Action{grant.Notify, grant.Read, grant.Act}, 403,
			"may not create, get or patch suites", nil, ""},
		"no RoleBinding": {"it may do nothing", "acme/default", nil, "", []grant.Action{grant.Notify}, 403,
			"acme/default may not create suites.postflight.dev in the namespace acme", nil, ""},
		"no right there": {"its right is elsewhere", "acme/ci", nil, "rival", []grant.Action{grant.Notify},
			403, "or there is no such Team", nil, ""},
		"no such team": {"it looks like one without right", "acme/ci", nil, "unknown", []grant.Action{grant.Notify}, 403,
			"or there is no such Team", nil, ""},
		"a strange name": {"no Team has such a name", "acme/ci", nil, "A/../b\x1b[2J", []grant.Action{grant.Notify}, 403,
			"or there is no such Team", nil, ""},
		"a namespace": {"only the name of the Team counts", "hooks/ci", nil, "shop-ci", []grant.Action{grant.Notify},
			403, `no Team "shop-ci"`, nil, ""},
		"no team": {"the header is missing", "nobody/ci", nil, "", []grant.Action{grant.Notify}, 403, "Postflight-Team", nil, ""},
		"two teams": {"it is unclear whose runs these are", "both/ci", nil, "", []grant.Action{grant.Notify}, 403, "Two Teams claim",
			nil, ""},
		"two teams, named": {"it is unclear whose runs these are", "hooks/admin", nil, "one", []grant.Action{grant.Notify},
			403, "Two Teams claim", nil, ""},
		"a suspended team": {"nothing of it works", "asleep/ci", nil, "", []grant.Action{grant.Notify}, 403, "", nil, ""},
		"suspended, no right": {"it looks like any other team", "acme/ci", nil, "asleep", []grant.Action{grant.Notify}, 403,
			"or there is no such Team", nil, ""},
		"a collector's token": {"its audience is another one", "acme/ci", []string{`"postflight"`, `"postflight-collect"`}, "",
			[]grant.Action{grant.Notify}, 401, "audience", nil, ""},
		"a token of the API": {"its audience is another one", "acme/ci", []string{`"postflight"`, `"https://kubernetes"`}, "",
			[]grant.Action{grant.Notify}, 401, "audience", nil, ""},
		"an old token": {"it has expired", "acme/ci", []string{fmt.Sprint(noon.Add(time.Hour).Unix()), "1000"},
			"", []grant.Action{grant.Notify}, 401, "expired", nil, ""},
		"a token without end": {"the API server gives every token one", "acme/ci", []string{`"exp"`, `"expires"`},
			"", []grant.Action{grant.Notify}, 401, "expired", nil, ""},
		"another case of claim": {"whose it is, the API server decides", "acme/ci", []string{`"iss"`, `"ISS"`}, "", []grant.Action{grant.Notify},
			0, "", []grant.Action{grant.Notify}, "acme"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAccountWorld(t, server)
			token := w.token(tc.account, tc.change...)
			if !w.Claims(token) {
				t.Fatalf("the token is not claimed")
			}
			p, err := w.ask(token, tc.team, tc.actions...)
			if got := adviceOf(err); !strings.Contains(got, tc.says) || strings.ContainsRune(got, '\x1b') {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.says)
			}
			if statusOf(err) != tc.want || (p.Team != nil) != (tc.want == 0) {
				t.Fatalf("%s: %v, %v, want %d", tc.reason, p, err, tc.want)
			}
			if tc.want != 0 {
				return
			}
			want := Principal{
				Team: p.Team, Grant: grant.Grant{Actions: tc.granted}, Expires: noon.Add(time.Hour),
				Sender: Sender{Kind: "serviceaccount", Name: tc.account, Text: "the ServiceAccount " + tc.account},
			}
			if diff := cmp.Diff(want, p); diff != "" || p.Team.Name != tc.owner {
				t.Errorf("%s: team %s (-want +got):\n%s", tc.reason, p.Team.Name, diff)
			}
		})
	}
}

func adviceOf(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Advice()
}

// TestUnknownTeamsLookLikeOthers: neither the answer nor what the API server is asked reveals whether a Team exists.
func TestUnknownTeamsLookLikeOthers(t *testing.T) {
	answers, questions := map[string]string{}, map[string][2]int{}
	for _, team := range []string{"rival", "asleep", "one", "shop", "unknown"} {
		server := newAskedServer("acme/ci create acme")
		w := newAccountWorld(t, server)
		_, err := w.ask(w.token("acme/ci"), team, grant.Notify)
		answers[team] = fmt.Sprint(statusOf(err), err, strings.ReplaceAll(adviceOf(err), team, "TEAM"))
		questions[team] = server.asked()
	}
	for team := range answers {
		if answers[team] != answers["unknown"] || questions[team] != questions["unknown"] {
			t.Errorf("%s: %s after %v questions, want %s after %v", team, answers[team], questions[team], answers["unknown"], questions["unknown"])
		}
	}
}

func TestTokensThatAreNotClaimed(t *testing.T) {
	w := newAccountWorld(t, newAskedServer())
	w.Elsewhere = func(issuer string) bool { return issuer == "https://other" }
	for name, token := range map[string]string{
		"an API key":               "pf_acme_0123456789",
		"an opaque key":            "secret-of-16-chars",
		"a wait token":             "pfw_abc",
		"a token of a person":      w.issuer.sign(`{"sub":"anna","aud":"postflight","exp":9e9}`),
		"a token of CI":            w.issuer.sign(`{"sub":"repo:acme/shop:ref:refs/heads/main","aud":"postflight","exp":9e9}`),
		"a legacy token":           w.issuer.sign(`{"iss":"kubernetes/serviceaccount","sub":"system:serviceaccount:acme:ci"}`),
		"a cluster that is listed": newIssuer(t, "other").sign(claimsOf("acme/ci", "https://kubernetes", "https://other")),
		"the same, and this kid":   newIssuer(t, "own").sign(claimsOf("acme/ci", "https://kubernetes", "https://other")),
	} {
		if w.Claims(token) {
			t.Errorf("%s is claimed", name)
		}
	}
	if !w.Claims(w.token("acme/ci", "https://kubernetes", "https://other")) {
		t.Error("a token of this cluster, which has the same issuer as another one, is not claimed")
	}
}
