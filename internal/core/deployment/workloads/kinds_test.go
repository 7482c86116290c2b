package workloads

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestSourceOf(t *testing.T) {
	for name, tc := range map[string]struct {
		of   v1alpha1.Workload
		want string
	}{
		"the least":         {v1alpha1.Workload{Name: "web"}, "apps/v1, Kind=Deployment in shop"},
		"a StatefulSet":     {v1alpha1.Workload{Kind: "StatefulSet"}, "apps/v1, Kind=StatefulSet in shop"},
		"a DaemonSet":       {v1alpha1.Workload{Kind: "DaemonSet"}, "apps/v1, Kind=DaemonSet in shop"},
		"a Rollout":         {v1alpha1.Workload{Kind: "Rollout"}, "argoproj.io/v1alpha1, Kind=Rollout in shop"},
		"an Application":    {v1alpha1.Workload{Kind: "Application", Namespace: "argocd"}, "argoproj.io/v1alpha1, Kind=Application in argocd"},
		"a Kustomization":   {v1alpha1.Workload{Kind: "Kustomization"}, "kustomize.toolkit.fluxcd.io/v1, Kind=Kustomization in shop"},
		"a HelmRelease":     {v1alpha1.Workload{Kind: "HelmRelease"}, "helm.toolkit.fluxcd.io/v2, Kind=HelmRelease in shop"},
		"an older version":  {v1alpha1.Workload{Kind: "HelmRelease", APIVersion: "helm.toolkit.fluxcd.io/v2beta2"}, "helm.toolkit.fluxcd.io/v2beta2, Kind=HelmRelease in shop"},
		"another Service":   {v1alpha1.Workload{Kind: "Service", APIVersion: "serving.knative.dev/v1"}, "serving.knative.dev/v1, Kind=Service in shop"},
		"a Deployment of X": {v1alpha1.Workload{APIVersion: "x.example/v1"}, "x.example/v1, Kind=Deployment in shop"},
	} {
		t.Run(name, func(t *testing.T) {
			if s := SourceOf(&anEnvironment, tc.of); s.String()+" in "+s.Namespace != tc.want {
				t.Errorf("%s in %s", s, s.Namespace)
			}
		})
	}
}

func TestSelectionOf(t *testing.T) {
	labels := func(l map[string]string) *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: l} }
	in := func(operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: operator, Values: values}}}
	}
	for name, tc := range map[string]struct {
		reason string
		of     v1alpha1.Workload
		want   bool
	}{
		"its name":          {"that is enough", v1alpha1.Workload{Name: "web"}, true},
		"another name":      {"names are not prefixes", v1alpha1.Workload{Name: "we"}, false},
		"its label":         {"as Services select", v1alpha1.Workload{Selector: labels(map[string]string{"app": "web"})}, true},
		"one of two labels": {"both are needed", v1alpha1.Workload{Selector: labels(map[string]string{"app": "web", "tier": "a"})}, false},
		"an expression":     {"of several values", v1alpha1.Workload{Selector: in(metav1.LabelSelectorOpIn, "web", "api")}, true},
		"another value":     {"it is none of them", v1alpha1.Workload{Selector: in(metav1.LabelSelectorOpNotIn, "web")}, false},
		"everything":        {"an empty selector would mean all objects", v1alpha1.Workload{Selector: labels(nil)}, false},
		"an invalid one":    {"the API server does not check it", v1alpha1.Workload{Selector: in(metav1.LabelSelectorOpIn)}, false},
		"a strange one":     {"nor its operator", v1alpha1.Workload{Selector: in("Like", "w*")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := aDeployment("web", wholeSHA, set("web", "metadata", "labels", "app"))
			if got := SelectionOf(tc.of).Has(o); got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
}

func TestAllowed(t *testing.T) {
	team := func(namespaces ...v1alpha1.WorkloadNamespace) *v1alpha1.Team {
		return &v1alpha1.Team{Spec: v1alpha1.TeamSpec{WorkloadNamespaces: namespaces}}
	}
	all := v1alpha1.WorkloadNamespace{Name: "argocd"}
	some := v1alpha1.WorkloadNamespace{Name: "argocd", Workloads: []string{"shop", "pay"}}
	const refused = "The team's Environments cannot name workloads of other namespaces: ask your operator to list "
	for name, tc := range map[string]struct {
		reason    string
		team      *v1alpha1.Team
		namespace string
		name      string // empty: a selector
		want      string
	}{
		"its own namespace":            {"nobody has to allow that", team(), "", "shop", ""},
		"its own by name":              {"nor that", team(), "shop", "shop", ""},
		"its own without a team":       {"nor that", nil, "", "shop", ""},
		"its own by selector":          {"nor that", team(), "", "", ""},
		"listed":                       {"all workloads", team(all), "argocd", "shop", ""},
		"listed by selector":           {"all workloads", team(all), "argocd", "", ""},
		"listed with names":            {"this is one of them", team(some), "argocd", "pay", ""},
		"listed with other names":      {"it belongs to another team", team(some), "argocd", "bank", refused + "Application bank in namespace argocd in spec.workloadNamespaces of the Team."},
		"listed with names, by labels": {"each object is checked by its name later", team(some), "argocd", "", ""},
		"listed twice":                 {"either may allow it", team(some, all), "argocd", "bank", ""},
		"not listed":                   {"another namespace is", team(all), "bank", "shop", refused + "Application shop in namespace bank in spec.workloadNamespaces of the Team."},
		"not listed, by selector":      {"there is no name to list", team(), "argocd", "", refused + "namespace argocd in spec.workloadNamespaces of the Team."},
		"without a team":               {"there is nobody to allow it", nil, "argocd", "shop", refused + "Application shop in namespace argocd in spec.workloadNamespaces of the Team."},
	} {
		t.Run(name, func(t *testing.T) {
			s := SourceOf(&anEnvironment, v1alpha1.Workload{Kind: "Application", Namespace: tc.namespace})
			if got := Allowed(tc.team, s, &anEnvironment, tc.name); got != tc.want {
				t.Errorf("%s: %q", tc.reason, got)
			}
		})
	}
}

// TestSlim: what is read stays, and what is large or secret goes.
func TestSlim(t *testing.T) {
	const secret = "s3cr3t"
	variables := []any{fields{"name": "PASSWORD", "value": secret}}
	o := aDeployment("web", wholeSHA, onPods(AnnotationSHA, "of pods"), branched("main"),
		onObject("kubectl.kubernetes.io/last-applied-configuration", `{"env":"`+secret+`"}`),
		set([]any{fields{"manager": "helm", "fieldsV1": fields{"f:spec": fields{}}}}, "metadata", "managedFields"),
		set([]any{
			fields{"name": "web", "image": "shop:1", "env": variables, "args": []any{"--password=" + secret}, "resources": fields{"limits": fields{"cpu": "1"}}},
			fields{"name": "proxy", "image": "envoy:1", "envFrom": []any{fields{"secretRef": fields{"name": secret}}}}, "malformed",
		}, "spec", "template", "spec", "containers"),
		set([]any{fields{"name": "init", "image": "migrate:1", "env": variables}}, "spec", "template", "spec", "initContainers"),
		set([]any{fields{"name": "v", "secret": fields{"secretName": secret}}}, "spec", "template", "spec", "volumes"),
		set(variables, "spec", "jobTemplate", "spec", "template", "spec", "env"),
		set([]any{fields{"template": fields{"containers": []any{fields{"image": "x:1", "env": variables}}}}}, "spec", "groups"),
		set("staging", "spec", "values", "env"),
	)
	Slim(o)
	text, err := json.Marshal(o)
	if err != nil || strings.Contains(string(text), secret) {
		t.Errorf("%v: %s", err, text)
	}
	want := aDeployment("web", wholeSHA, onPods(AnnotationSHA, "of pods"), branched("main"),
		set([]any{fields{"name": "web", "image": "shop:1"}, fields{"name": "proxy", "image": "envoy:1"}}, "spec", "template", "spec", "containers"),
		set([]any{fields{"name": "init", "image": "migrate:1"}}, "spec", "template", "spec", "initContainers"),
		set(fields{}, "spec", "jobTemplate", "spec", "template", "spec"),
		set([]any{fields{"template": fields{"containers": []any{fields{"image": "x:1"}}}}}, "spec", "groups"),
		set("staging", "spec", "values", "env"),
	)
	if diff := cmp.Diff(want.Object, o.Object); diff != "" {
		t.Error(diff)
	}
}

// TestSlimKeepsOthers: an object of Flux has no pods, and one that is malformed does not panic.
func TestSlimKeepsOthers(t *testing.T) {
	for name, spec := range map[string]any{
		"no template":     fields{"values": fields{"image": fields{"tag": "1"}}},
		"a text":          "text",
		"a text template": fields{"template": "text"},
		"a list of pods":  fields{"template": fields{"spec": []any{}}},
		"odd containers":  fields{"template": fields{"spec": fields{"containers": "none"}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: fields{"kind": "HelmRelease", "metadata": fields{"name": "shop"}, "spec": spec}}
			was := o.DeepCopy()
			Slim(o)
			if name == "odd containers" {
				set(fields{}, "spec", "template", "spec")(was)
			}
			if diff := cmp.Diff(was.Object, o.Object); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOwnGroups: objects that the manager reads by its own role are no workloads, whoever names them.
func TestOwnGroups(t *testing.T) {
	content, err := os.ReadFile("../../../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(content, role); err != nil || len(role.Rules) == 0 {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			s := Source{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"}, Namespace: anEnvironment.Namespace}
			if Allowed(nil, s, &anEnvironment, "x") == "" {
				t.Errorf("an Environment may name objects of the group %q", group)
			}
		}
	}
}
