package chart

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/postflight-dev/postflight/test/tier"
)

// deployment renders the Deployment of the manager.
func deployment(t *testing.T, args ...string) *appsv1.Deployment {
	t.Helper()
	rendered, err := template(t, release, namespace, append(args, "--show-only", "templates/deployment.yaml")...)
	if err != nil {
		t.Fatal(err)
	}
	d := &appsv1.Deployment{}
	convert(t, objects(t, rendered)["Deployment postflight-manager"], d)
	return d
}

// TestMemoryLimit: GOMEMLIMIT is only set if it is configured, because the manager sets it by the memory limit of its container.
func TestMemoryLimit(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	for name, tc := range map[string]struct{ arg, want string }{
		"the default":   {"--set=replicas=2", ""},
		"its own value": {"--set=goMemLimit=1GiB", "1GiB"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, v := range deployment(t, tc.arg).Spec.Template.Spec.Containers[0].Env {
				if v.Name == "GOMEMLIMIT" {
					got = v.Value
				}
			}
			if got != tc.want {
				t.Errorf("GOMEMLIMIT is %q, want %q", got, tc.want)
			}
		})
	}
}
