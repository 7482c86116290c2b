package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tokens"
)

// listIssuer writes the file of --token-issuers.
func listIssuer(t *testing.T, ci *tokens.Issuer) func(*options) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "issuers.yaml")
	if err := os.WriteFile(file, []byte("issuers: [{name: ci, url: '"+ci.URL+"'}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *options) {
		o.tokenIssuers = file
		if err := o.loadIssuers(); err != nil {
			t.Fatal(err)
		}
	}
}

// trusts creates a TrustPolicy of a tenant.
func (tn *tenant) trusts(t *testing.T, ci *tokens.Issuer, claims map[string]v1alpha1.ClaimValues) *v1alpha1.TrustPolicy {
	t.Helper()
	p := &v1alpha1.TrustPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: tn.namespace, Name: "ci"},
		Spec: v1alpha1.TrustPolicySpec{Issuer: ci.URL, Claims: claims, Allow: v1alpha1.TrustAllow{
			Notify: &v1alpha1.TrustNotify{DeploymentTypes: []string{"staging"}, Environments: []string{"staging"}},
		}},
	}
	if err := tn.s.Client.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// lists is what the operator does for a Team.
func (tn *tenant) lists(t *testing.T, repository string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"repositories":[%q]}}`, repository))
	if err := tn.s.Client.Patch(t.Context(), &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tn.namespace}}, patch); err != nil {
		t.Fatal(err)
	}
}

func (tn *tenant) namesOfRuns(t *testing.T) (names []string) {
	t.Helper()
	list := &v1alpha1.SuiteList{}
	if err := tn.s.Client.List(t.Context(), list, client.InNamespace(tn.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		names = append(names, s.Name)
	}
	return names
}

// sender sends requests with a token.
type sender struct {
	m     *aManager
	token string
	team  string // of the header; empty: none
}

func (s sender) ask(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.m.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	if s.team != "" {
		r.Header.Set("Postflight-Team", s.team)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

func (s sender) notify(t *testing.T, sha, deploymentType string) (int, string) {
	t.Helper()
	return s.ask(t, http.MethodPost, "/api/webhooks/deploy_success",
		fmt.Sprintf(`{"branch":"main","sha":%q,"deployment_type":%q}`, sha, deploymentType))
}

// TestTokensOfCI: tokens with the claims of GitHub and of GitLab start runs, of the commit and of nothing else that the policy allows, and
// no bad token does.
func TestTokensOfCI(t *testing.T) {
	s, ci := apiserver.Alone(t), tokens.NewIssuer(t)
	m := startManager(t, apiserver.Kubeconfig(t, s.Manager(t)), 0, leads, listIssuer(t, ci))
	acme, shop := newTenant(t, s), newTenant(t, s)
	policy := acme.trusts(t, ci, map[string]v1alpha1.ClaimValues{"repository_id": {"4711"}, "ref": {"refs/heads/main"},
		"event_name": {"push"}})
	shop.trusts(t, ci, map[string]v1alpha1.ClaimValues{"project_id": {"22"}, "ref_protected": {"true"}})
	isReady(t, s, policy)
	github := func(changes ...tokens.Claims) sender {
		return sender{m: m, token: ci.Sign(tokens.GitHub(ci.URL, time.Now(), changes...)), team: acme.namespace}
	}
	shop.lists(t, ci.Host()+"/acme/shop") // so that its jobs need not name it
	gitlab := sender{m: m, token: ci.Sign(tokens.GitLab(ci.URL, time.Now()))}

	var reply httpapi.NotificationResult
	poll.Until(t, "a token of GitHub starts a run", func() string {
		code, body := github().notify(t, tokens.Commit, "staging")
		if err := json.Unmarshal([]byte(body), &reply); err != nil || code != http.StatusOK || len(reply.Results) == 0 {
			return fmt.Sprint(code, body)
		}
		return ""
	})
	poll.Until(t, "a token of GitLab starts a run of the Team that lists its repository", func() string {
		if code, body := gitlab.notify(t, tokens.Commit, "staging"); code != http.StatusOK || len(shop.namesOfRuns(t)) != 1 {
			return fmt.Sprint(code, body)
		}
		return ""
	})
	if code, body := github().ask(t, http.MethodGet, "/api/v0/whoami", ""); code != http.StatusOK ||
		!strings.Contains(body, `{"kind":"token","name":"`+acme.namespace+`/ci"}`) || !strings.Contains(body, `"actions":["notify"]`) ||
		!strings.Contains(body, tokens.Commit) {
		t.Errorf("whoami: %d %s", code, body)
	}
	run := "/api/v0/ci-greenlight/" + reply.Results[0].RunID()
	waits := sender{m: m, token: reply.WaitToken}
	if code, body := waits.ask(t, http.MethodGet, run, ""); code != http.StatusOK {
		t.Errorf("waiting: %d %s", code, body)
	}

	before := slices.Concat(acme.namesOfRuns(t), shop.namesOfRuns(t))
	t.Run("beyond the policy", func(t *testing.T) { beyondThePolicy(t, github, gitlab, acme, shop, run) })
	for name, bad := range ci.Bad(time.Now()) {
		t.Run(name, func(t *testing.T) {
			for _, team := range []string{"", acme.namespace} {
				if code, body := (sender{m, bad.Token, team}).notify(t, tokens.Commit, "staging"); code != bad.Status &&
					(code != http.StatusServiceUnavailable || !bad.NewKey) {
					t.Errorf("as %q: %d, want %d: %s", team, code, bad.Status, body)
				}
			}
		})
	}
	if after := slices.Concat(acme.namesOfRuns(t), shop.namesOfRuns(t)); !slices.Equal(before, after) {
		t.Errorf("runs were created: %q, before %q", after, before)
	}

	if err := s.Client.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	for want, who := range map[int]sender{http.StatusForbidden: github(), http.StatusUnauthorized: waits} {
		poll.Until(t, "the deleted TrustPolicy trusts nobody", func() string {
			if code, body := who.ask(t, http.MethodGet, run, ""); code != want {
				return fmt.Sprint(code, body)
			}
			return ""
		})
	}
}

// beyondThePolicy sends what good tokens may not do.
func beyondThePolicy(t *testing.T, github func(...tokens.Claims) sender, gitlab sender, acme, shop *tenant, run string) {
	const otherCommit = "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"
	for name, tc := range map[string]struct {
		send func() (int, string)
		want string
	}{
		"another commit": {func() (int, string) { return github().notify(t, otherCommit, "staging") }, "issued for the commit " + tokens.Commit},
		"another type":   {func() (int, string) { return github().notify(t, tokens.Commit, "production") }, "deployment types staging only"},
		"reading":        {func() (int, string) { return github().ask(t, http.MethodGet, "/api/v0/runs", "") }, "right to read"},
		"the outcome":    {func() (int, string) { return github().ask(t, http.MethodGet, run, "") }, "right to read outcomes"},
		"canceling": {func() (int, string) {
			return github().ask(t, http.MethodPost, strings.Replace(run, "ci-greenlight", "runs", 1)+"/cancel", "")
		}, "right to cancel"},
		"no team": {func() (int, string) { s := github(); s.team = ""; return s.notify(t, tokens.Commit, "staging") }, "Set POSTFLIGHT_TEAM"},
		"no team, to ask who it is": {func() (int, string) {
			s := github()
			s.team = ""
			return s.ask(t, http.MethodGet, "/api/v0/whoami", "")
		}, "Set POSTFLIGHT_TEAM"},
		"another team": {func() (int, string) {
			s := github()
			s.team = shop.namespace
			return s.notify(t, tokens.Commit, "staging")
		}, "No TrustPolicy of the Team " + shop.namespace},
		"another team's": {func() (int, string) {
			s := gitlab
			s.team = acme.namespace
			return s.notify(t, tokens.Commit, "staging")
		}, "project_id=22"},
		"a team of no name": {func() (int, string) { s := github(); s.team = "none"; return s.notify(t, tokens.Commit, "staging") },
			"No TrustPolicy of the Team none"},
		"another TrustPolicy": {func() (int, string) {
			s := github()
			s.team = acme.namespace + "/none"
			return s.notify(t, tokens.Commit, "staging")
		}, "No TrustPolicy none"},
		"another repository": {func() (int, string) {
			return github(tokens.Claims{"repository_id": "1"}).notify(t, tokens.Commit, "staging")
		}, "repository_id=1"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, body := tc.send(); code != http.StatusForbidden || !strings.Contains(body, tc.want) || !strings.Contains(body, `"forbidden"`) {
				t.Errorf("%d %s, want %q", code, body, tc.want)
			}
		})
	}
}

func isReady(t *testing.T, s *apiserver.Server, p *v1alpha1.TrustPolicy) {
	t.Helper()
	poll.Until(t, "the TrustPolicy is Ready", func() string {
		is := &v1alpha1.TrustPolicy{}
		if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(p), is); err != nil {
			return err.Error()
		}
		if ready := meta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionReady); ready == nil ||
			ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != is.Generation {
			return fmt.Sprint(is.Status.Conditions)
		}
		return ""
	})
}
