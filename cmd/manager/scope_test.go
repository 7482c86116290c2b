package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/internal/kube/scope"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

func TestScopeOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		namespaces []string
		teams      string // the items
		problem    string // empty: none
	}{
		"the whole cluster":           {nil, "", ""},
		"one namespace":               {[]string{"acme"}, "[{metadata: {name: acme}}]", ""},
		"no Teams":                    {[]string{"acme"}, "", "set both, or neither"},
		"no namespaces":               {nil, "[{metadata: {name: acme}}]", "set both, or neither"},
		"an unknown field":            {[]string{"acme"}, "[{metadata: {name: acme}, spec: {a: b}}]", "unknown field"},
		"a Team of another namespace": {[]string{"acme"}, "[{metadata: {name: other}}]", "not one of --watch-namespaces"},
		"a namespace with two owners": {[]string{"acme"}, "[{metadata: {name: acme}}, {metadata: {name: b}, spec: {namespace: acme}}]",
			"claim the same namespace"},
		"a Team twice":             {[]string{"a", "b"}, "[{metadata: {name: a}}, {metadata: {name: a}, spec: {namespace: b}}]", "two Teams"},
		"a name that is no label":  {[]string{"acme"}, "[{metadata: {name: a.b}, spec: {namespace: acme}}]", "DNS label"},
		"records that end at once": {[]string{"acme"}, "[{metadata: {name: acme}, spec: {retention: {records: 1s}}}]", "less than 24h"},
		"a limit that is no limit": {[]string{"acme"}, "[{metadata: {name: acme}, spec: {maxSuites: -1}}]", "below 0"},
		"webhooks": {
			[]string{"acme"}, "[{metadata: {name: acme}, spec: {webhooks: [{name: events, secretRef: {name: postflight-webhook}}]}}]",
			"has webhooks",
		},
		"a Team without its namespace": {[]string{"acme"}, "[{metadata: {name: a}, spec: {namespace: acme}}]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := scopeOptions{Scope: scope.Scope{Namespaces: tc.namespaces}}
			if tc.teams != "" {
				o.teamsFile = teamsFile(t, tc.teams)
			}
			err := o.load()
			if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("got %v, want %q", err, tc.problem)
			}
		})
	}
}

func teamsFile(t *testing.T, items string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "teams.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: postflight.dev/v1alpha1\nkind: TeamList\nitems: "+items+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestScope: a manager with rights in two namespaces alone runs the Suites there, for the Teams of its file, and
// touches nothing elsewhere.
func TestScope(t *testing.T) {
	s := apiserver.Alone(t)
	system, one, two, other := s.Namespace(t), newTenant(t, s), newTenant(t, s), newTenant(t, s)
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + system + ":scoped",
		Groups: []string{"system:authenticated"}}
	for _, tn := range []*tenant{one, two} {
		grantIn(t, s, tn.namespace, config.Impersonate.UserName, rulesInNamespaces(t))
	}
	grantIn(t, s, system, config.Impersonate.UserName, []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "update"}},
	})
	scope := scopeOptions{Scope: scope.Scope{Namespaces: []string{one.namespace, two.namespace}}}
	scope.teamsFile = teamsFile(t, "[{metadata: {name: one}, spec: {namespace: "+one.namespace+"}}, {metadata: {name: "+two.namespace+"}}]")
	if err := scope.load(); err != nil {
		t.Fatal(err)
	}
	m := startManager(t, apiserver.Kubeconfig(t, config), 0, leads, func(o *options) {
		o.scope, o.leader.elect, o.leader.namespace = scope, true, system
	})
	for _, tn := range []*tenant{one, two} {
		suite := tn.deploy(t, m.url, "b776998cc8c72edf8dbdd61479865271c29f66d4")
		poll.True(t, "the run has a Job", func() bool {
			return s.Client.Get(t.Context(), client.ObjectKeyFromObject(suite), &batchv1.Job{}) == nil
		})
		if got := suite.Spec.Environment; got != "staging" {
			t.Errorf("the run is for %q", got)
		}
	}
	if id := other.notify(t, m.url, "b776998cc8c72edf8dbdd61479865271c29f66d4"); id != "" {
		t.Errorf("the run %s was created in a namespace that is not watched", id)
	}
}

// rulesInNamespaces are the rules of config/rbac/role.yaml without objects of the cluster.
func rulesInNamespaces(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(text, role); err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for _, rule := range role.Rules {
		rule.Resources = slices.DeleteFunc(rule.Resources, func(resource string) bool {
			return slices.Contains([]string{"namespaces", "subjectaccessreviews", "teams", "teams/status", "tokenreviews"}, resource)
		})
		if len(rule.Resources) > 0 {
			rules = append(rules, rule)
		}
	}
	return rules
}

func grantIn(t *testing.T, s *apiserver.Server, namespace, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "scoped"}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "scoped"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		},
	} {
		if err := s.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}
