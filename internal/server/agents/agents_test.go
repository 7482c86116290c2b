package agents_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/mcp"
	"github.com/postflight-dev/postflight/internal/server/agents"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/test/agenttest"
	"github.com/postflight-dev/postflight/test/apitest"
)

// serve returns the URL of a server with /mcp.
func serve(t *testing.T, c agents.Config) string {
	t.Helper()
	if c.Limits.Agents == 0 {
		c.Limits = limits.Default()
	}
	h, err := agents.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

const otherKey = "pf_other_and_long"

// twoTeams have a run each, of the same commit.
func twoTeams(t *testing.T) *apitest.World {
	t.Helper()
	team, key, environment, trigger := apitest.Team("other"), apitest.APIKey(otherKey), apitest.EnvironmentNamed("elsewhere"), apitest.Trigger("secret")
	key.Namespace, key.Spec.SHA256 = "other", apikey.Digest(otherKey)
	environment.Namespace, trigger.Namespace = "other", "other"
	trigger.Spec.Environment = "elsewhere"
	return apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.Trigger("smoke"), team, key, environment, trigger),
		Ways:    []auth.Way{apitest.Granting{"reader": {Actions: []grant.Action{grant.Read}}}},
	})
}

// notifies returns the id of a run.
func notifies(t *testing.T, w *apitest.World, key string) string {
	t.Helper()
	got := w.Notify(`{"sha":"`+apitest.SHA+`","branch":"main","deployment_type":"staging"}`, apitest.Bearer(key))
	if len(got.Results) != 1 || got.Results[0].CreatedSuiteID == "" {
		t.Fatalf("%+v", got)
	}
	run := &v1alpha1.Suite{}
	namespace := map[string]string{apitest.GoodKey: apitest.Namespace, otherKey: "other"}[key]
	if err := w.Cluster.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: got.Results[0].CreatedSuiteID}, run); err != nil {
		t.Fatal(err)
	}
	w.SuiteChanged(nil, run) // as the watch of the cache would
	return run.Name
}

// TestEachTeamForItself: no tool shows or changes anything of another team, whatever the arguments say.
func TestEachTeamForItself(t *testing.T) {
	w := twoTeams(t)
	own, theirs := notifies(t, w, apitest.GoodKey), notifies(t, w, otherKey)
	agent := agenttest.OverHTTP(t, serve(t, agents.Config{API: w, Actions: true}), apitest.GoodKey)
	calls := map[string]map[string]any{
		"list_runs": {"sha": apitest.SHA}, "explain_run": {"run": theirs}, "read_log": {"run": theirs}, "list_tests": {}, "get_test": {"name": "x"},
		"explain_trigger": {"sha": apitest.SHA, "branch": "main"}, "list_deployed": {"environment": "elsewhere"},
		"get_verdict": {"sha": apitest.SHA, "environment": "elsewhere"}, "replay_trigger": {"manifest": "x"},
		"rerun": {"run": theirs}, "cancel": {"run": theirs},
	}
	for name := range agent.Tools() {
		r := agent.Call(name, calls[name])
		text := agenttest.Text(r)
		switch name {
		case "list_runs":
			if r.IsError || !strings.Contains(text, own) || strings.Contains(text, theirs) || strings.Contains(text, "elsewhere") {
				t.Errorf("list_runs: %s", text)
			}
		case "explain_trigger":
			if r.IsError || !strings.Contains(text, `"smoke"`) || strings.Contains(text, "secret") {
				t.Errorf("explain_trigger: %s", text)
			}
		default:
			if !r.IsError || strings.Contains(text, "main") {
				t.Errorf("%s: %t %s", name, r.IsError, text)
			}
		}
	}
	other := agenttest.OverHTTP(t, serve(t, agents.Config{API: w, Actions: true}), otherKey)
	if r := other.Call("cancel", map[string]any{"run": theirs}); r.IsError || !strings.Contains(agenttest.Text(r), theirs) {
		t.Errorf("the team's own run: %s", agenttest.Text(r)) // so that the refusals above have a reason
	}
}

// TestActsAsTheAPIAllows: a sender that may only read cancels nothing.
func TestActsAsTheAPIAllows(t *testing.T) {
	w := twoTeams(t)
	run := notifies(t, w, apitest.GoodKey)
	url := serve(t, agents.Config{API: w, Actions: true})
	reader := agenttest.OverHTTP(t, url, "token-reader")
	if r := reader.Call("cancel", map[string]any{"run": run}); !r.IsError || !strings.Contains(agenttest.Text(r), "the right to cancel and repeat runs") {
		t.Errorf("a reader cancels: %s", agenttest.Text(r))
	}
	if r := reader.Call("list_runs", map[string]any{}); r.IsError || !strings.Contains(agenttest.Text(r), run) {
		t.Errorf("a reader reads: %s", agenttest.Text(r))
	}
	if r := agenttest.OverHTTP(t, url, apitest.GoodKey).Call("cancel", map[string]any{"run": run}); r.IsError {
		t.Errorf("a key cancels: %s", agenttest.Text(r))
	}
	if tools := agenttest.OverHTTP(t, serve(t, agents.Config{API: w}), apitest.GoodKey).Tools(); tools["cancel"] != nil || tools["list_runs"] == nil {
		t.Errorf("without the flag: %v", tools)
	}
}

const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

// TestRefused: what does not reach the tools, and what the sender is told.
func TestRefused(t *testing.T) {
	w := twoTeams(t)
	url := serve(t, agents.Config{API: w, PublicURL: "https://postflight.example.com/ci", Hosts: []string{"ci.example.com"}})
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	cases := map[string]struct {
		reason, body string
		change       func(*http.Request)
		status       int
		says         string
	}{
		"a good request": {"", list, func(*http.Request) {}, http.StatusOK, "list_runs"},
		"no key":         {"", list, func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized, "The API key is missing"},
		"a wrong key":    {"", list, header("Authorization", "Bearer pf_wrong_and_long"), http.StatusUnauthorized, "check that it was not revoked"},
		"a key in the URL": {"it would be in logs", list, func(r *http.Request) {
			r.Header.Del("Authorization")
			r.URL.RawQuery = "access_token=" + apitest.GoodKey
		}, http.StatusUnauthorized, "The API key is missing"},
		"two keys":         {"", list, func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }, http.StatusUnauthorized, "in one header"},
		"another site":     {"", list, header("Origin", "https://evil.example.com"), http.StatusForbidden, "A page of another site"},
		"cross-site fetch": {"", list, header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden, "A page of another site"},
		"rebinding": {"the page of evil.example.com reaches this server by its own name", list, func(r *http.Request) {
			r.Host = "evil.example.com"
			r.Header.Set("Origin", "http://evil.example.com")
		}, http.StatusMisdirectedRequest, "does not answer to that name"},
		"the name of the Service": {"no browser sends it", list, func(r *http.Request) { r.Host = "postflight.postflight.svc" }, http.StatusOK, "list_runs"},
		"our own origin": {"", list, func(r *http.Request) {
			r.Host = "ci.example.com"
			r.Header.Set("Origin", "https://postflight.example.com")
		}, http.StatusOK, "list_runs"},
		"GET":        {"there are no streams", "", func(r *http.Request) { r.Method = http.MethodGet }, http.StatusMethodNotAllowed, ""},
		"DELETE":     {"there are no sessions", "", func(r *http.Request) { r.Method = http.MethodDelete }, http.StatusMethodNotAllowed, ""},
		"a batch":    {"its messages would be answered all at once", "\n [" + list + "]", func(*http.Request) {}, http.StatusBadRequest, "one message"},
		"a long one": {"", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", limits.MaxAgentBody) + `"}`, func(*http.Request) {}, http.StatusRequestEntityTooLarge, "512 KiB"},
		"no JSON":    {"", "x", func(*http.Request) {}, http.StatusBadRequest, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status, header, body := send(t, url, tc.body, tc.change)
			if status != tc.status || !strings.Contains(body, tc.says) {
				t.Errorf("%s: %d %.300s, want %d %q", tc.reason, status, body, tc.status, tc.says)
			}
			if challenge := header.Get("WWW-Authenticate"); (status == http.StatusUnauthorized) != (challenge == "Bearer") {
				t.Errorf("WWW-Authenticate %q", challenge)
			}
		})
	}
}

func send(t *testing.T, url, body string, change func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + apitest.GoodKey}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}}
	change(r)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// TestUnnamedServer: also a server that knows none of its names refuses pages that reach it by another one.
func TestUnnamedServer(t *testing.T) {
	url := serve(t, agents.Config{API: twoTeams(t)})
	for host, want := range map[string]int{"evil.example.com": http.StatusMisdirectedRequest, "localhost": http.StatusOK} {
		if status, _, body := send(t, url, list, func(r *http.Request) {
			r.Host = host
			r.Header.Set("Origin", "http://"+host)
		}); status != want {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
}

// TestOverloaded: beyond the bound, the answer says when to come back, and the body is not read.
func TestOverloaded(t *testing.T) {
	url := serve(t, agents.Config{API: twoTeams(t), Limits: limits.Limits{Agents: -1}})
	status, header, body := send(t, url, "x", func(*http.Request) {})
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") != "10" || !strings.Contains(body, "overloaded") {
		t.Errorf("%d %v %s", status, header, body)
	}
}

// TestForwardsTheSenderAlone: the API learns who asks, and nothing else of the request; an answer that is too large is cut off.
func TestForwardsTheSenderAlone(t *testing.T) {
	var mu sync.Mutex
	var headers []http.Header
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		headers = append(headers, r.Header.Clone())
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/v0/whoami":
			_ = json.NewEncoder(w).Encode(map[string]string{"team": "acme"})
		case "/api/v0/runs":
			for range 64 {
				if _, err := io.WriteString(w, strings.Repeat(" ", 64<<10)); err != nil {
					panic(http.ErrAbortHandler)
				}
			}
		case "/api/v0/tests":
			panic(http.ErrAbortHandler)
		}
	})
	url := serve(t, agents.Config{API: api})
	for tool, want := range map[string]string{"list_runs": "too large for a tool", "list_tests": "cannot be reached"} {
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`
		_, _, body := send(t, url, call, func(r *http.Request) {
			for _, name := range []string{"Cookie", "X-Forwarded-For", "X-Request-Id", "Traceparent", "Idempotency-Key"} {
				r.Header.Set(name, "x")
			}
			r.Header.Set("Postflight-Team", "acme")
		})
		if !strings.Contains(body, want) {
			t.Errorf("%s: %s", tool, body)
		}
	}
	if len(headers) != 4 {
		t.Errorf("%d requests", len(headers))
	}
	for _, h := range headers {
		if h.Get("Authorization") != "Bearer "+apitest.GoodKey || h.Get("Postflight-Team") != "acme" {
			t.Errorf("the sender is missing: %v", h)
		}
		for _, name := range []string{"Cookie", "X-Forwarded-For", "X-Request-Id", "Traceparent", "Idempotency-Key"} {
			if h.Get(name) != "" {
				t.Errorf("%s was forwarded", name)
			}
		}
	}
}

// TestHostileOverHTTP is TestHostileResults of the tools, over HTTP: also here, links of a server that does not know its URL are paths.
func TestHostileOverHTTP(t *testing.T) {
	api := &agenttest.HostileAPI{}
	agent := agenttest.OverHTTP(t, serve(t, agents.Config{API: api}), "x")
	for name := range agent.Tools() {
		text := agenttest.Text(agent.Call(name, agenttest.Calls[name]))
		for _, forbidden := range append([]string{mcp.Here}, agenttest.Forbidden...) {
			if strings.Contains(text, forbidden) {
				t.Errorf("%s has %q", name, forbidden)
			}
		}
	}
}
