package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/internal/core/grant"
	"github.com/postflight-dev/postflight/internal/core/serviceaccount"
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
	keys := NewClusterKeys(func(context.Context) ([]byte, error) { return published(w.issuer), nil }, w.clock)
	w.ServiceAccounts = NewServiceAccounts(ServiceAccountConfig{Reviewer: server, Keys: keys, Reader: teams, Clock: w.clock})
	return w
}

// claimsOf are those of a ServiceAccount, as the API server writes them.
func claimsOf(account string, change ...string) string {
	namespace, name, _ := strings.Cut(account, "/")
	claims := fmt.Sprintf(`{"iss":"https://kubernetes","sub":"system:serviceaccount:%s:%s","aud":["postflight"],"exp":%d,"kubernetes.io":{"namespace":%q}}`,
		namespace, name, noon.Add(time.Hour).Unix(), namespace)
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
		"own team":              {"the namespace says which", "acme/ci", nil, "", []grant.Action{grant.Notify}, 0, "", []grant.Action{grant.Notify}, "acme"},
		"own team by name":      {"the header may name it", "acme/ci", nil, "acme", []grant.Action{grant.Read}, 0, "", []grant.Action{grant.Read}, "acme"},
		"whoami":                {"of all, what is allowed", "acme/ci", nil, "", grant.Actions, 0, "", []grant.Action{grant.Notify, grant.Upload, grant.Outcome, grant.Read}, "acme"},
		"another team":          {"it has the right there", "hooks/ci", nil, "shop", []grant.Action{grant.Upload}, 0, "", []grant.Action{grant.Upload}, "shop"},
		"act":                   {"it may create and patch", "hooks/admin", nil, "acme", []grant.Action{grant.Act}, 0, "", []grant.Action{grant.Act}, "acme"},
		"act without patch":     {"create is not enough", "acme/ci", nil, "", []grant.Action{grant.Act}, 403, "may not create or patch suites", nil, ""},
		"no RoleBinding":        {"it may do nothing", "acme/default", nil, "", []grant.Action{grant.Notify}, 403, "acme/default may not create suites.postflight.dev in the namespace acme", nil, ""},
		"no right there":        {"its right is elsewhere", "acme/ci", nil, "rival", []grant.Action{grant.Notify}, 403, "or there is no such Team", nil, ""},
		"no such team":          {"it looks like one without right", "acme/ci", nil, "unknown", []grant.Action{grant.Notify}, 403, "or there is no such Team", nil, ""},
		"a strange name":        {"no Team has such a name", "acme/ci", nil, "A/../b\x1b[2J", []grant.Action{grant.Notify}, 403, "or there is no such Team", nil, ""},
		"a namespace":           {"only the name of the Team counts", "hooks/ci", nil, "shop-ci", []grant.Action{grant.Notify}, 403, `no Team "shop-ci"`, nil, ""},
		"no team":               {"the header is missing", "nobody/ci", nil, "", []grant.Action{grant.Notify}, 403, "Postflight-Team", nil, ""},
		"two teams":             {"it is unclear whose runs these are", "both/ci", nil, "", []grant.Action{grant.Notify}, 403, "Two Teams claim", nil, ""},
		"two teams, named":      {"it is unclear whose runs these are", "hooks/admin", nil, "one", []grant.Action{grant.Notify}, 403, "Two Teams claim", nil, ""},
		"a suspended team":      {"nothing of it works", "asleep/ci", nil, "", []grant.Action{grant.Notify}, 403, "", nil, ""},
		"suspended, no right":   {"it looks like any other team", "acme/ci", nil, "asleep", []grant.Action{grant.Notify}, 403, "or there is no such Team", nil, ""},
		"a collector's token":   {"its audience is another one", "acme/ci", []string{`"postflight"`, `"postflight-collect"`}, "", []grant.Action{grant.Notify}, 401, "audience", nil, ""},
		"a token of the API":    {"its audience is another one", "acme/ci", []string{`"postflight"`, `"https://kubernetes"`}, "", []grant.Action{grant.Notify}, 401, "audience", nil, ""},
		"an old token":          {"it has expired", "acme/ci", []string{fmt.Sprint(noon.Add(time.Hour).Unix()), "1000"}, "", []grant.Action{grant.Notify}, 401, "expired", nil, ""},
		"a token without end":   {"the API server gives every token one", "acme/ci", []string{`"exp"`, `"expires"`}, "", []grant.Action{grant.Notify}, 401, "expired", nil, ""},
		"another case of claim": {"whose it is, the API server decides", "acme/ci", []string{`"iss"`, `"ISS"`}, "", []grant.Action{grant.Notify}, 0, "", []grant.Action{grant.Notify}, "acme"},
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
		"a cluster that is listed": w.token("acme/ci", "https://kubernetes", "https://other"),
	} {
		if w.Claims(token) {
			t.Errorf("%s is claimed", name)
		}
	}
}

// TestAccountsAreRemembered: what the API server said counts for two minutes, a refusal for ten seconds, and nothing for longer than the token.
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

// TestForgedAccountTokens: tokens that the API server has not signed cost it nothing, and are in nobody's way.
func TestForgedAccountTokens(t *testing.T) {
	server := newAskedServer("acme/ci create acme")
	w := newAccountWorld(t, server)
	stranger, impostor, other := newIssuer(t, "stranger"), newIssuer(t, "own"), newIssuer(t, "other")
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
		leave() // whoever came first may leave
		close(server.hangs)
		group.Wait()
		if got := server.asked(); got != [2]int{1, 1} {
			t.Errorf("%v questions, want one of each", got)
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
		known.add(fmt.Sprint("loud", n%16), id(n), &knownAccount{until: until})
		if known.count > maxAccounts || known.namespaces["loud0"].Len() > maxAccountsOfNamespace {
			t.Fatalf("%d are kept, %d of a namespace", known.count, known.namespaces["loud0"].Len())
		}
	}
	for _, quiet := range []string{"a", "b", "c"} {
		if known.get(quiet, id(0), noon) == nil {
			t.Errorf("the token of %s is displaced by others", quiet)
		}
	}
	for n := range 2 * maxAccounts { // so many namespaces that each has one
		known.add(fmt.Sprint("one", n), id(n), &knownAccount{until: until})
	}
	if known.count != maxAccounts || len(known.namespaces) > maxAccounts {
		t.Errorf("%d are kept, of %d namespaces", known.count, len(known.namespaces))
	}
	a := &knownAccount{until: until}
	for n := range 10 * maxRights {
		a.learn(right{fmt.Sprint(n), "create"}, true, noon)
	}
	if len(a.rights) > maxRights {
		t.Errorf("%d rights are known of a token", len(a.rights))
	}
}
