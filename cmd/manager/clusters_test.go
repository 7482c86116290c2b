package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestClusterAwayForAnHour: a notification that the hub refused while the cluster did not answer starts one run an hour later, by the
// clock of the hub, which then needs another token.
func TestClusterAwayForAnHour(t *testing.T) {
	s, other := apiserver.Alone(t), apiserver.Own(t, apiserver.Options{})
	clock := newWrongClock(0)
	m := startManagerIn(t, apiserver.Kubeconfig(t, s.Manager(t)), surroundings{clock: clock, metrics: prometheus.NewRegistry()}, leads,
		func(o *options) { o.holdBudget, o.publicURL = time.Second, "https://hub.example.com" })
	in := startManager(t, apiserver.Kubeconfig(t, other.Manager(t)), 0, leads, trustServiceAccounts(t, s))
	tn := newTenant(t, other)
	g := newGate(t, in.url)
	g.joins(t, s, tn)
	hub := sender{m: m, token: "pf_" + tn.namespace}
	notify := func(sha string) (int, httpapi.Result) {
		code, body := hub.notify(t, sha, "staging")
		var answer httpapi.NotificationResult
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Results) != 1 {
			return code, httpapi.Result{FailureReason: body}
		}
		return code, answer.Results[0]
	}
	poll.Until(t, "the hub hands on", func() string {
		if _, r := notify("before"); r.RunID() == "" {
			return r.FailureReason
		}
		return ""
	})
	tokens := g.tokens()

	g.closed.Store(true)
	for _, later := range []time.Duration{0, 30 * time.Minute, 30 * time.Minute} {
		clock.ahead.Add(int64(later))
		if code, r := notify("meanwhile"); code != http.StatusServiceUnavailable {
			t.Errorf("during the outage: %d %+v", code, r)
		}
	}
	g.closed.Store(false)
	_, first := notify("meanwhile")
	_, second := notify("meanwhile")
	if first.CreatedSuiteID == "" || second.DuplicateSuiteID != first.CreatedSuiteID {
		t.Errorf("an hour later: %+v, and again %+v", first, second)
	}
	if n := len(tn.namesOfRuns(t)); n != 2 {
		t.Errorf("there are %d runs, want one of each commit", n)
	}
	if g.tokens() == tokens {
		t.Error("the hub sends a token that is an hour old")
	}
}

// gate stands before a cluster, and counts the tokens that it sees.
type gate struct {
	url    string
	closed atomic.Bool
	mu     sync.Mutex
	seen   map[string]bool
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	g, pass := &gate{seen: map[string]bool{}}, httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.closed.Load() {
			panic(http.ErrAbortHandler)
		}
		g.mu.Lock()
		g.seen[r.Header.Get("Authorization")] = true
		g.mu.Unlock()
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func (g *gate) tokens() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.seen)
}

const hubAudience = "postflight.east.example.com"

// joins lets the hub say that the tenant's Environment is in the cluster, and the hub in there.
func (g *gate) joins(t *testing.T, hub *apiserver.Server, tn *tenant) {
	t.Helper()
	sum := sha256.Sum256([]byte("pf_" + tn.namespace))
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: tn.namespace, Name: name} }
	east := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "east"},
		Spec: v1alpha1.ClusterSpec{URL: g.url, Teams: []string{tn.namespace}, Audience: hubAudience}}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tn.namespace}},
		&v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tn.namespace}},
		&v1alpha1.APIKey{ObjectMeta: meta("ci"), Spec: v1alpha1.APIKeySpec{SHA256: hex.EncodeToString(sum[:])}},
		east,
		&v1alpha1.Environment{ObjectMeta: meta("staging"), Spec: v1alpha1.EnvironmentSpec{Cluster: east.Name}},
	} {
		if err := hub.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = hub.Client.Delete(context.Background(), east) }) // managers of other tests would ask it
	if err := tn.s.Client.Create(t.Context(), &v1alpha1.TrustPolicy{ObjectMeta: meta("hub"), Spec: v1alpha1.TrustPolicySpec{
		Issuer: hub.Config.Host + "/", Audiences: []string{hubAudience},
		Claims: map[string]v1alpha1.ClaimValues{"sub": {"system:serviceaccount:postflight-system:postflight-manager"}},
		Allow:  v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{}, Read: true},
	}}); err != nil {
		t.Fatal(err)
	}
}

// trustServiceAccounts lists the issuer of another API server, whose keys everyone may read.
func trustServiceAccounts(t *testing.T, other *apiserver.Server) func(*options) {
	t.Helper()
	err := other.Client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "issuer-discovery"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:service-account-issuer-discovery"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:unauthenticated"}},
	})
	if err := client.IgnoreAlreadyExists(err); err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(map[string]any{"issuers": []map[string]any{{ // YAML has JSON in it
		"name": "hub", "url": other.Config.Host + "/", "jwksURL": other.Config.Host + "/openid/v1/jwks", "ca": string(other.Config.CAData),
		"audiences": []string{hubAudience},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "issuers.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *options) {
		o.tokenIssuers = file
		if err := o.loadIssuers(); err != nil {
			t.Fatal(fmt.Errorf("the issuers: %w", err))
		}
	}
}
