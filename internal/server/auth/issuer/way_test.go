package issuer

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/test/fakeclient"
	"github.com/postflight-dev/postflight/test/tokens"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func reader(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	return fakeclient.Builder(t).WithObjects(objects...).Build()
}

func team(name, namespace string, repositories ...string) *v1alpha1.Team {
	return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TeamSpec{Namespace: namespace, Repositories: repositories}}
}

// policy trusts the tokens that tokens.Bad differ from.
func policy(issuer, namespace, name string, change ...func(*v1alpha1.TrustPolicySpec)) *v1alpha1.TrustPolicy {
	p := &v1alpha1.TrustPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name)},
		Spec: v1alpha1.TrustPolicySpec{
			Issuer: issuer,
			Claims: map[string]v1alpha1.ClaimValues{"repository_id": {"4711"}, "ref": {"refs/heads/main"}, "event_name": {"push"}},
			Allow:  v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{}},
		},
	}
	for _, c := range change {
		c(&p.Spec)
	}
	return p
}

func listed(i *tokens.Issuer) Issuer {
	l := Issuer{Name: "ci", URL: i.URL}
	if err := l.complete(nil); err != nil {
		panic(err)
	}
	return l
}

func newWay(t *testing.T, i *tokens.Issuer, objects ...client.Object) (*Way, *clocktesting.FakePassiveClock) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(noon)
	return New(Config{
		Issuers: []Issuer{listed(i)}, Client: outbound.Trusting, Reader: reader(t, objects...),
		Staleness: func() time.Duration { return 0 }, Clock: clocktesting.NewFakePassiveClock(noon), Steady: clock,
	}), clock
}

func statusOf(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return http.StatusOK
	}
	refused, ok := errors.AsType[*auth.Error](err)
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	return refused.HTTPStatus()
}

func adviceOf(err error) string {
	refused, _ := errors.AsType[*auth.Error](err)
	return refused.Advice()
}

var notify = auth.Asked{Team: "acme", Actions: []grant.Action{grant.Notify}}

// send is what auth.Authenticator does: a token that no way claims is no good key.
func send(t *testing.T, w *Way, token string, asked auth.Asked) (auth.Principal, error) {
	t.Helper()
	if !w.Claims(token) || len(token) > 8<<10 {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	return w.Authenticate(t.Context(), token, asked)
}

func TestGoodTokens(t *testing.T) {
	ci := tokens.NewIssuer(t)
	gitlab := func(s *v1alpha1.TrustPolicySpec) {
		s.Claims = map[string]v1alpha1.ClaimValues{"project_id": {"22"}, "ref_protected": {"true"}, "runner_id": {"1"}}
		s.Expression = "claims.pipeline_source in ['push', 'web']"
	}
	w, _ := newWay(t, ci, team("acme", "ns-acme"), policy(ci.URL, "ns-acme", "github"), team("shop", "ns-shop"),
		policy(ci.URL, "ns-shop", "gitlab", gitlab))
	for name, tc := range map[string]struct {
		claims tokens.Claims
		want   string
	}{
		"GitHub": {tokens.GitHub(ci.URL, noon), "acme ns-acme/github repo:acme@12/shop@4711:environment:staging"},
		"GitHub, older subject": {tokens.GitHub(ci.URL, noon, tokens.Claims{"sub": "repo:acme/shop:ref:refs/heads/main"}),
			"acme ns-acme/github repo:acme/shop:ref:refs/heads/main"},
		"GitLab": {tokens.GitLab(ci.URL, noon), "shop ns-shop/gitlab project_path:acme/shop:ref_type:branch:ref:main"},
		"several audiences": {tokens.GitHub(ci.URL, noon, tokens.Claims{"aud": []string{"vault", "postflight"}}),
			"acme ns-acme/github repo:acme@12/shop@4711:environment:staging"},
		"a hostile subject": {tokens.GitHub(ci.URL, noon, tokens.Claims{"sub": "x\n\x1b[31m"}), "acme ns-acme/github x"},
		"no subject":        {tokens.GitHub(ci.URL, noon, tokens.Claims{"sub": nil}), "acme ns-acme/github "},
	} {
		t.Run(name, func(t *testing.T) {
			named, _, _ := strings.Cut(tc.want, " ")
			p, err := send(t, w, ci.Sign(tc.claims), auth.Asked{Team: named, Actions: notify.Actions})
			if err != nil {
				t.Fatalf("%v: %s", err, adviceOf(err))
			}
			if got := fmt.Sprintf("%s %s %s", p.Team.Name, p.Sender.Name, p.Sender.Subject); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if p.Sender.Kind != auth.KindToken || !p.Grant.Allows(grant.Notify) || p.Grant.Allows(grant.Read) || p.Grant.Commit != tokens.Commit ||
				p.Expires.Before(noon) || !strings.HasPrefix(string(p.Origin), "uid-ns-") || strings.HasPrefix(p.Sender.Text, ",") {
				t.Errorf("%+v", p)
			}
		})
	}
	if _, err := send(t, w, ci.Sign(tokens.GitHub(ci.URL, noon)), notify); err != nil {
		t.Errorf("sent again: %v", err)
	}
}

// TestBadTokens: whatever is wrong with a token, its sender is refused, and learns nothing about policies.
func TestBadTokens(t *testing.T) {
	ci := tokens.NewIssuer(t)
	secret := policy(ci.URL, "ns-acme", "hidden-name",
		func(s *v1alpha1.TrustPolicySpec) { s.Expression = "claims.environment != 'hidden-expression'" })
	w, steady := newWay(t, ci, team("acme", "ns-acme"), secret)
	if _, err := send(t, w, ci.Sign(tokens.GitHub(ci.URL, noon)), notify); err != nil {
		t.Fatalf("the good token is refused: %v", err)
	}
	bad := ci.Bad(noon)
	if len(bad) < 40 {
		t.Errorf("only %d bad tokens", len(bad))
	}
	for name, tc := range bad {
		t.Run(name, func(t *testing.T) {
			steady.SetTime(steady.Now().Add(fetchEvery)) // so that the issuer is asked for unknown keys
			p, err := send(t, w, tc.Token, notify)
			if got := statusOf(t, err); got != tc.Status || p.Team != nil {
				t.Fatalf("%d for %v, want %d: %v", got, p, tc.Status, err)
			}
			if advice := adviceOf(err); strings.Contains(advice, "hidden") || strings.Contains(advice, "ns-acme") {
				t.Errorf("the answer reveals a policy: %s", advice)
			}
		})
	}
}

func TestTeams(t *testing.T) {
	ci := tokens.NewGitHubServer(t)
	lists := ci.Host() + "/acme/*"
	acme, shop := team("acme", "ns-acme", lists), team("shop", "ns-shop", lists)
	suspended := team("acme", "ns-acme", lists)
	suspended.Spec.Suspended = true
	deleted := policy(ci.URL, "ns-acme", "a")
	deleted.DeletionTimestamp, deleted.Finalizers = new(metav1.NewTime(noon)), []string{"example.com/kept"}
	staging := func(s *v1alpha1.TrustPolicySpec) { s.Allow.Notify.DeploymentTypes = []string{"staging"} }
	elsewhere := func(s *v1alpha1.TrustPolicySpec) { s.Claims["repository_id"] = v1alpha1.ClaimValues{"1"} }
	broad := func(s *v1alpha1.TrustPolicySpec) { s.Claims, s.Expression = nil, "claims.ref != " }
	const none, unnamed = "No TrustPolicy", "Set POSTFLIGHT_TEAM to the name of your Team"
	for name, tc := range map[string]struct {
		objects      []client.Object
		team, policy string
		status       int
		advice       string
		want         string // Sender.Name
	}{
		"the only one": {objects: []client.Object{acme, policy(ci.URL, "ns-acme", "a")}, status: 200, want: "ns-acme/a"},
		"no policy":    {objects: []client.Object{acme}, status: 403, advice: unnamed},
		"no team":      {objects: []client.Object{policy(ci.URL, "ns-acme", "a")}, status: 403, advice: unnamed},
		"two teams of a namespace": {objects: []client.Object{acme, team("rival", "ns-acme", lists), policy(ci.URL, "ns-acme", "a")}, status: 403,
			advice: unnamed},
		"one of the two is named": {objects: []client.Object{acme, team("rival", "ns-acme", lists), policy(ci.URL, "ns-acme", "a")},
			team: "acme", status: 403, advice: none},
		"suspended":        {objects: []client.Object{suspended, policy(ci.URL, "ns-acme", "a")}, status: 403},
		"being deleted":    {objects: []client.Object{acme, deleted}, status: 403, advice: unnamed},
		"does not compile": {objects: []client.Object{acme, policy(ci.URL, "ns-acme", "a", broad)}, status: 403, advice: unnamed},
		"another issuer": {objects: []client.Object{acme, policy("https://ci.example.com", "ns-acme", "a")}, status: 403,
			advice: unnamed},
		"two teams trust it": {objects: []client.Object{acme, shop, policy(ci.URL, "ns-acme", "a"), policy(ci.URL, "ns-shop", "a")},
			status: 403, advice: "header Postflight-Team"},
		"one is named": {objects: []client.Object{acme, shop, policy(ci.URL, "ns-acme", "a"), policy(ci.URL, "ns-shop", "a")},
			team: "shop", status: 200, want: "ns-shop/a"},
		"its namespace is named": {objects: []client.Object{acme, policy(ci.URL, "ns-acme", "a")}, team: "ns-acme", status: 403,
			advice: none + " of the Team ns-acme"},
		"nobody is named": {objects: []client.Object{acme, policy(ci.URL, "ns-acme", "a")}, team: "none", status: 403,
			advice: none + " of the Team none"},
		"another team is named": {objects: []client.Object{acme, shop, policy(ci.URL, "ns-acme", "a"),
			policy(ci.URL, "ns-shop", "a", elsewhere)}, team: "shop", status: 403, advice: none + " of the Team shop"},
		"two policies differ": {objects: []client.Object{acme, policy(ci.URL, "ns-acme", "a"), policy(ci.URL, "ns-acme", "b", staging)},
			status: 403, advice: "The TrustPolicies a, b"},
		"one of them is named": {objects: []client.Object{acme, policy(ci.URL, "ns-acme", "a"), policy(ci.URL, "ns-acme", "b", staging)},
			team: "acme", policy: "b", status: 200, want: "ns-acme/b"},
		"an unlisted issuer's": {objects: []client.Object{acme,
			policy(ci.URL, "ns-acme", "a", func(s *v1alpha1.TrustPolicySpec) { s.Audiences = []string{"other"} })}, status: 403, advice: unnamed},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := newWay(t, ci, tc.objects...)
			p, err := send(t, w, ci.Sign(tokens.GitHub(ci.URL, noon)), auth.Asked{Team: tc.team, Policy: tc.policy, Actions: notify.Actions})
			if got := statusOf(t, err); got != tc.status || p.Sender.Name != tc.want {
				t.Fatalf("%d %q: %v", got, p.Sender.Name, err)
			}
			if err != nil && !strings.Contains(adviceOf(err), tc.advice) {
				t.Errorf("%s, want %q", adviceOf(err), tc.advice)
			}
		})
	}
}

// TestUnnamedTeams: without the header, a token reaches only a Team for which the operator lists its repository. A TrustPolicy of any other
// namespace gets nothing, and the answer does not tell whether there is one.
func TestUnnamedTeams(t *testing.T) {
	hub, lab := tokens.NewGitHubServer(t), tokens.NewIssuer(t)
	release := func(s *v1alpha1.TrustPolicySpec) { s.Claims["ref"] = v1alpha1.ClaimValues{"refs/heads/release"} }
	all := func(s *v1alpha1.TrustPolicySpec) {
		s.Claims = map[string]v1alpha1.ClaimValues{"sub": {"job"}}
		s.Allow = v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{}, Upload: true, Read: true, Act: true}
	}
	gitHub, gitLab := tokens.GitHub(hub.URL, noon, tokens.Claims{"sub": "job"}), tokens.GitLab(lab.URL, noon, tokens.Claims{"sub": "job"})
	other := tokens.Claims{"iss": lab.URL, "aud": "postflight", "sub": "job", "iat": noon.Unix() - 10, "exp": noon.Unix() + 290}
	for name, tc := range map[string]struct {
		ci     *tokens.Issuer
		claims tokens.Claims
		lists  []string // of the Team acme
		acme   func(*v1alpha1.TrustPolicySpec)
		want   string // Sender.Name; empty: the answer for all
	}{
		"nobody lists it, and no policy of its team matches": {hub, gitHub, nil, release, ""},
		"nobody lists it":                       {hub, gitHub, nil, all, ""},
		"listed":                                {hub, gitHub, []string{hub.Host() + "/acme/shop"}, all, "ns-acme/a"},
		"listed in another spelling":            {hub, gitHub, []string{hub.Host() + "/Acme/Shop"}, all, "ns-acme/a"},
		"its owner is listed":                   {hub, gitHub, []string{hub.Host() + "/acme/*"}, all, "ns-acme/a"},
		"listed, but the policy does not match": {hub, gitHub, []string{hub.Host() + "/acme/shop"}, release, ""},
		"another repository is listed":          {hub, gitHub, []string{hub.Host() + "/acme/sho", hub.Host() + "/acme/shop/*"}, all, ""},
		"listed on another host":                {hub, gitHub, []string{"github.com/acme/shop", lab.Host() + "/acme/shop"}, all, ""},
		"listed without a host, on another one": {hub, gitHub, []string{"acme/shop"}, all, ""},
		"GitLab":                                {lab, gitLab, []string{lab.Host() + "/acme/shop"}, all, "ns-acme/a"},
		"GitLab, listed without a host":         {lab, gitLab, []string{"acme/shop"}, all, ""},
		"an issuer that knows no repository":    {lab, other, []string{lab.Host() + "/acme/shop", lab.Host() + "/*"}, all, ""},
		"a claim of GitHub from another issuer": {lab, tokens.GitHub(lab.URL, noon, tokens.Claims{"sub": "job"}),
			[]string{lab.Host() + "/acme/shop"}, all, ""},
		"a claim of GitLab from GitHub's issuer": {hub, tokens.GitLab(hub.URL, noon, tokens.Claims{"sub": "job"}),
			[]string{hub.Host() + "/acme/shop"}, all, ""},
		"a path without the IDs that GitLab has": {lab, tokens.GitLab(lab.URL, noon, tokens.Claims{"sub": "job", "project_id": nil}),
			[]string{lab.Host() + "/acme/shop"}, all, ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{team("acme", "ns-acme", tc.lists...), policy(tc.ci.URL, "ns-acme", "a", tc.acme)}
			w, _ := newWay(t, tc.ci, objects...)
			beside, _ := newWay(t, tc.ci, append(objects, team("shop", "ns-shop", "github.com/shop/*"),
				policy(tc.ci.URL, "ns-shop", "catch-all", all))...)
			for _, action := range grant.Actions {
				asked := auth.Asked{Actions: []grant.Action{action}}
				alone, aloneErr := send(t, w, tc.ci.Sign(tc.claims), asked)
				p, err := send(t, beside, tc.ci.Sign(tc.claims), asked)
				if p.Sender.Name != tc.want || alone.Sender.Name != tc.want {
					t.Fatalf("%s: it reaches %q, and beside the policy of another team %q; want %q", action, alone.Sender.Name, p.Sender.Name, tc.want)
				}
				if tc.want != "" {
					continue
				}
				if adviceOf(err) != adviceOf(aloneErr) || statusOf(t, err) != http.StatusForbidden ||
					!strings.Contains(adviceOf(err), "POSTFLIGHT_TEAM") {
					t.Errorf("%s: the answer is %q, and without the policy of another team %q", action, adviceOf(err), adviceOf(aloneErr))
				}
			}
			if p, err := send(t, beside, tc.ci.Sign(tc.claims), auth.Asked{Team: "shop",
				Actions: notify.Actions}); p.Sender.Name != "ns-shop/catch-all" {
				t.Errorf("the sender names the Team: %q, %v", p.Sender.Name, err)
			}
		})
	}
}

// TestUnnamedTeamIsTheSameAnswer: a sender without the header learns nothing of lists and policies of teams.
func TestUnnamedTeamIsTheSameAnswer(t *testing.T) {
	ci := tokens.NewGitHubServer(t)
	release := func(s *v1alpha1.TrustPolicySpec) { s.Claims["ref"] = v1alpha1.ClaimValues{"refs/heads/release"} }
	listed, unlisted := team("acme", "ns-acme", ci.Host()+"/acme/*"), team("acme", "ns-acme")
	answers := map[string]bool{}
	for _, objects := range [][]client.Object{
		nil, {unlisted}, {listed}, {unlisted, policy(ci.URL, "ns-acme", "a")}, {unlisted, policy(ci.URL, "ns-acme", "a", release)},
		{listed, policy(ci.URL, "ns-acme", "a", release)}, {unlisted, policy(ci.URL, "ns-acme", "a"), team("shop", "shop"),
			policy(ci.URL, "shop", "a")},
	} {
		w, _ := newWay(t, ci, objects...)
		_, err := send(t, w, ci.Sign(tokens.GitHub(ci.URL, noon)), auth.Asked{Actions: notify.Actions})
		answers[fmt.Sprint(statusOf(t, err), " ", adviceOf(err))] = true
	}
	if len(answers) != 1 {
		t.Errorf("%d answers: %v", len(answers), answers)
	}
}

// TestNamedTeamsAreAlike: the answer is the same for a team without a policy and for a team that does not exist.
func TestNamedTeamsAreAlike(t *testing.T) {
	ci := tokens.NewIssuer(t)
	elsewhere := func(s *v1alpha1.TrustPolicySpec) { s.Claims["repository_id"] = v1alpha1.ClaimValues{"1"} }
	w, _ := newWay(t, ci, team("abcd", "abcd"), policy(ci.URL, "abcd", "a", elsewhere))
	answers := map[string]bool{}
	for _, name := range []string{"abcd", "none"} {
		_, err := send(t, w, ci.Sign(tokens.GitHub(ci.URL, noon)), auth.Asked{Team: name, Actions: notify.Actions})
		answers[strings.ReplaceAll(adviceOf(err), name, "TEAM")] = true
	}
	if len(answers) != 1 {
		t.Errorf("%v", answers)
	}
}

func TestStale(t *testing.T) {
	ci := tokens.NewIssuer(t)
	w, _ := newWay(t, ci, team("acme", "ns-acme"), policy(ci.URL, "ns-acme", "a"))
	w.Staleness = func() time.Duration { return auth.MaxStaleness + 1 }
	if _, err := send(t, w, ci.Sign(tokens.GitHub(ci.URL, noon)), notify); statusOf(t, err) != http.StatusServiceUnavailable {
		t.Errorf("%v", err)
	}
}

func TestVouched(t *testing.T) {
	ci := tokens.NewIssuer(t)
	w, _ := newWay(t, ci, policy(ci.URL, "acme", "a"), policy("https://ci.example.com", "acme", "b"),
		policy(ci.URL, "acme", "c", func(s *v1alpha1.TrustPolicySpec) { s.Expression = "x" }))
	for sender, want := range map[string]bool{"acme/a": true, "acme/b": false, "acme/c": false, "acme/none": false, "other/a": false} {
		uid := types.UID("uid-" + strings.ReplaceAll(sender, "/", "-"))
		if got, err := w.Vouched(t.Context(), sender, uid); err != nil || got != want {
			t.Errorf("%s: %v, %v", sender, got, err)
		}
	}
	if got, err := w.Vouched(t.Context(), "acme/a", "another"); err != nil || got {
		t.Errorf("another policy of the name: %v, %v", got, err)
	}
}

func TestCompiledPolicies(t *testing.T) {
	var known compiledPolicies
	p := policy("https://ci.example.com", "acme", "a")
	first, _ := known.get(p)
	if again, _ := known.get(p); again != first {
		t.Error("it was compiled twice")
	}
	p = p.DeepCopy()
	p.Generation, p.Spec.Expression = 2, "claims.ref ="
	if changed, err := known.get(p); changed != nil || err == nil {
		t.Errorf("the change was not seen: %v", err)
	}
	for n := range maxCompiled + 1 {
		q := p.DeepCopy()
		q.UID = types.UID(fmt.Sprint(n))
		_, _ = known.get(q)
	}
	if known.byUID.Len() > maxCompiledOfNamespace {
		t.Errorf("%d are kept", known.byUID.Len())
	}
}
