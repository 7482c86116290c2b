package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// get reads an object of the manager's namespace once config/default was applied.
func get(t *testing.T, s *apiserver.Server, name string, into client.Object) {
	t.Helper()
	must(t, s.Client.Get(t.Context(), client.ObjectKey{Namespace: "postflight-system", Name: name}, into))
}

// TestWhatIsOpen: everybody can reach the API, only labeled namespaces the metrics, and nothing else is open. Each
// Service has one port.
func TestWhatIsOpen(t *testing.T) {
	s := installed(t)
	var deployment appsv1.Deployment
	get(t, s, "postflight-manager", &deployment)
	var policy networkingv1.NetworkPolicy
	get(t, s, "postflight-manager", &policy)
	if diff := cmp.Diff(deployment.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels); diff != "" {
		t.Errorf("the policy is for other pods than the manager's:\n%s", diff)
	}
	if !slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		t.Errorf("policy types %v, want Ingress", policy.Spec.PolicyTypes)
	}
	open := map[string]int{} // by port: how many rules, and how many limit the source
	for _, rule := range policy.Spec.Ingress {
		for _, port := range rule.Ports {
			open[port.Port.String()] += 1 + 10*len(rule.From)
		}
	}
	if diff := cmp.Diff(map[string]int{"http": 1, "metrics": 11}, open); diff != "" {
		t.Errorf("open ports (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"postflight": "http", "postflight-metrics": "metrics"} {
		var service corev1.Service
		get(t, s, name, &service)
		if ports := service.Spec.Ports; len(ports) != 1 || ports[0].TargetPort.String() != want {
			t.Errorf("Service %s has ports %v, want %s alone", name, ports, want)
		}
		if diff := cmp.Diff(deployment.Spec.Selector.MatchLabels, service.Spec.Selector); diff != "" {
			t.Errorf("Service %s selects other pods:\n%s", name, diff)
		}
	}
}

// TestContainerMemory: the floods are tested in this memory.
func TestContainerMemory(t *testing.T) {
	s := installed(t)
	var deployment appsv1.Deployment
	get(t, s, "postflight-manager", &deployment)
	manager := deployment.Spec.Template.Spec.Containers[0]
	if got := manager.Resources.Limits.Memory().String(); got != "256Mi" {
		t.Errorf("the limit is %s, and test/replicas floods a manager of 256Mi", got)
	}
}
