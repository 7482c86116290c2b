package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestHosts: links lead to the first host, and the run pages answer to all of them.
func TestHosts(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	const (
		ingress = "ingress.enabled=true,ingress."
		gateway = "httpRoute.enabled=true,httpRoute.parentRefs[0].name=public,httpRoute.hostnames="
		route   = "route.enabled=true,route.host="
	)
	for name, tc := range map[string]struct{ set, publicURL, pageHosts string }{
		"nothing":                    {set: "replicas=2"},
		"a host of an Ingress":       {ingress + "host=a.example.com", "http://a.example.com", ""},
		"hosts of an Ingress":        {ingress + "hosts={a.example.com,b.example.com}", "http://a.example.com", "b.example.com"},
		"one host and others":        {ingress + "host=b.example.com,ingress.hosts={a.example.com}", "http://b.example.com", "a.example.com"},
		"a certificate of all hosts": {ingress + "hosts={a.example.com},ingress.tlsSecret=a", "https://a.example.com", ""},
		"certificates of hosts":      {ingress + "hosts={a.example.com},ingress.tls[0].secretName=a", "https://a.example.com", ""},
		"a path":                     {ingress + "hosts={a.example.com},ingress.path=/ci", "http://a.example.com/ci", ""},
		"an Ingress that is off":     {"ingress.hosts={a.example.com}", "", ""},
		"hosts of an HTTPRoute":      {gateway + "{a.example.com,b.example.com}", "https://a.example.com", "b.example.com"},
		"a wildcard":                 {gateway + "{a.example.com,*.example.org}", "https://a.example.com", ""},
		"a Route":                    {route + "a.example.com", "https://a.example.com", ""},
		"a Route without TLS":        {route + "a.example.com,route.tls=null", "http://a.example.com", ""},
		"an Ingress and a Route":     {ingress + "hosts={a.example.com}," + route + "b.example.com", "http://a.example.com", "b.example.com"},
		"another URL": {ingress + "hosts={a.example.com,ci.example.com},publicURL=https://ci.example.com:8443/ci,pageHosts={c.example.com}",
			"https://ci.example.com:8443/ci", "c.example.com,a.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			got := struct{ PublicURL, PageHosts string }{}
			for _, arg := range deployment(t, "--set", tc.set).Spec.Template.Spec.Containers[0].Args {
				flag, value, _ := strings.Cut(arg, "=")
				switch flag {
				case "--public-url":
					got.PublicURL = value
				case "--page-hosts":
					got.PageHosts = value
				}
			}
			if diff := cmp.Diff(struct{ PublicURL, PageHosts string }{tc.publicURL, tc.pageHosts}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
