package apiserver

import (
	"context"
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
)

// manager is whom the manager is to the API server, in a cluster where config/default was applied.
const (
	managerNamespace = "postflight-system"
	managerUser      = "system:serviceaccount:" + managerNamespace + ":postflight-manager"
)

var notLabel = regexp.MustCompile(`[^a-z0-9]+`)

// Namespace makes a namespace for one test. It stays: nothing here could delete it.
func (s *Server) Namespace(t testing.TB) string {
	t.Helper()
	name := strings.Trim(notLabel.ReplaceAllString(strings.ToLower(t.Name()), "-"), "-")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name[:min(len(name), 40)] + "-"}}
	if err := s.Client.Create(t.Context(), ns); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return ns.Name
}

// Manager is the configuration of a client that has the rights of config/rbac and no others.
func (s *Server) Manager(t testing.TB) *rest.Config {
	t.Helper()
	s.rbac.Do(func() {
		_, s.policy = s.run(context.Background(), "apply", "--server-side", "-k", filepath.Join(mustRoot(t), "config", "rbac"))
	})
	if s.policy != nil {
		t.Fatalf("apply config/rbac: %v", s.policy)
	}
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: managerUser,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + managerNamespace, "system:authenticated"},
	}
	return config
}

// Kubectl runs kubectl as the administrator and returns what it prints.
func (s *Server) Kubectl(t testing.TB, args ...string) (string, error) {
	t.Helper()
	return s.run(t.Context(), args...)
}

func (s *Server) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(s.assets, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func mustRoot(t testing.TB) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
