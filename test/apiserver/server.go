package apiserver

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
)

// The manager's service account in config/default.
const (
	managerNamespace = "postflight-system"
	managerUser      = "system:serviceaccount:" + managerNamespace + ":postflight-manager"
)

var notLabel = regexp.MustCompile(`[^a-z0-9]+`)

// Namespace creates a namespace for one test. It stays, because no controller here could delete it.
func (s *Server) Namespace(t testing.TB) string {
	t.Helper()
	name := strings.Trim(notLabel.ReplaceAllString(strings.ToLower(t.Name()), "-"), "-")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name[:min(len(name), 40)] + "-"}}
	if err := s.Client.Create(t.Context(), ns); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return ns.Name
}

// Manager returns the configuration of a client with exactly the rights of config/rbac.
func (s *Server) Manager(t testing.TB) *rest.Config {
	t.Helper()
	if err := s.grant(); err != nil {
		t.Fatalf("apply config/rbac: %v", err)
	}
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: managerUser,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + managerNamespace, "system:authenticated"},
	}
	return config
}

func (s *Server) grant() error {
	s.rbac.Do(func() {
		root, err := Root()
		if err == nil && !s.granted {
			_, err = s.run(context.Background(), "apply", "--server-side", "-k", filepath.Join(root, "config", "rbac"))
		}
		s.rbacErr = err
	})
	return s.rbacErr
}

// SigningKey is the key with which the API server signs the tokens of service accounts.
func (s *Server) SigningKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.path(certificates), "sa-signer.key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyutil.ParsePrivateKeyPEM(content)
	if err != nil {
		t.Fatal(err)
	}
	return key.(*ecdsa.PrivateKey)
}

// Kubectl runs kubectl as the administrator and returns what it prints.
func (s *Server) Kubectl(t testing.TB, args ...string) (string, error) {
	t.Helper()
	return s.run(t.Context(), args...)
}

func (s *Server) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(s.assets, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.path(kubeconfigFile))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func (s *Server) path(file string) string { return filepath.Join(s.dir, file) }
