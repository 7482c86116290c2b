package access_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/debug"
	"github.com/postflight-dev/postflight/cmd/postflight/environments"
	"github.com/postflight-dev/postflight/cmd/postflight/gate"
	"github.com/postflight-dev/postflight/cmd/postflight/hold"
	"github.com/postflight-dev/postflight/cmd/postflight/keys"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
	"github.com/postflight-dev/postflight/cmd/postflight/tests"
	"github.com/postflight-dev/postflight/cmd/postflight/triggers"
	"github.com/postflight-dev/postflight/test/clitest"
)

var completing = clitest.Program{runs.New, environments.New, gate.NewWait, tests.New, hold.New, debug.New, keys.New, triggers.New}

// complete returns what a shell offers after a command line, without descriptions.
func complete(t *testing.T, line string) (offered []string) {
	t.Helper()
	out, log, code := completing.Invoke(t, append([]string{"__completeNoDesc"}, strings.Split(line, " ")...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || lines[len(lines)-1] != ":36" || strings.Contains(log, "Error") || strings.Contains(log, "plain http") { // no files, in this order
		t.Errorf("%s: exit code %d\n%s%s", line, code, out, log)
	}
	return lines[:len(lines)-1]
}

func TestCompletionByTheServer(t *testing.T) {
	api := &clitest.API{Runs: []httpapi.Run{clitest.Run("smoke-2"), clitest.Run("smoke-1", clitest.Failed)},
		Environments: []httpapi.EnvironmentStatus{
			{Name: "prod", Team: "acme", Namespace: "acme", Deployed: []httpapi.Deployed{}},
			{Name: "staging", Team: "acme", Namespace: "acme", Deployed: []httpapi.Deployed{}},
		}}
	api.Start(t)
	runs, environments := []string{"smoke-2", "smoke-1"}, []string{"prod", "staging"}
	for line, want := range map[string][]string{
		"runs show ": runs, "runs logs ": runs, "runs cancel ": runs, "runs rerun --failed ": runs, "runs results ": runs,
		"runs artifacts list ": runs, "runs artifacts download ": runs, "wait ": runs, "wait smoke-2 ": {"smoke-1"},
		"runs list --trigger ": {"smoke"}, "runs list --environment ": environments, "tests list --environment ": environments,
		"environments show ": environments, "environments history ": environments,
	} {
		if diff := cmp.Diff(want, complete(t, line)); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
	out, _, _ := completing.Invoke(t, "__complete", "runs", "show", "")
	clitest.Contains(t, "with descriptions", out, "smoke-1\tFailed staging main")
}

func TestCompletionByTheCluster(t *testing.T) {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "acme", Name: name} }
	old := clitest.Suite("smoke-1", clitest.Failed)
	old.CreationTimestamp = metav1.NewTime(clitest.Noon.Add(-time.Hour))
	c, _, _ := clitest.Console()
	k := clitest.Cluster(c, []client.Object{
		old, clitest.Suite("smoke-2"), &v1alpha1.Environment{ObjectMeta: named("staging")}, &v1alpha1.Trigger{ObjectMeta: named("e2e")},
		&v1alpha1.APIKey{ObjectMeta: named("ci")}, &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}},
	}...)
	for name, tc := range map[string]struct {
		names access.Names
		want  []string
	}{
		"runs":         {access.Runs, []string{"smoke-2\tRunning staging main 5ca1ab1e0ddb", "smoke-1\tFailed staging main 5ca1ab1e0ddb"}},
		"Environments": {access.Environments, []string{"staging"}}, "Triggers": {access.Triggers, []string{"e2e"}}, "APIKeys": {access.APIKeys, []string{"ci"}},
	} {
		got, err := tc.names(t.Context(), nil, &k)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// TestCompletionIsQuiet: nothing is offered, and nothing is printed, where neither a server nor a cluster answers, or is known.
func TestCompletionIsQuiet(t *testing.T) {
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(clitest.Kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := []string{"runs show ", "wait ", "environments show ", "hold ", "debug ", "keys revoke ", "keys rotate --secret s ", "triggers show ", "runs list --trigger "}
	for name, env := range map[string]map[string]string{
		"a server that is unavailable":  {"POSTFLIGHT_URL": "http://127.0.0.1:1", "POSTFLIGHT_API_KEY": "k"},
		"a cluster that is unavailable": {"KUBECONFIG": config},
		"nothing":                       {"KUBECONFIG": config + ".none"},
		"no key":                        {"POSTFLIGHT_URL": "http://postflight.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"POSTFLIGHT_URL", "POSTFLIGHT_API_KEY", "POSTFLIGHT_API_KEY_FILE", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"} {
				t.Setenv(variable, env[variable])
			}
			for _, line := range lines {
				if offered := complete(t, line); len(offered) > 0 {
					t.Errorf("%s: %q", line, offered)
				}
			}
		})
	}
}

// TestCompletionEnds: a shell does not wait for a server that does not answer.
func TestCompletionEnds(t *testing.T) {
	done := make(chan struct{})
	clitest.Serve(t, func(http.ResponseWriter, *http.Request) { <-done })
	t.Cleanup(func() { close(done) })
	t.Setenv("POSTFLIGHT_API_KEY", "k")
	if offered := complete(t, "runs show "); len(offered) > 0 {
		t.Errorf("%q", offered)
	}
}
