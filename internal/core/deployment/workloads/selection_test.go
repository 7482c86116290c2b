package workloads

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func selecting(requirements ...metav1.LabelSelectorRequirement) v1alpha1.Workload {
	return v1alpha1.Workload{Selector: &metav1.LabelSelector{MatchExpressions: requirements}}
}

func labeled(labels map[string]string) v1alpha1.Workload {
	return v1alpha1.Workload{Selector: &metav1.LabelSelector{MatchLabels: labels}}
}

// TestNamers: the index finds the Environments that a look at all of them finds, also after they have changed.
func TestNamers(t *testing.T) {
	const exists, in, notIn = metav1.LabelSelectorOpExists, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn
	all := [][]v1alpha1.Workload{
		{{Name: "web"}},
		{{Name: "api"}, labeled(map[string]string{"app": "web"})},
		{labeled(map[string]string{"app": "web", "tier": "front"})},
		{labeled(map[string]string{"app": "api"}), labeled(map[string]string{"app": "web", "tier": "back"})},
		{selecting(metav1.LabelSelectorRequirement{Key: "tier", Operator: exists})},
		{selecting(metav1.LabelSelectorRequirement{Key: "app", Operator: in, Values: []string{"web"}})},
		{selecting(metav1.LabelSelectorRequirement{Key: "app", Operator: in, Values: []string{"web", "api"}})},
		{selecting(metav1.LabelSelectorRequirement{Key: "app", Operator: notIn, Values: []string{"web"}})},
		{labeled(nil)},
		{selecting(metav1.LabelSelectorRequirement{Key: "app", Operator: "Like", Values: []string{"w*"}})},
		nil,
	}
	var objects []*unstructured.Unstructured
	for _, name := range []string{"web", "api", "db"} {
		for _, labels := range []map[string]string{nil, {"app": "web"}, {"app": "api"}, {"app": "web", "tier": "front"}, {"app": "db", "tier": "back"}} {
			o := &unstructured.Unstructured{Object: fields{}}
			o.SetName(name)
			o.SetLabels(labels)
			objects = append(objects, o)
		}
	}
	index, wanted := NewNamers(), map[types.NamespacedName][]v1alpha1.Workload{}
	environment := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("e%02d", i)}
	}
	check := func(when string) {
		t.Helper()
		for _, o := range objects {
			var want []types.NamespacedName
			for i := range all {
				if slices.ContainsFunc(wanted[environment(i)], func(w v1alpha1.Workload) bool { return SelectionOf(w).Has(o) }) {
					want = append(want, environment(i))
				}
			}
			if got := index.Of(o); !slices.Equal(got, want) {
				t.Errorf("%s, %s %v: %v, want %v", when, o.GetName(), o.GetLabels(), got, want)
			}
		}
	}
	set := func(i int, workloads []v1alpha1.Workload) {
		var selections []Selection
		for _, w := range workloads {
			selections = append(selections, SelectionOf(w))
		}
		index.Set(environment(i), selections)
		wanted[environment(i)] = workloads
	}
	for i := range all {
		set(i, all[i])
	}
	check("at first")
	for i := range all {
		set(i, all[(i+3)%len(all)])
	}
	check("after a change of each")
	for i := range all {
		set(i, nil)
	}
	if check("at the end"); index.Len() != 0 || len(index.byName)+len(index.byLabel)+len(index.others) != 0 {
		t.Errorf("left: %+v", index)
	}
}

// TestSelectionFor: a selector in another namespace has only the objects that the team may name, as if there were no others.
func TestSelectionFor(t *testing.T) {
	team := func(names ...string) *v1alpha1.Team {
		return &v1alpha1.Team{Spec: v1alpha1.TeamSpec{WorkloadNamespaces: []v1alpha1.WorkloadNamespace{{Name: "argocd", Workloads: names}}}}
	}
	all := labeled(map[string]string{"app": "web"})
	all.Namespace = "argocd"
	own := labeled(map[string]string{"app": "web"})
	named := v1alpha1.Workload{Name: "shop", Namespace: "argocd"}
	for name, tc := range map[string]struct {
		team *v1alpha1.Team
		of   v1alpha1.Workload
		want string
	}{
		"some names":             {team("shop", "pay"), all, "shop"},
		"the whole namespace":    {team(), all, "bank shop"},
		"no team":                {nil, all, ""},
		"its own namespace":      {team("shop"), own, "bank shop"},
		"a name, without labels": {team("shop"), named, "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			s, index, environment := SelectionFor(&anEnvironment, tc.team, tc.of), NewNamers(), types.NamespacedName{Name: "staging"}
			index.Set(environment, []Selection{s})
			var got, found []string
			for _, name := range []string{"bank", "shop"} {
				o := &unstructured.Unstructured{Object: fields{}}
				o.SetName(name)
				o.SetLabels(map[string]string{"app": "web"})
				if s.Has(o) {
					got = append(got, name)
				}
				if len(index.Of(o)) > 0 {
					found = append(found, name)
				}
			}
			if strings.Join(got, " ") != tc.want || !slices.Equal(got, found) {
				t.Errorf("%q, and by the index %q", got, found)
			}
			if index.Set(environment, nil); len(index.byName)+len(index.byLabel)+len(index.others) != 0 {
				t.Errorf("left: %+v", index.byName)
			}
		})
	}
}

// TestNamersLookAtFew: of a thousand Environments that select other labels, none is compared with an object.
func TestNamersLookAtFew(t *testing.T) {
	index := NewNamers()
	for i := range 1000 {
		index.Set(types.NamespacedName{Name: fmt.Sprint(i)}, []Selection{SelectionOf(labeled(map[string]string{"app": fmt.Sprint(i)}))})
	}
	compared := 0
	for _, n := range index.byLabel {
		compared = max(compared, len(n))
	}
	if compared != 1 || len(index.others) != 0 {
		t.Errorf("an object is compared with %d and %d Environments", compared, len(index.others))
	}
}

// TestCounted: of thousands that a selector finds, those are left of which the status says something, and one that makes it say that there
// are more.
func TestCounted(t *testing.T) {
	o := Observed{Environment: &v1alpha1.Environment{}}
	for i := range 1000 {
		for _, repository := range []string{"acme/shop", "acme/api"} {
			w := v1alpha1.Workload{Repository: repository}
			o.Found = append(o.Found, Found{Workload: w, Object: aDeployment(fmt.Sprintf("%s-%03d", repository[5:], i), wholeSHA)})
		}
	}
	all, problems := Status(o)
	o.Found = Counted(o.Found)
	counted, counts := Status(o)
	if len(o.Found) != 2*(MaxWorkloads+1) || !reflect.DeepEqual(all, counted) || !slices.Equal(problems, counts) || len(problems) != 2 {
		t.Errorf("%d are left: %v, %v", len(o.Found), problems, counts)
	}
}
