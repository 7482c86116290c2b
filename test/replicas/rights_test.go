package replicas

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// usedOtherwise are the rights that no request of this test shows, each with the test that needs it.
var usedOtherwise = map[string]string{
	"update postflight.dev/environments/finalizers":                     "the admission plugin OwnerReferencesPermissionEnforcement asks for it: TestEphemeralEnvironment",
	"update postflight.dev/suites/finalizers":                           "the same, for Jobs: TestRunEnds",
	"create postflight.dev/deploymentreviews":                           "a code host asks: TestReviews",
	"create serviceaccounts/token postflight-system postflight-manager": "a hub hands on: TestHandOn in test/hub",
	"get postflight.dev/triggerclasses":                                 "a notification asks for a class that the cache lacks, because it is new: TestTriggerClass",
}

// right is what a request needs, or a role gives: to do this to that, in this namespace and with this name, or in all and
// with any.
type right struct{ verb, group, resource, namespace, name string }

func (r right) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.verb, strings.TrimPrefix(r.group+"/"+r.resource, "/"), r.namespace, r.name))
}

// allows reports whether a right of a role is one that a request needs.
func (r right) allows(used right) bool {
	return r.verb == used.verb && r.group == used.group && r.resource == used.resource &&
		cmp.Or(r.namespace, used.namespace) == used.namespace && cmp.Or(r.name, used.name) == used.name
}

// audit records what a client asks the API server for.
type audit struct {
	next http.RoundTripper

	mu      sync.Mutex
	used    map[right]bool
	refused map[string]bool
}

var requestInfo = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

func (a *audit) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.next.RoundTrip(r)
	info, unknown := requestInfo.NewRequestInfo(r)
	if err != nil || unknown != nil || !info.IsResourceRequest {
		return resp, err
	}
	resource := strings.TrimSuffix(info.Resource+"/"+info.Subresource, "/")
	needed := right{info.Verb, info.APIGroup, resource, info.Namespace, info.Name}
	a.mu.Lock()
	defer a.mu.Unlock()
	if resp.StatusCode == http.StatusForbidden {
		a.refused[needed.String()] = true
	}
	a.used[needed] = true
	return resp, nil
}

// unused are those that no request has needed.
func (a *audit) unused(all []right) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var unused []string
	for _, r := range all {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(a.used)), r.allows) {
			unused = append(unused, r.String())
		}
	}
	slices.Sort(unused)
	return slices.Compact(unused)
}

// TestEveryRightIsUsed: the usual ways of a manager need every right that its roles give, and no other. The policies, which
// bound it further, are in force.
func TestEveryRightIsUsed(t *testing.T) {
	tier.All(t, "it installs everything on an API server of its own")
	s := apiserver.Own(t, apiserver.Options{})
	if _, err := s.Kubectl(t, "apply", "--server-side", "-k", "../../config/default"); err != nil {
		t.Fatal(err)
	}
	config, seen := s.Manager(t), &audit{used: map[right]bool{}, refused: map[string]bool{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { seen.next = next; return seen })
	shipped := shippedRights(t, s)
	w := startUsualWays(t, s, newProxy(t, config).kubeconfig())
	w.goAll()
	expected := slices.Sorted(maps.Keys(usedOtherwise))
	err := poll.Wait(poll.Limit, "every right is used, but for the expected ones", func() string {
		if unused := seen.unused(shipped); !slices.Equal(unused, expected) {
			return fmt.Sprintf("no request needs these rights:\n%s\nbut these are expected:\n%s",
				strings.Join(unused, "\n"), strings.Join(expected, "\n"))
		}
		return ""
	})
	if err != nil {
		t.Error(err)
	}
	for _, refused := range slices.Sorted(maps.Keys(seen.refused)) {
		t.Errorf("the API server refuses to %s", refused)
	}
	fmt.Printf("RIGHTS shipped=%d used=%d otherwise=%d\n", len(shipped), len(shipped)-len(expected), len(expected))
}

// shippedRights are those of the manager's account, and what a team may give it for its credentials and its workloads.
func shippedRights(t *testing.T, s *apiserver.Server) (all []right) {
	t.Helper()
	roles := map[string][]rbacv1.PolicyRule{}
	for _, name := range []string{"postflight-manager", "postflight-credentials-reader", "postflight-workloads-reader"} {
		role := &rbacv1.ClusterRole{}
		if err := s.Client.Get(t.Context(), k8sclient.ObjectKey{Name: name}, role); err != nil {
			t.Fatal(err)
		}
		roles[""] = append(roles[""], role.Rules...)
	}
	var inSystem rbacv1.RoleList
	if err := s.Client.List(t.Context(), &inSystem, k8sclient.InNamespace(system)); err != nil || len(inSystem.Items) != 3 {
		t.Fatalf("%d roles, %v", len(inSystem.Items), err)
	}
	for _, role := range inSystem.Items {
		roles[system] = append(roles[system], role.Rules...)
	}
	for namespace, rules := range roles {
		for _, rule := range rules {
			all = append(all, expand(namespace, rule)...)
		}
	}
	return all
}

func expand(namespace string, rule rbacv1.PolicyRule) (all []right) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, right{verb, group, resource, namespace, name})
				}
			}
		}
	}
	return all
}
