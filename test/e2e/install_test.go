package e2e

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestInstall installs Postflight as its users do, on a cluster of its own. In each flavour, a notification of the
// published client reaches the Service, and its run passes.
func TestInstall(t *testing.T) {
	skipUnlessFull(t, "it takes four minutes and a cluster of its own, and make install-check runs it, too")
	c := newInstallCluster(t)
	t.Run("kubectl apply", c.testManifest)
	t.Run("helm install, upgrade, rollback, uninstall", c.testDefaults)
	t.Run("highly available, with TLS", c.testTLS)
	t.Run("a few namespaces alone", c.testNamespaces)
}

// testManifest applies the manifests of one file without any flag.
func (c *installCluster) testManifest(t *testing.T) {
	manifest, err := c.kubectl("kustomize", filepath.Join(root(), "config", "default"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "install.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	i := c.install(t, "kubectl", "postflight", nil, func() { c.mustKubectl(t, "apply", "-f", file) })
	tm := newTeam(t, c.cluster)
	i.passes(tm)
	c.mustKubectl(t, "delete", "namespace/"+tm.name, "team/"+tm.name)
	c.mustKubectl(t, "delete", "-f", file)
}

// testDefaults installs, upgrades, rolls back and uninstalls the chart, and runs what pipelines take over.
func (c *installCluster) testDefaults(t *testing.T) {
	i := c.install(t, "defaults", "postflight", nil, func() { c.helmInstall(t) })
	tm := newTeam(t, c.cluster)
	i.passes(tm)
	for _, job := range []string{"argocd/postsync.yaml", "flux/job.yaml"} {
		i.jobSucceeds(tm, job)
	}
	c.helm(t, "upgrade", "postflight", chart, "--set", "logLevel=DEBUG")
	c.rolledOut(t)
	i.passes(tm)
	c.helm(t, "rollback", "postflight")
	c.rolledOut(t)
	i.passes(tm)
	c.uninstall(t)
	if len(tm.suites()) < 3 {
		t.Errorf("%d runs are left, but they stay until the CRDs are deleted", len(tm.suites()))
	}
}

// testTLS serves HTTPS from three replicas. The client trusts nothing but the authority of the certificate.
func (c *installCluster) testTLS(t *testing.T) {
	const service = "postflight.postflight-system.svc"
	certificate, key, err := cert.GenerateSelfSignedCertKey(service, []net.IP{net.IPv4(127, 0, 0, 1)}, []string{service})
	if err != nil {
		t.Fatal(err)
	}
	authority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NODE_EXTRA_CA_CERTS", authority)
	c.createSecret(t, systemNamespace, "postflight-tls", map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": certificate})
	roots, err := cert.NewPoolFromBytes(certificate)
	if err != nil {
		t.Fatal(err)
	}
	i := c.install(t, "ha-tls", "postflight", &tls.Config{RootCAs: roots}, func() {
		c.helmInstall(t, "--set", "replicas=3", "--set", "tls.enabled=true",
			"--set", "tls.existingSecret=postflight-tls", "--set", "tls.ca.existingSecret=postflight-tls")
	})
	c.rolledOut(t)
	i.passes(newTeam(t, c.cluster))
	c.uninstall(t)
}

// testNamespaces installs the flavour that has no rights in the rest of the cluster.
func (c *installCluster) testNamespaces(t *testing.T) {
	for _, name := range []string{"acme-web", "acme-app"} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	i := c.install(t, "watch-namespaces", "postflight-acme", nil, func() {
		c.helmInstall(t, "--values", filepath.Join(chart, "ci", "watch-namespaces-values.yaml"))
	})
	tm := &team{cluster: c.cluster, t: t, name: "acme-web", key: "pf_" + random(20)}
	tm.furnish()
	i.passes(tm)
	c.uninstall(t)
}

// passes notifies through the Service with the published client, and waits for the run.
func (i *installation) passes(tm *team) {
	i.t.Helper()
	if len(tm.suites()) == 0 {
		tm.trigger("smoke", runs("echo it works"))
	}
	status := npmClient(i.t)(map[string]any{"apiKey": tm.key, "serviceBase": i.url, "deployment": map[string]any{"branch": "main", "sha": sha()}})
	if status["outcome"] != "success" {
		i.t.Fatalf("the published client: %v", status)
	}
	tm.in(i.t).awaitState(status["runId"].(string), v1alpha1.ReasonPassed)
}

// jobSucceeds runs a Job of integrations as it is shipped, in the namespace of a team. The token of its pod says who it is.
func (i *installation) jobSucceeds(tm *team, file string) {
	i.t.Helper()
	i.mustKubectl(i.t, "apply", "-n", tm.name, "-f", filepath.Join(root(), "integrations", file))
	if out, err := i.kubectl("wait", "-n", tm.name, "job/postflight", "--for=condition=Complete", "--timeout=90s"); err != nil {
		log, _ := i.kubectl("logs", "-n", tm.name, "job/postflight")
		i.t.Fatalf("%s: %s\n%s", file, out, log)
	}
	if log, err := i.kubectl("logs", "-n", tm.name, "job/postflight"); err != nil || !strings.Contains(strings.ToLower(log), "passed") {
		i.t.Errorf("%s: %v\n%s", file, err, log)
	}
	i.mustKubectl(i.t, "delete", "-n", tm.name, "-f", filepath.Join(root(), "integrations", file))
}
