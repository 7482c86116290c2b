package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestServiceMonitor: Prometheus verifies the certificate of the metrics if its authority is known.
func TestServiceMonitor(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	const (
		issuer = "tls.enabled=true,tls.certManager.enabled=true,tls.certManager.issuerRef.name=internal"
		name   = "postflight-metrics.postflight-system.svc"
	)
	verified := func(secret, key string) map[string]any {
		return map[string]any{
			"serverName": name,
			"ca":         map[string]any{"secret": map[string]any{"name": secret, "key": key}},
		}
	}
	unverified := map[string]any{"insecureSkipVerify": true}
	for title, tc := range map[string]struct {
		set  string
		want map[string]any
	}{
		"the default":              {"replicas=2", unverified},
		"an authority, no HTTPS":   {"tls.ca.existingSecret=ca", unverified},
		"cert-manager":             {issuer, verified("postflight-tls", "ca.crt")},
		"a public issuer":          {issuer + ",tls.certManager.privateCA=false", map[string]any{"serverName": name}},
		"an authority in a Secret": {"tls.enabled=true,tls.existingSecret=a,tls.ca.existingSecret=ca,tls.ca.key=k", verified("ca", "k")},
		"a Secret without one":     {"tls.enabled=true,tls.existingSecret=a", unverified},
		"what the values say":      {issuer + ",metrics.serviceMonitor.tlsConfig.insecureSkipVerify=true", unverified},
		"HTTP":                     {"metrics.auth=false", nil},
		"a token in a Secret":      {"metrics.serviceMonitor.authorization.credentials.name=a", unverified},
	} {
		t.Run(title, func(t *testing.T) {
			rendered, err := template(t, release, namespace, "--set", "metrics.serviceMonitor.enabled=true,"+tc.set,
				"--show-only", "templates/servicemonitor.yaml")
			if err != nil {
				t.Fatal(err)
			}
			spec := objects(t, rendered)["ServiceMonitor postflight"].Object["spec"].(map[string]any)
			endpoint := spec["endpoints"].([]any)[0].(map[string]any)
			got, _ := endpoint["tlsConfig"].(map[string]any)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (endpoint["scheme"] == "https") != (tc.want != nil) {
				t.Errorf("the scheme is %v", endpoint["scheme"])
			}
			if endpoint["authorization"] != nil && endpoint["bearerTokenFile"] != nil {
				t.Error("it has two tokens")
			}
		})
	}
}
