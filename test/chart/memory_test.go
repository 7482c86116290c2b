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

// TestMemoryLimit: GOMEMLIMIT is nine tenths of the memory limit, in whole MiB.
func TestMemoryLimit(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	for name, tc := range map[string]struct{ arg, want string }{
		"the default":             {"--set=replicas=2", "230MiB"},
		"GiB":                     {"--set=resources.limits.memory=2Gi", "1843MiB"},
		"a part of a GiB":         {"--set=resources.limits.memory=1.5Gi", "1382MiB"},
		"KiB":                     {"--set=resources.limits.memory=524288Ki", "460MiB"},
		"MB":                      {"--set=resources.limits.memory=512M", "439MiB"},
		"GB":                      {"--set=resources.limits.memory=1G", "858MiB"},
		"bytes":                   {"--set-string=resources.limits.memory=1073741824", "921MiB"},
		"a number of bytes":       {`--set-json=resources={"limits":{"memory":1073741824}}`, "921MiB"},
		"an exponent":             {"--set-string=resources.limits.memory=1e9", "858MiB"},
		"no memory limit":         {"--set=resources.limits.memory=null", ""},
		"no limits":               {"--set=resources.limits=null", ""},
		"its own value":           {"--set=goMemLimit=1GiB", "1GiB"},
		"its own value, no limit": {"--set=goMemLimit=1GiB,resources.limits=null", "1GiB"},
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
