package access_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/debug"
	"github.com/postflight-dev/postflight/cmd/postflight/environments"
	"github.com/postflight-dev/postflight/cmd/postflight/gate"
	"github.com/postflight-dev/postflight/cmd/postflight/hold"
	"github.com/postflight-dev/postflight/cmd/postflight/keys"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
	"github.com/postflight-dev/postflight/cmd/postflight/triggers"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/test/clitest"
)

var (
	program  = clitest.Program{runs.New, environments.New, gate.NewNotify, gate.NewWait}
	changing = clitest.Program{hold.New, debug.New, keys.New}
)

// TestWays: a flag decides, or else POSTFLIGHT_URL.
func TestWays(t *testing.T) {
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(clitest.Kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		url    string // of the environment
		args   string
		server bool
	}{
		"the environment names a server":      {url: "http://127.0.0.1:2", server: true},
		"a flag names a server":               {args: "--url http://127.0.0.1:2", server: true},
		"nothing names a server":              {},
		"a namespace in spite of the server":  {url: "http://127.0.0.1:2", args: "-n acme"},
		"a context in spite of the server":    {url: "http://127.0.0.1:2", args: "--context c"},
		"a kubeconfig in spite of the server": {url: "http://127.0.0.1:2", args: "--kubeconfig " + config},
		"all namespaces":                      {url: "http://127.0.0.1:2", args: "-A"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POSTFLIGHT_URL", tc.url)
			t.Setenv("POSTFLIGHT_API_KEY", "qawolf_0123456789abcdef")
			t.Setenv("KUBECONFIG", config) // of an API server at port 1
			for _, noun := range []string{"runs", "environments"} {
				_, log, _ := program.Invoke(t, append(strings.Fields(noun+" list --patience 0s"), strings.Fields(tc.args)...)...)
				if got := strings.Contains(log, "127.0.0.1:2"); got != tc.server {
					t.Errorf("%s asked the server: %t, want %t\n%s", noun, got, tc.server, log)
				}
				if got := strings.Contains(log, "127.0.0.1:1"); got == tc.server {
					t.Errorf("%s asked the cluster: %t\n%s", noun, got, log)
				}
			}
		})
	}
}

// TestTeamOfTheKey: commands that need a cluster mean the team that runs would ask the server for, unless a flag names a place.
func TestTeamOfTheKey(t *testing.T) {
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(clitest.Kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	api := &clitest.API{Namespace: "shop"}
	api.Start(t)
	t.Setenv("KUBECONFIG", config) // of an API server at port 1
	all := clitest.Program{hold.New, debug.New, keys.New, triggers.New, environments.NewExplain}
	for _, args := range []string{"hold staging --for 1h", "debug smoke-1", "debug smoke-1 --end", "keys list", "keys create ci", "keys revoke ci",
		"keys rotate ci --secret s", "triggers show e2e", "triggers list", "environment staging"} {
		t.Run(args, func(t *testing.T) {
			api.Requests = nil
			for flag, namespace := range map[string]string{"": "shop", "-n acme": "acme", "--context c": "default", "--kubeconfig " + config: "default"} {
				_, log, code := all.Invoke(t, strings.Fields(args+" "+flag)...)
				if code == 0 || !strings.Contains(log, "in the namespace "+namespace) {
					t.Errorf("with %q: exit code %d, want the namespace %s:\n%s", flag, code, namespace, log)
				}
			}
			if diff := cmp.Diff([]string{"GET /api/v0/whoami"}, api.Requests); diff != "" {
				t.Errorf("requests: %s", diff)
			}
		})
	}
	t.Setenv("POSTFLIGHT_API_KEY", "")
	t.Setenv("POSTFLIGHT_API_KEY_FILE", "")
	all.Expect(t, cli.ExitFailed, nil, []string{"the namespace of your team is not known: there is no credential", "add -n NAMESPACE"}, "keys", "list")
}

// TestOnlyTheClusterOfTheServerIsChanged: the server names the namespace, and the kubeconfig may lead to another cluster that has one of the
// same name.
func TestOnlyTheClusterOfTheServerIsChanged(t *testing.T) {
	key := func(value string) any {
		return v1alpha1.APIKey{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "APIKey"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ci"}, Spec: v1alpha1.APIKeySpec{SHA256: apikey.Digest(value)}}
	}
	keys := schema.GroupResource{Group: "postflight.dev", Resource: "apikeys"}
	cases := map[string]struct {
		status int
		answer any
		flags  string
		says   string // "": the command reaches the cluster
	}{
		"the same key":                {http.StatusOK, key("qawolf_0123456789abcdef"), "", ""},
		"another key of its name":     {http.StatusOK, key("qawolf_of_another_cluster"), "", "the APIKey acme/ci there has another key"},
		"no such key":                 {http.StatusNotFound, apierrors.NewNotFound(keys, "ci").Status(), "", "there is no APIKey acme/ci there"},
		"no right to read keys":       {http.StatusForbidden, apierrors.NewForbidden(keys, "ci", nil).Status(), "", "the APIKey acme/ci there cannot be read"},
		"a namespace that you choose": {http.StatusNotFound, nil, "-n acme", ""},
		"a context that you choose":   {http.StatusNotFound, nil, "--context c", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var changes int
			startCluster(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet && r.URL.Path == "/apis/postflight.dev/v1alpha1/namespaces/acme/apikeys/ci" {
					clitest.Reply(w, tc.status, tc.answer)
					return
				}
				changes++
				clitest.Reply(w, http.StatusNotFound, apierrors.NewNotFound(schema.GroupResource{Resource: "x"}, "x").Status())
			})
			(&clitest.API{Namespace: "acme"}).Start(t)
			for _, args := range []string{"hold staging --for 1h", "hold staging --release", "debug smoke-1", "debug smoke-1 --end",
				"keys create new", "keys revoke old", "keys rotate ci --secret s"} {
				changes = 0
				_, log, code := changing.Invoke(t, strings.Fields(args+" "+tc.flags)...)
				refused := strings.Contains(log, "add -n acme") && strings.Contains(log, "--context") && strings.Contains(log, tc.says)
				if refused && code != cli.ExitFailed || refused != (tc.says != "") || (changes > 0) != (tc.says == "") {
					t.Errorf("%s: exit code %d after %d requests:\n%s", args, code, changes, log)
				}
			}
		})
	}
}

func TestPlace(t *testing.T) {
	for flag, want := range map[string]string{"": "in the namespace shop", "prod": "in the namespace shop of the context prod"} {
		c := access.Cluster{Namespace: "shop", Context: flag}
		if got := c.Place(); got != want || c.Scope(false) != want {
			t.Errorf("--context %q: %q, %q", flag, got, c.Scope(false))
		}
	}
}

// TestOnlyAKeyShowsTheCluster: the cluster cannot be compared with what a token says.
func TestOnlyAKeyShowsTheCluster(t *testing.T) {
	startCluster(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s", r.Method, r.URL) })
	clitest.Credentials(t, true, func(w http.ResponseWriter, _ *http.Request) {
		clitest.Reply(w, http.StatusOK, httpapi.WhoAmI{Team: "acme", Namespace: "acme", Actions: []string{},
			Sender: httpapi.Sender{Kind: "token", Name: "acme/gitlab"}})
	})
	t.Setenv("POSTFLIGHT_ALLOW_HTTP", "1")
	t.Setenv("POSTFLIGHT_API_KEY", "")
	t.Setenv("POSTFLIGHT_ID_TOKEN", clitest.IDToken(time.Now().Add(time.Hour)))
	changing.Expect(t, cli.ExitFailed, nil, []string{"you sent no API key", "add -n acme"}, "keys", "revoke", "ci")
}

// TestNamespaceWithoutAKubeconfig: a command that was copied with its namespace asks the server, if the key is of that team.
func TestNamespaceWithoutAKubeconfig(t *testing.T) {
	api := &clitest.API{Runs: []httpapi.Run{clitest.Run("smoke-1", clitest.Failed)}, Namespace: "acme"}
	api.Start(t)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	program.Expect(t, 0, []string{"smoke-1"}, nil, "runs", "show", "smoke-1", "-n", "acme")
	program.Expect(t, cli.ExitFailed, nil, []string{"-n shop: there is no kubeconfig", "has the namespace acme"}, "runs", "show", "smoke-1", "-n", "shop")
	program.Expect(t, cli.ExitFailed, nil, []string{"there is no kubeconfig"}, "runs", "list", "-A")
}

// TestNotFoundInTheCluster: who copied a command with a namespace, and has a key, may have meant the server.
func TestNotFoundInTheCluster(t *testing.T) {
	startCluster(t, func(w http.ResponseWriter, _ *http.Request) {
		clitest.Reply(w, http.StatusNotFound, apierrors.NewNotFound(schema.GroupResource{Resource: "suites"}, "smoke-1").Status())
	})
	for url, says := range map[string]string{
		"": "with --namespace\n", "http://127.0.0.1:2": "with --namespace. To ask the server of $POSTFLIGHT_URL, leave out -n\n",
	} {
		t.Setenv("POSTFLIGHT_URL", url)
		program.Expect(t, cli.ExitFailed, nil, []string{`there is no run "smoke-1" in the namespace acme`, says}, "runs", "show", "smoke-1", "-n", "acme")
	}
}

// TestServerWithoutAKey: the error says how to use a kubeconfig instead.
func TestServerWithoutAKey(t *testing.T) {
	t.Setenv("POSTFLIGHT_URL", "http://127.0.0.1:2")
	t.Setenv("POSTFLIGHT_API_KEY", "")
	t.Setenv("POSTFLIGHT_API_KEY_FILE", "")
	program.Expect(t, cli.ExitFailed, nil, []string{"there is no credential", "add -n NAMESPACE"}, "runs", "list")
}

// The warning appears once, on standard error, unless the user trusts the network.
func TestWarnsOfPlainHTTP(t *testing.T) {
	cases := map[string]struct {
		url, allow string
		want       int
	}{
		"http":              {"http://postflight.example.com", "", 1},
		"http, allowed":     {"http://postflight.example.com", "1", 0},
		"http, not allowed": {"http://postflight.example.com", "0", 1},
		"http, misspelt":    {"http://postflight.example.com", "please", 1},
		"http to this host": {"http://127.0.0.1:1", "", 0},
		"https":             {"https://postflight.example.com", "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POSTFLIGHT_URL", tc.url)
			t.Setenv("POSTFLIGHT_ALLOW_HTTP", tc.allow)
			t.Setenv("POSTFLIGHT_API_KEY", "qawolf_0123456789abcdef")
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // nothing is sent
			out, log, code := program.Run(ctx, nil, "wait", "a", "b")
			if code == 0 {
				t.Fatal("no error without a server")
			}
			if got := strings.Count(log, "over plain http"); got != tc.want || strings.Contains(out, "plain http") {
				t.Errorf("%d warnings, want %d:\n%s", got, tc.want, log)
			}
		})
	}
}

// TestTraceOfThePipeline: what starts runs continues it, and nothing else.
func TestTraceOfThePipeline(t *testing.T) {
	const parent, state = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=1"
	api := &clitest.API{Deploy: `{"trigger_id":"smoke","duplicate_suite_id":"smoke-1"}`,
		Runs: []httpapi.Run{clitest.Run("smoke-1", clitest.Failed)}}
	api.Start(t)
	t.Setenv("TRACEPARENT", parent)
	t.Setenv("TRACESTATE", state)
	for args, want := range map[string]int{"notify --no-detect --sha cafe": cli.ExitPassed, "wait smoke-1": cli.ExitFailed,
		"runs show smoke-1": cli.ExitPassed} {
		program.Expect(t, want, nil, nil, strings.Fields(args)...)
	}
	want := map[string][]string{parent + " " + state: {"POST /api/webhooks/deploy_success"}}
	for _, r := range api.Requests {
		if strings.HasPrefix(r, "GET ") {
			want[" "] = append(want[" "], r)
		}
	}
	if diff := cmp.Diff(want, api.Traces); diff != "" || len(want[" "]) == 0 {
		t.Errorf("requests by their trace, want (-), got (+):\n%s", diff)
	}
}

func TestMissingNamespace(t *testing.T) {
	c, _, _ := clitest.Console()
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "acme")
	k := clitest.Cluster(c)
	list := func(c access.Cluster) error {
		o := runs.Options{Output: c.Output, Source: &runs.ClusterRuns{Cluster: &c}, Now: time.Now}
		return (&runs.ListOptions{Options: o}).Run(t.Context())
	}
	for name, err := range map[string]error{
		"an error of the API server": k.ExplainError(missing, `APIKey "ci"`),
		"no runs":                    list(k),
		"no keys":                    (&keys.ListOptions{Cluster: k}).Run(t.Context()),
	} {
		clitest.Fails(t, name, err, "the namespace acme does not exist")
	}
	k = clitest.Cluster(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme"}})
	if err := list(k); err != nil {
		t.Errorf("an empty namespace: %v", err)
	}
}

// startCluster starts an API server that discovers its kinds by itself, and sets KUBECONFIG.
func startCluster(t *testing.T, serve http.HandlerFunc) {
	t.Helper()
	resource := func(plural, kind string) metav1.APIResource {
		return metav1.APIResource{Name: plural, SingularName: strings.ToLower(kind), Namespaced: true, Kind: kind, Verbs: metav1.Verbs{"get"}}
	}
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/apis/postflight.dev/v1alpha1":
			clitest.Reply(w, http.StatusOK, metav1.APIResourceList{GroupVersion: "postflight.dev/v1alpha1", APIResources: []metav1.APIResource{
				resource("suites", "Suite"), resource("environments", "Environment"), resource("apikeys", "APIKey")}})
		case "/api":
			clitest.Reply(w, http.StatusOK, metav1.APIVersions{Versions: []string{"v1"}})
		case "/api/v1":
			clitest.Reply(w, http.StatusOK, metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
				resource("pods", "Pod"), resource("secrets", "Secret")}})
		case "/apis":
			version := metav1.GroupVersionForDiscovery{GroupVersion: "postflight.dev/v1alpha1", Version: "v1alpha1"}
			clitest.Reply(w, http.StatusOK, metav1.APIGroupList{Groups: []metav1.APIGroup{
				{Name: "postflight.dev", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}}})
		default:
			serve(w, r)
		}
	}))
	t.Cleanup(cluster.Close)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(strings.Replace(clitest.Kubeconfig, "http://127.0.0.1:1", cluster.URL, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", config)
}
