package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestServiceAccountTokens sends requests with tokens that a real API server has issued and reviews.
func TestServiceAccountTokens(t *testing.T) {
	s, answersUntil := apiserver.Alone(t), newWrongClock(0)
	m := startManagerIn(t, apiserver.Kubeconfig(t, s.Manager(t)), surroundings{
		clock: clock.RealClock{}, metrics: prometheus.NewRegistry(), accounts: answersUntil,
	}, leads)
	w := &hookWorld{collectWorld: &collectWorld{tenant: newTenant(t, s), t: t, url: m.url}, clock: answersUntil}
	w.deploy(t, m.url, "known")
	w.create(&corev1.ServiceAccount{ObjectMeta: w.meta("tests")})
	binding := w.binds(w.namespace, "tests")
	w.becomes("the binding is noticed", w.token(nil, "postflight"), http.StatusOK)

	t.Run("notifies", func(t *testing.T) { w.at(t).notifies() })
	t.Run("says who it is", func(t *testing.T) { w.at(t).saysWhoItIs() })
	t.Run("notifies another team", func(t *testing.T) { w.at(t).notifiesAnother(newTenant(t, s)) })
	t.Run("refuses", func(t *testing.T) { w.at(t).refusesTokens() })
	t.Run("refuses forged ones without a review", func(t *testing.T) { w.at(t).refusesForged() })
	t.Run("forgets a binding", func(t *testing.T) { w.at(t).forgetsBinding(binding) })
	t.Run("remembers during an outage", func(t *testing.T) {
		tier.All(t, "it restarts the API server")
		w.at(t).remembers()
	})
	t.Run("forgets what is gone", func(t *testing.T) {
		tier.All(t, "the API server itself remembers tokens for ten seconds")
		w.at(t).forgetsGone()
	})
}

// hookWorld has a ServiceAccount "tests" in the namespace of a team.
type hookWorld struct {
	*collectWorld
	clock wrongClock
}

// at is the world for a part of the test.
func (w *hookWorld) at(t *testing.T) *hookWorld {
	inner, here := *w.collectWorld, *w
	inner.t = t
	here.collectWorld = &inner
	return &here
}

func (w *hookWorld) later(d time.Duration) { w.clock.ahead.Add(int64(d)) }

// binds gives an account of the team's namespace the shipped role in a namespace.
func (w *hookWorld) binds(namespace, account string) *rbacv1.RoleBinding {
	w.t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hooks-" + account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "postflight-notifier"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: account}},
	}
	w.create(binding)
	return binding
}

// token is one for a week: the clock goes ahead by seconds whenever a refusal has to be forgotten.
func (w *hookWorld) token(p *corev1.Pod, audiences ...string) string {
	w.t.Helper()
	return w.tokenFor(7*24*time.Hour, p, audiences...)
}

// sends a request, and decodes its answer.
func (w *hookWorld) sends(method, path, token, team, body string, answer any) int {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	w.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if team != "" {
		r.Header.Set("Postflight-Team", team)
	}
	resp, err := http.DefaultClient.Do(r)
	w.must(err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	w.must(err)
	if err := json.Unmarshal(content, answer); err != nil {
		w.t.Fatalf("%d %s: %v", resp.StatusCode, content, err)
	}
	return resp.StatusCode
}

func (w *hookWorld) whoAmI(token, team string) (int, httpapi.WhoAmI, httpapi.Problem) {
	w.t.Helper()
	var answer struct {
		httpapi.WhoAmI
		httpapi.Problem
	}
	status := w.sends(http.MethodGet, "/api/v0/whoami", token, team, "", &answer)
	return status, answer.WhoAmI, answer.Problem
}

// becomes waits until the API server has noticed a change, and refusals of before are forgotten.
func (w *hookWorld) becomes(what, token string, status int) {
	w.t.Helper()
	poll.Until(w.t, what, func() string {
		got, _, problem := w.whoAmI(token, "")
		if got == status {
			return ""
		}
		w.later(serviceaccount.RefusedFor)
		return fmt.Sprint(got, problem.Detail)
	})
}

type notified struct {
	httpapi.Problem
	Results []struct {
		Created string `json:"created_suite_id"`
	} `json:"results"`
	WaitToken string `json:"wait_token"`
}

func (w *hookWorld) notifies() {
	token := w.token(w.pod("hook", nil), "postflight")
	var answer notified
	status := w.sends(http.MethodPost, "/api/webhooks/deploy_success", token, "", `{"branch":"main","sha":"hooked"}`, &answer)
	if status != http.StatusOK || len(answer.Results) != 1 || answer.Results[0].Created == "" {
		w.t.Fatalf("%d %+v", status, answer)
	}
	run := &v1alpha1.Suite{}
	w.must(w.s.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: answer.Results[0].Created}, run))
	if run.Spec.Deployment.SHA != "hooked" || run.Spec.Trigger.Name != "smoke" {
		w.t.Errorf("the run is %+v", run.Spec)
	}
	var greenlight, canceled map[string]any
	for what, bearer := range map[string]string{"its token": token, "the wait token": answer.WaitToken} {
		if status := w.sends(http.MethodGet, "/api/v0/ci-greenlight/"+run.Name, bearer, "", "", &greenlight); status != http.StatusOK {
			w.t.Errorf("the outcome with %s: %d %v", what, status, greenlight)
		}
	}
	if status := w.sends(http.MethodPost, "/api/v0/runs/"+run.Name+"/cancel", token, "", "", &canceled); status != http.StatusForbidden {
		w.t.Errorf("cancel with the role of a notifier: %d %v", status, canceled)
	}
}

func (w *hookWorld) saysWhoItIs() {
	for name, token := range map[string]string{
		"not bound": w.token(nil, "postflight"), "bound": w.token(w.pod("asks", nil), "postflight", "vault"),
	} {
		status, answer, problem := w.whoAmI(token, "")
		expires := answer.ExpiresAt
		answer.ExpiresAt = nil
		want := httpapi.WhoAmI{
			Sender: httpapi.Sender{Kind: "serviceaccount", Name: w.namespace + "/tests"}, Team: w.namespace, Namespace: w.namespace,
			Actions: []string{"notify", "upload", "outcome", "read"},
		}
		if diff := cmp.Diff(want, answer); diff != "" || status != http.StatusOK || expires == nil {
			w.t.Errorf("%s: %d %+v, until %v (-want +got):\n%s", name, status, problem, expires, diff)
		}
	}
}

// notifiesAnother asks for a team that the account has no right for, and then has.
func (w *hookWorld) notifiesAnother(other *tenant) {
	token := w.token(nil, "postflight")
	var refused, unknown, answer notified
	const body = `{"branch":"main","sha":"hooked"}`
	status := w.sends(http.MethodPost, "/api/webhooks/deploy_success", token, other.namespace, body, &refused)
	if status != http.StatusForbidden || refused.FailureCode != "forbidden" {
		w.t.Errorf("without a right: %d %+v", status, refused)
	}
	w.sends(http.MethodPost, "/api/webhooks/deploy_success", token, "nobody", body, &unknown)
	if got := strings.ReplaceAll(refused.Detail, other.namespace, "nobody"); got != unknown.Detail {
		w.t.Errorf("a team without right: %s\na team that does not exist: %s", got, unknown.Detail)
	}
	w.binds(other.namespace, "tests")
	poll.Until(w.t, "the binding is noticed", func() string {
		w.later(serviceaccount.RefusedFor)
		status := w.sends(http.MethodPost, "/api/webhooks/deploy_success", token, other.namespace, body, &answer)
		if status != http.StatusOK || len(answer.Results) != 1 {
			return fmt.Sprintf("%d %+v", status, answer)
		}
		return ""
	})
	w.must(w.s.Client.Get(w.t.Context(), client.ObjectKey{Namespace: other.namespace, Name: answer.Results[0].Created}, &v1alpha1.Suite{}))
	team := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: other.namespace}}
	w.must(w.s.Client.Patch(w.t.Context(), team, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspended":true}}`))))
	poll.True(w.t, "the team is suspended", func() bool {
		return w.sends(http.MethodPost, "/api/webhooks/deploy_success", token, other.namespace, body, &answer) == http.StatusForbidden &&
			answer.FailureCode == "team_suspended"
	})
}

// forgetsBinding: a deleted binding counts until the API server's answer expires.
func (w *hookWorld) forgetsBinding(binding *rbacv1.RoleBinding) {
	token := w.token(nil, "postflight")
	w.isAccepted(token)
	w.must(w.s.Client.Delete(w.t.Context(), binding))
	w.isAccepted(token)
	w.later(serviceaccount.ReviewedFor)
	w.becomes("the binding is gone", token, http.StatusForbidden)
	w.binds(w.namespace, "tests")
	w.becomes("the binding is there again", token, http.StatusOK)
}

// remembers: while the API server is unavailable, what it said before counts within its time.
func (w *hookWorld) remembers() {
	known, unknown := w.token(nil, "postflight"), w.token(nil, "postflight", "vault")
	w.isAccepted(known)
	w.s.Outage(w.t, func() {
		w.isAccepted(known)
		if status, _, problem := w.whoAmI(unknown, ""); status != http.StatusServiceUnavailable || problem.FailureCode != "unavailable" {
			w.t.Errorf("an unknown token: %d %+v", status, problem)
		}
		w.later(serviceaccount.ReviewedFor)
		if status, _, problem := w.whoAmI(known, ""); status != http.StatusServiceUnavailable {
			w.t.Errorf("a known token after its time: %d %+v", status, problem)
		}
	})
	w.becomes("the API server is back", known, http.StatusOK)
}

// forgetsGone is the same for a pod and an account.
func (w *hookWorld) forgetsGone() {
	p, account := w.pod("short", nil), &corev1.ServiceAccount{ObjectMeta: w.meta("tests")}
	ofPod, ofAccount := w.token(p, "postflight"), w.token(nil, "postflight")
	w.isAccepted(ofPod)
	w.isAccepted(ofAccount)
	w.must(w.s.Client.Delete(w.t.Context(), p, client.GracePeriodSeconds(0)))
	w.isAccepted(ofPod)
	w.later(serviceaccount.ReviewedFor)
	w.becomes("the pod is gone", ofPod, http.StatusUnauthorized)
	w.isAccepted(ofAccount)
	w.must(w.s.Client.Delete(w.t.Context(), account))
	w.isAccepted(ofAccount)
	w.later(serviceaccount.ReviewedFor)
	w.becomes("the account is gone", ofAccount, http.StatusUnauthorized)
}

func (w *hookWorld) isAccepted(token string) {
	w.t.Helper()
	if status, _, problem := w.whoAmI(token, ""); status != http.StatusOK {
		w.t.Fatalf("%d %+v", status, problem)
	}
}
