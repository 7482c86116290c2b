package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestPublishedClient notifies with the client that CI jobs use, and checks the runs.
func TestPublishedClient(t *testing.T) {
	t.Parallel()
	c := useCluster(t)
	attemptNotifyDeploy := npmClient(t)
	tm := newTeam(t, c)
	tm.trigger("smoke", branches("main"), runs("/bin/smoke"))
	m := tm.sharedManager()

	notify := func(t *testing.T, deployment map[string]any) string {
		t.Helper()
		status := attemptNotifyDeploy(map[string]any{"apiKey": tm.key, "serviceBase": m.url, "deployment": deployment})
		if status["outcome"] != "success" {
			t.Fatalf("attemptNotifyDeploy(%v) = %v, want success", deployment, status)
		}
		return status["runId"].(string)
	}

	t.Run("a run that passes", func(t *testing.T) {
		id := notify(t, map[string]any{"branch": "main", "sha": sha()})
		s := tm.in(t).awaitState(id, v1alpha1.ReasonPassed)
		story(t, "%s: %s", id, message(s))
		if log, want := tm.in(t).log(id), "Testing "+c.env["DEMO_URL"]; !strings.Contains(log, want) {
			t.Errorf("the pod's log does not show the URL it tested: want %q in\n%s", want, log)
		}
	})
	t.Run("deploymentUrl overrides the Environment's", func(t *testing.T) {
		url := c.env["DEMO_URL"] + "/?preview=1"
		id := notify(t, map[string]any{"branch": "main", "sha": sha(), "deploymentUrl": url, "variables": map[string]string{"PATHS": "", "EXPECT_TEXT": ""}})
		tm.in(t).awaitEnd(id)
		if log := tm.in(t).log(id); !strings.Contains(log, "Testing "+url) {
			t.Errorf("the pod's log does not show %s:\n%s", url, log)
		}
	})
	t.Run("a run that a variable makes fail", func(t *testing.T) {
		id := notify(t, map[string]any{"branch": "main", "sha": sha(), "variables": map[string]string{"EXPECT_TEXT": "a page that nobody wrote"}})
		s := tm.in(t).awaitState(id, v1alpha1.ReasonFailed)
		story(t, "%s: %s", id, message(s))
		for _, want := range []string{"exited with code 1", "a page that nobody wrote"} {
			if !strings.Contains(message(s), want) {
				t.Errorf("message %q does not contain %q", message(s), want)
			}
		}
	})
}

// TestPublishedClientOutcomes tests each outcome that the client documents.
func TestPublishedClientOutcomes(t *testing.T) {
	tier.All(t, "TestPublishedClient runs the client, and each of these needs a process of it")
	c := useCluster(t)
	attemptNotifyDeploy := npmClient(t)
	tm, suspended := newTeam(t, c), newTeam(t, c)
	tm.trigger("smoke", branches("main"), runs("true"))
	tm.trigger("nowhere", branches("lost"), environment("missing"))
	suspended.suspend()
	proxy := newFaultProxy(t, c)
	m := runManager(t, c, options{kubeconfig: proxy.kubeconfig, flags: []string{"--hold-budget=1s"}})
	proxy.refuse(http.StatusServiceUnavailable, func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/namespaces/"+tm.name+"/suites") && proxy.closed.Load()
	})

	tests := map[string]struct {
		reason     string
		key        string
		base       string
		deployment map[string]any
		outage     bool
		want       map[string]any
	}{
		"Created": {"A Trigger matched.", tm.key, m.url, map[string]any{"branch": "main"}, false, map[string]any{"outcome": "success"}},
		"Created at the host's root": {"A base URL may end in a slash.", tm.key, m.url + "/", map[string]any{"branch": "main"}, false,
			map[string]any{"outcome": "success"}},
		"No match": {"No Trigger wants the branch.", tm.key, m.url, map[string]any{"branch": "other"}, false,
			map[string]any{"outcome": "failed", "failReason": "no-matched-trigger"}},
		"No Environment": {"failure_reason: the Trigger's Environment is missing.", tm.key, m.url, map[string]any{"branch": "lost"}, false,
			map[string]any{"outcome": "failed", "failReason": "run-could-not-be-created"}},
		"Reserved variable": {"failure_reason: the variable would take over the process.", tm.key, m.url,
			map[string]any{"branch": "main", "variables": map[string]string{"LD_PRELOAD": "/evil.so"}}, false,
			map[string]any{"outcome": "failed", "failReason": "run-could-not-be-created"}},
		"401": {"The key is wrong.", "pf_wrong", m.url, map[string]any{"branch": "main"}, false,
			map[string]any{"outcome": "aborted", "abortReason": "401-unauthorized", "httpStatus": 401.0}},
		"403": {"The team is suspended.", suspended.key, m.url, map[string]any{"branch": "main"}, false,
			map[string]any{"outcome": "aborted", "abortReason": "403-forbidden", "httpStatus": 403.0}},
		"400": {"The URL is none.", tm.key, m.url, map[string]any{"branch": "main", "deploymentUrl": "not a url"}, false,
			map[string]any{"outcome": "aborted", "abortReason": "4XX-client-error", "httpStatus": 400.0}},
		"503": {"The API server is unavailable for longer than notifications are held.", tm.key, m.url, map[string]any{"branch": "main"}, true,
			map[string]any{"outcome": "aborted", "abortReason": "5XX-server-error", "httpStatus": 503.0}},
		"Nobody there": {"No manager listens.", tm.key, "http://" + freeport.Address(t), map[string]any{"branch": "main"}, false,
			map[string]any{"outcome": "aborted", "abortReason": "network-error"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			proxy.closed.Store(tc.outage)
			defer proxy.closed.Store(false)
			got := attemptNotifyDeploy(map[string]any{"apiKey": tc.key, "serviceBase": tc.base, "deployment": tc.deployment})
			story(t, "%v", got["log"])
			delete(got, "log")
			if id, ok := got["runId"].(string); ok {
				tm.in(t).suite(id) // it exists when the answer is there
				delete(got, "runId")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nattemptNotifyDeploy: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
