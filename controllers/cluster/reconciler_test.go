package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

// asked answers for each Team, and notes the questions.
type asked struct {
	answer    func(team string) (actions []string, err error)
	questions []string
}

func (a *asked) WhoAmI(_ context.Context, cluster string, c delegation.Command) (httpapi.WhoAmI, error) {
	a.questions = append(a.questions, fmt.Sprintf("%s for %s: %v", cluster, c.Team.Name, c.Delegation.Environments))
	actions, err := a.answer(c.Team.Name)
	return httpapi.WhoAmI{Actions: actions}, err
}

func environment(namespace, name, cluster string) client.Object {
	return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.EnvironmentSpec{Cluster: cluster}}
}

// TestReconcile: the status says what the cluster lets this Postflight do for each Team that has Environments there.
func TestReconcile(t *testing.T) {
	all := func(string) ([]string, error) { return []string{"notify", "read"}, nil }
	var many []client.Object
	for i := range maxTeams + 1 {
		name := fmt.Sprintf("team-%02d", i)
		many = append(many, build.Team(name, ""), environment(name, "staging", "east"))
	}
	cases := map[string]struct {
		reason    string
		objects   []client.Object
		answer    func(team string) ([]string, error)
		want      string // the reason of the condition
		says      string
		questions []string // nil: as many as one status may ask
	}{
		"two teams": {"each is asked about its own Environments",
			[]client.Object{build.Team("acme", ""), build.Team("shop", ""), environment("acme", "staging", "east"), environment("acme", "production", "east"),
				environment("acme", "here", ""), environment("acme", "far", "west"), environment("shop", "staging", "east")},
			all, "Answering", "for 2 of 2 Teams", []string{"east for acme: [production staging]", "east for shop: [staging]"}},
		"no team": {"a namespace without a Team has no rights to ask for",
			[]client.Object{environment("stray", "staging", "east")}, all, "Unused", "set spec.cluster", []string{}},
		"no environment": {"nothing needs the Cluster",
			[]client.Object{build.Team("acme", "")}, all, "Unused", "set spec.cluster", []string{}},
		"one is refused": {"the message names the Team, and what it does not affect is asked, too",
			[]client.Object{build.Team("acme", ""), build.Team("shop", ""), environment("acme", "staging", "east"), environment("shop", "staging", "east")},
			func(team string) ([]string, error) {
				if team == "acme" {
					return nil, errors.New("refused the token")
				}
				return all(team)
			}, "NotAnswering", "For the Team acme, it refused the token.", []string{"east for acme: [staging]", "east for shop: [staging]"}},
		"a right is missing": {"it cannot notify",
			[]client.Object{build.Team("acme", ""), environment("acme", "staging", "east")},
			func(string) ([]string, error) { return []string{"read"}, nil }, "MissingRights", "acme", []string{"east for acme: [staging]"}},
		"many teams": {"one status asks for some of them, and says for how many", many, all, "Answering", "for 50 of 51 Teams", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			east := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "east", Generation: 7}}
			c := fakeclient.Builder(t).WithObjects(append(tc.objects, east)...).WithStatusSubresource(east).Build()
			a := &asked{answer: tc.answer, questions: []string{}}
			r := &Reconciler{Client: c, Clusters: a}
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(east)})
			if err != nil || result.RequeueAfter != every {
				t.Errorf("%s: asks again after %s, %v", tc.reason, result.RequeueAfter, err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(east), east); err != nil {
				t.Fatal(err)
			}
			ready := meta.FindStatusCondition(east.Status.Conditions, v1alpha1.ConditionReady)
			if ready == nil || ready.Reason != tc.want || !strings.Contains(ready.Message, tc.says) || ready.ObservedGeneration != 7 {
				t.Errorf("%s: Ready is %+v, want %s with %q", tc.reason, ready, tc.want, tc.says)
			}
			if tc.questions == nil && len(a.questions) != maxTeams || tc.questions != nil && !slices.Equal(a.questions, tc.questions) {
				t.Errorf("%s: asked %q, want %q", tc.reason, a.questions, tc.questions)
			}
		})
	}
}

// TestReconcileWithoutCluster: it was deleted, and nothing is asked again.
func TestReconcileWithoutCluster(t *testing.T) {
	r := &Reconciler{Client: fakeclient.New(t), Clusters: &asked{}}
	if result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "gone"}}); err != nil || !result.IsZero() {
		t.Errorf("%+v, %v", result, err)
	}
}
