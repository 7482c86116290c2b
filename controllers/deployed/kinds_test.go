package deployed

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
)

// cluster answers what kinds it has.
type cluster struct {
	discovery.DiscoveryInterfaceWithContext
	looks int
	lists []*metav1.APIResourceList
	err   error
}

func (c *cluster) ServerGroupsAndResourcesWithContext(context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	c.looks++
	return nil, c.lists, c.err
}

func listOf(version string, resources ...metav1.APIResource) *metav1.APIResourceList {
	return &metav1.APIResourceList{GroupVersion: version, APIResources: resources}
}

// TestKinds: the cluster is asked once in a while about a kind that it lacks. A kind that is installed is found, and an outage does not
// count as a missing kind.
func TestKinds(t *testing.T) {
	apps := listOf("apps/v1", metav1.APIResource{Name: "deployments", Kind: "Deployment", Namespaced: true},
		metav1.APIResource{Name: "deployments/scale", Group: "autoscaling", Version: "v1", Kind: "Scale", Namespaced: true})
	roles := listOf("rbac.authorization.k8s.io/v1", metav1.APIResource{Name: "clusterroles", Kind: "ClusterRole"})
	rollouts := listOf("argoproj.io/v1alpha1", metav1.APIResource{Name: "rollouts", Kind: "Rollout", Namespaced: true})
	c, clock := &cluster{lists: []*metav1.APIResourceList{apps, roles}}, clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	k := &kinds{cluster: c, clock: clock}
	find := func(version, kind string) string {
		r, problem, err := k.find(t.Context(), workloads.Source{GroupVersionKind: schema.FromAPIVersionAndKind(version, kind), Namespace: "shop"})
		return fmt.Sprint(r.Resource, problem, err)
	}
	finds := func(when, version, kind, want string) {
		t.Helper()
		if got := find(version, kind); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	const lacked = "The cluster has no kind Rollout in argoproj.io/v1alpha1.<nil>"
	finds("at first", "apps/v1", "Deployment", "deployments<nil>")
	finds("a subresource", "apps/v1", "Scale", "The cluster has no kind Scale in apps/v1.<nil>")
	finds("of the cluster", "rbac.authorization.k8s.io/v1", "ClusterRole", "Objects of kind ClusterRole belong to no namespace: their scope is root.<nil>")
	for i := range 1000 {
		find("x.example/v1", fmt.Sprint("Kind", i))
		finds("before it is installed", "argoproj.io/v1alpha1", "Rollout", lacked)
	}
	if c.looks != 1 {
		t.Errorf("%d looks for a thousand kinds", c.looks)
	}
	pass := func() { clock.SetTime(clock.Now().Add(lookEvery)) }
	c.lists = append(c.lists, rollouts)
	finds("a moment after it was installed", "argoproj.io/v1alpha1", "Rollout", lacked)
	pass()
	finds("later", "argoproj.io/v1alpha1", "Rollout", "rollouts<nil>")
	finds("a known one", "apps/v1", "Deployment", "deployments<nil>")
	c.err, c.lists = errors.New("it hangs"), nil
	pass()
	finds("an unknown one, in an outage", "x.example/v1", "Kind1", "it hangs")
	finds("a known one, in an outage", "argoproj.io/v1alpha1", "Rollout", "rollouts<nil>")
	argo := schema.GroupVersion{Group: "argoproj.io", Version: "v1alpha1"}
	c.err, c.lists = &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{argo: errors.New("it is down")}}, []*metav1.APIResourceList{apps}
	pass()
	finds("another group, in an outage of one", "x.example/v1", "Kind1", "The cluster has no kind Kind1 in x.example/v1.<nil>")
	finds("another kind of the group", "argoproj.io/v1alpha1", "Application", "it is down")
	finds("a known kind of the group", "argoproj.io/v1alpha1", "Rollout", "rollouts<nil>")
	c.err = nil
	pass()
	find("x.example/v1", "Kind1")
	finds("after it was removed", "argoproj.io/v1alpha1", "Rollout", lacked)
	if c.looks != 5 {
		t.Errorf("%d looks", c.looks)
	}
}
