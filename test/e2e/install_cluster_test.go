package e2e

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/poll"
)

const systemNamespace = "postflight-system"

var chart = filepath.Join(root(), "charts", "postflight")

// installCluster is a cluster on which nobody has installed Postflight.
type installCluster struct{ *cluster }

// newInstallCluster starts a cluster, and removes what it has of Postflight but the image.
func newInstallCluster(t *testing.T) *installCluster {
	t.Helper()
	skipWithoutPods(t)
	if err := makeMissing("bin/dev", "bin/manager", "bin/collect", "bin/helm"); err != nil {
		t.Fatal(err)
	}
	c := &installCluster{&cluster{dir: clusterDir() + "-install"}}
	t.Cleanup(func() {
		if err := c.down(); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(c.down(), os.RemoveAll(c.dir), c.up()); err != nil {
		t.Fatal(err)
	}
	c.mustKubectl(t, "delete", "-k", filepath.Join(root(), "config", "default"), "--ignore-not-found")
	return c
}

// installation is Postflight in the cluster, reached through its Service.
type installation struct {
	*installCluster
	t   *testing.T
	url string
}

// install runs a command that installs, and waits for the first answer at the Service.
func (c *installCluster) install(t *testing.T, flavour, service string, config *tls.Config, run func()) *installation {
	t.Helper()
	begin := time.Now()
	run()
	installed := time.Since(begin)
	scheme := "http"
	if config != nil {
		scheme = "https"
	}
	i := &installation{installCluster: c, t: t, url: scheme + "://" + c.forward(t, service)}
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 2 * time.Second}
	poll.Until(t, "an answer of "+i.url, func() string {
		resp, err := browser.Get(i.url + "/openapi.yaml")
		if err != nil {
			return err.Error()
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return resp.Status
		}
		return ""
	})
	figure(t, "INSTALL flavour=%s install_seconds=%.1f first_answer_seconds=%.1f", flavour, installed.Seconds(), time.Since(begin).Seconds())
	return i
}

// forward listens on loopback, whose address a certificate may have before it is known, and connects to the cluster IP.
func (c *installCluster) forward(t *testing.T, name string) string {
	t.Helper()
	service := &corev1.Service{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: name}, service); err != nil {
		t.Fatal(err)
	}
	target := net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(service.Spec.Ports[0].Port)))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go join(from, target)
		}
	}()
	return listener.Addr().String()
}

// join copies between a connection and a new one until either ends.
func join(from net.Conn, target string) {
	defer func() { _ = from.Close() }()
	to, err := net.DialTimeout("tcp", target, time.Second)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	ended := make(chan struct{}, 2)
	copyOne := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go copyOne(to, from)
	go copyOne(from, to)
	<-ended
}

func (c *installCluster) mustKubectl(t *testing.T, args ...string) {
	t.Helper()
	if _, err := c.kubectl(args...); err != nil {
		t.Fatal(err)
	}
}

// helm runs the real helm in the system namespace.
func (c *installCluster) helm(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(root(), "bin", "helm"), append(args, "--namespace", systemNamespace)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.env["KUBECONFIG"])
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

func (c *installCluster) helmInstall(t *testing.T, args ...string) {
	t.Helper()
	c.helm(t, append([]string{"install", "postflight", chart, "--create-namespace"}, args...)...)
}

func (c *installCluster) rolledOut(t *testing.T) {
	t.Helper()
	c.mustKubectl(t, "rollout", "status", "-n", systemNamespace, "deployment/postflight-manager", "--timeout=180s")
}

// uninstall leaves the CRDs, and the namespace with what helm did not make.
func (c *installCluster) uninstall(t *testing.T) {
	t.Helper()
	c.helm(t, "uninstall", "postflight", "--wait")
	left, err := c.kubectl("get", "deployments,services,secrets,roles,rolebindings,poddisruptionbudgets,clusterroles,clusterrolebindings",
		"--all-namespaces", "-l", "app.kubernetes.io/instance=postflight", "-o", "name")
	if err != nil || left != "" {
		t.Errorf("left after helm uninstall: %v\n%s", err, left)
	}
}

// createSecret creates the namespace too, if it is missing.
func (c *installCluster) createSecret(t *testing.T, namespace, name string, data map[string][]byte) {
	t.Helper()
	err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
	if err := c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}
