package peers

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/poll"
)

// kueueSystem is the namespace of Kueue, whose webhooks its API server reaches by the Service.
const (
	kueueSystem  = "kueue-system"
	kueueService = "kueue-webhook-service"
	kueueSecret  = "kueue-webhook-server-cert"
)

// kueueConfig is the shipped configuration, for Jobs alone. It makes its own certificates.
const kueueConfig = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health: {healthProbeBindAddress: "%s"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: "%s"}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: true, webhookServiceName: kueue-webhook-service, webhookSecretName: kueue-webhook-server-cert}
integrations: {frameworks: [batch/job]}
featureGates: {VisibilityOnDemand: false}
`

// startKueue runs the controllers, the scheduler and the webhooks of Kueue on an API server, with the Job controller and the garbage
// collector of Kubernetes.
func startKueue(t *testing.T, s *apiserver.Server) {
	t.Helper()
	binary := peer(t, "kueue")
	health, webhooks, certificates := freeport.Address(t), port(t), t.TempDir()
	number, err := strconv.Atoi(webhooks)
	must(t, err)
	installKueue(t, s, number)
	s.RunControllers(t, "job-controller,garbage-collector-controller") // last, so that garbage of Kueue is collected at once

	dir := t.TempDir()
	config := write(t, dir, "config.yaml", fmt.Appendf(nil, kueueConfig, health, number, certificates))
	log, err := os.Create(filepath.Join(dir, "log"))
	must(t, err)
	cmd := exec.Command(binary, "--kubeconfig", apiserver.Kubeconfig(t, s.Config), "--config", config)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, managers.DieWithParent()
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("Kueue:\n%s", text[max(0, len(text)-12000):])
		}
	})
	mountCertificates(t, s, certificates)
	poll.True(t, "Kueue is ready", func() bool {
		resp, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// mountCertificates does what the kubelet does with the Secret of the webhooks.
func mountCertificates(t *testing.T, s *apiserver.Server, dir string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: kueueSystem, Name: kueueSecret}}
	poll.True(t, "Kueue has made its certificate", func() bool {
		must(t, s.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
		return len(secret.Data["tls.crt"]) > 0
	})
	for _, name := range []string{"ca.crt", "tls.key", "tls.crt"} { // it waits for the last one
		write(t, dir, name, secret.Data[name])
	}
}

// installKueue applies what Kueue ships, with webhooks for Jobs and its own objects.
func installKueue(t *testing.T, s *apiserver.Server, webhookPort int) {
	t.Helper()
	create := func(o client.Object) {
		t.Helper()
		must(t, s.Client.Create(t.Context(), o))
	}
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kueueSystem}})
	create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: kueueSystem, Name: kueueSecret}})
	create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: kueueSystem, Name: kueueService},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})
	service := map[string]any{"namespace": kueueSystem, "name": kueueService, "port": int64(webhookPort)}
	for _, crd := range kueueCRDs(t, service) {
		create(crd)
	}
	for document := range strings.SplitSeq(read(t, "bin", "peers", "kueue-webhooks.yaml"), "\n---\n") {
		config := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(document), &config.Object))
		config.SetName("kueue-" + config.GetName())
		all, _, err := unstructured.NestedSlice(config.Object, "webhooks")
		must(t, err)
		all = slices.DeleteFunc(all, func(w any) bool {
			path, _, _ := unstructured.NestedString(w.(map[string]any), "clientConfig", "service", "path")
			return !strings.Contains(path, "-batch-v1-job") && !strings.Contains(path, "-kueue-x-k8s-io-")
		})
		for _, w := range all {
			for field, value := range service {
				must(t, unstructured.SetNestedField(w.(map[string]any), value, "clientConfig", "service", field))
			}
		}
		must(t, unstructured.SetNestedSlice(config.Object, all, "webhooks"))
		create(config)
	}
	_, err := s.Kubectl(t, "wait", "--for=condition=Established", "customresourcedefinitions", "--all", "--timeout=60s")
	must(t, err)
}

// converted are the CRDs whose webhook gets the certificate of Kueue, as in its kustomization.
var converted = []string{"clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads"}

// kueueCRDs are those that Kueue ships, with the webhook that converts them.
func kueueCRDs(t *testing.T, service map[string]any) (all []client.Object) {
	t.Helper()
	files, err := filepath.Glob(path(t, "bin", "peers", "crds", "kueue.x-k8s.io_*.yaml"))
	must(t, err)
	if len(files) == 0 {
		t.Fatal("there are no CRDs of Kueue")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		crd := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(text, &crd.Object))
		if slices.Contains(converted, strings.TrimSuffix(crd.GetName(), ".kueue.x-k8s.io")) {
			at := map[string]any{"path": "/convert"}
			maps.Copy(at, service)
			webhook := map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"service": at}}
			must(t, unstructured.SetNestedMap(crd.Object, map[string]any{"strategy": "Webhook", "webhook": webhook}, "spec", "conversion"))
		}
		all = append(all, crd)
	}
	return all
}

// port is a free one, without its host.
func port(t testing.TB) string {
	t.Helper()
	_, number, err := net.SplitHostPort(freeport.Address(t))
	must(t, err)
	return number
}
