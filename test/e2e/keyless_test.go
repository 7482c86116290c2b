package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestHooksWithoutAKey runs the Jobs of the recipes for Argo CD and Flux as they are, but for the address of the manager. Their pods have
// tokens of their own ServiceAccount, and no key. With an account that nothing is bound to, the Job fails and says what to bind.
func TestHooksWithoutAKey(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, useCluster(t))
	tm.trigger("smoke", runs("echo it works"))
	m := tm.sharedManager() // which the tests await by their key
	if err := tm.Delete(t.Context(), &v1alpha1.APIKey{ObjectMeta: tm.meta("ci")}); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(m.args, func(flag string) bool { return strings.HasPrefix(flag, "--pod-url=") })
	address := strings.TrimPrefix(m.args[at], "--pod-url=")
	hooks := map[string]string{} // by the file
	for _, file := range []string{"argocd/postsync.yaml", "flux/job.yaml"} {
		recipe, err := os.ReadFile(filepath.Join(root(), "integrations", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		hooks[file] = strings.Replace(string(recipe), "http://postflight.postflight-system.svc", address, 1)
		log := tm.hook(hooks[file], "Complete")
		contains(t, strings.ToLower(log), "started", "passed")
	}
	all := tm.suites()
	if len(all) != 2 || all[0].State() != v1alpha1.ReasonPassed || all[1].State() != v1alpha1.ReasonPassed {
		t.Errorf("%d runs, want two that passed", len(all))
	}
	log := tm.hook(strings.Replace(hooks["flux/job.yaml"], "serviceAccountName: postflight\n", "serviceAccountName: default\n", 1), "Failed")
	contains(t, log, "postflight-notifier", "403 forbidden")
	if n := len(tm.suites()); n != 2 {
		t.Errorf("%d runs after a hook that may not start any", n)
	}
}

// hook applies a recipe, waits until its Job ends so, and returns the log.
func (tm *team) hook(recipe, condition string) string {
	tm.t.Helper()
	file := filepath.Join(tm.t.TempDir(), "recipe.yaml")
	if err := os.WriteFile(file, []byte(recipe), 0o600); err != nil {
		tm.t.Fatal(err)
	}
	if _, err := tm.kubectl("apply", "-n", tm.name, "-f", file); err != nil {
		tm.t.Fatal(err)
	}
	out, err := tm.kubectl("wait", "-n", tm.name, "job/postflight", "--for=condition="+condition, "--timeout=120s")
	log, logErr := tm.kubectl("logs", "-n", tm.name, "job/postflight")
	if err != nil || logErr != nil {
		tm.t.Fatalf("%v, %v: %s\n%s", err, logErr, out, log)
	}
	if _, err := tm.kubectl("delete", "-n", tm.name, "job/postflight"); err != nil {
		tm.t.Fatal(err)
	}
	return log
}
