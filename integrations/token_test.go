package integrations

import (
	"bytes"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// checkToken: the pod gets a token of its own account where the command line looks for it, and the file gives that account its rights.
func checkToken(t *testing.T, file, account string, volumes []corev1.Volume, c corev1.Container) {
	t.Helper()
	const want = "/var/run/secrets/postflight/token" // what the command line reads; its own tests know it, too
	var token *corev1.ServiceAccountTokenProjection
	where := ""
	for _, v := range volumes {
		for _, mount := range c.VolumeMounts {
			if v.Projected != nil && v.Name == mount.Name && mount.ReadOnly {
				token, where = v.Projected.Sources[0].ServiceAccountToken, mount.MountPath
			}
		}
	}
	if token == nil || path.Join(where, token.Path) != want || token.Audience != "postflight" ||
		*token.ExpirationSeconds < 600 || *token.ExpirationSeconds > 3600 {
		t.Errorf("%s: the token %+v at %q", file, token, where)
	}
	var sa corev1.ServiceAccount
	decodeOne(t, file, "ServiceAccount", &sa)
	bound := false
	for document := range bytes.SplitSeq(read(t, file), []byte("\n---\n")) {
		var binding rbacv1.RoleBinding
		err := yaml.Unmarshal(document, &binding)
		if err == nil && binding.Kind == "RoleBinding" && binding.RoleRef.Name == "postflight-notifier" {
			bound = binding.RoleRef.Kind == "ClusterRole" && len(binding.Subjects) == 1 &&
				binding.Subjects[0] == rbacv1.Subject{Kind: "ServiceAccount", Name: account}
		}
	}
	if sa.Name != account || !bound {
		t.Errorf("%s: the pods run as %q, the account is %q, and it is bound to postflight-notifier: %t", file, account, sa.Name, bound)
	}
}

// TestNoSecrets: users of a recipe store no key. Only the action has an input for one, which is optional, and a template of Argo Rollouts,
// whose controller sends no token of its own.
func TestNoSecrets(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) == ".go" || slices.Contains([]string{"github/action.yml", verdictFile}, file) {
			return err
		}
		for _, secret := range []string{"secretKeyRef", "secrets.POSTFLIGHT"} {
			if strings.Contains(string(read(t, file)), secret) {
				t.Errorf("%s needs a Secret: it has %q", file, secret)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if key := inputsOfAction(t)["api-key"]; key.value() != "" {
		t.Errorf("the input api-key is %q by default, and has to be empty", key.value())
	}
	var workflow struct{ Permissions map[string]string }
	if err := yaml.Unmarshal(read(t, "github/workflow.yml"), &workflow); err != nil || workflow.Permissions["id-token"] != "write" {
		t.Errorf("%v: GitHub gives the job of the example no token: %v", err, workflow.Permissions)
	}
}
