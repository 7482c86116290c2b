package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

// TestRightsAreThoseOfTheRoles: the questions are exactly what config/rbac grants.
func TestRightsAreThoseOfTheRoles(t *testing.T) {
	granted := sets.New[authorizationv1.ResourceAttributes]()
	for _, file := range []string{"role.yaml", "leader_election_role.yaml", "session_secret.yaml"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "rbac", file))
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			role := &rbacv1.Role{}
			if err := yaml.Unmarshal([]byte(document), role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				insert(granted, role.Namespace, rule)
			}
		}
	}
	asked := sets.New(Rights("postflight-system", nil)...)
	if diff := cmp.Diff(granted, asked); diff != "" {
		t.Errorf("granted (-), asked (+):\n%s", diff)
	}
}

func insert(granted sets.Set[authorizationv1.ResourceAttributes], namespace string, rule rbacv1.PolicyRule) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, resource := range rule.Resources {
		for _, verb := range rule.Verbs {
			for _, name := range names {
				resource, subresource, _ := strings.Cut(resource, "/")
				granted.Insert(authorizationv1.ResourceAttributes{
					Namespace: namespace, Group: rule.APIGroups[0], Resource: resource, Subresource: subresource, Verb: verb, Name: name,
				})
			}
		}
	}
}

func TestRightsOfAFewNamespaces(t *testing.T) {
	for _, q := range Rights("own", []string{"a", "b"}) {
		reviews := q.Group != "postflight.dev" && strings.HasSuffix(q.Resource, "reviews")
		if (q.Namespace == "") != reviews {
			t.Errorf("in a few namespaces alone, the manager is asked for %s", sentenceOf(q))
		}
	}
}

func TestMissingRights(t *testing.T) {
	asked := Rights("own", nil)
	if f := MissingRights("The account a", len(asked), nil); f.Level != OK {
		t.Errorf("%+v", f)
	}
	f := MissingRights("The account a", len(asked), []authorizationv1.ResourceAttributes{
		{Group: "batch", Resource: "jobs", Verb: "create"},
		{Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Name: "postflight", Namespace: "own"},
	})
	const want = "The account a may not create jobs.batch in the cluster, update leases.coordination.k8s.io postflight in own."
	if f.Level != Failure || f.Message != want {
		t.Errorf("%s: %s, want %s", f.Level, f.Message, want)
	}
}
