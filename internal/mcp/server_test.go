package mcp_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/mcp"
	"github.com/postflight-dev/postflight/test/agenttest"
)

// connect is an agent of a server whose API is the handler.
func connect(t *testing.T, api http.Handler, o mcp.Options) *agenttest.Agent {
	t.Helper()
	return connectWith(t, api, "pf_key", o)
}

func connectWith(t *testing.T, api http.Handler, key string, o mcp.Options) *agenttest.Agent {
	t.Helper()
	s := httptest.NewServer(api)
	t.Cleanup(s.Close)
	c, err := client.New(s.URL, key, client.WithRetryTimeout(0))
	if err != nil {
		t.Fatal(err)
	}
	fromAgent, toServer := io.Pipe()
	fromServer, toAgent := io.Pipe()
	server := mcp.New(func(http.Header) (*client.Client, error) { return c, nil }, o)
	go func() { _ = server.Serve(t.Context(), fromAgent, toAgent) }()
	return agenttest.Connect(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer})
}

// TestTools: each tool has schemas and annotations, and those that change something are offered only if that is asked for.
func TestTools(t *testing.T) {
	reading := []string{"explain_run", "explain_trigger", "get_test", "get_verdict", "list_deployed", "list_runs", "list_tests", "read_log",
		"replay_trigger"}
	for actions, want := range map[bool][]string{false: reading, true: append([]string{"cancel", "rerun"}, reading...)} {
		tools := connect(t, http.NotFoundHandler(), mcp.Options{Actions: actions}).Tools()
		got := slices.Sorted(maps.Keys(tools))
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("actions %t: %s", actions, diff)
		}
		for name, tool := range tools {
			changes := name == "rerun" || name == "cancel"
			a := tool.Annotations
			if a == nil || a.ReadOnlyHint == changes || a.DestructiveHint == nil || *a.DestructiveHint != changes || a.OpenWorldHint == nil || *a.OpenWorldHint {
				t.Errorf("%s: annotations %+v", name, a)
			}
			if tool.OutputSchema == nil || tool.InputSchema == nil || len(tool.Description) > 600 {
				t.Errorf("%s: a schema is missing, or the description has %d bytes", name, len(tool.Description))
			}
		}
	}
}

// TestHostileResults: what tests wrote comes as data: bounded, without controls, invisible text and secrets, below a sentence that says so.
func TestHostileResults(t *testing.T) {
	api := &agenttest.HostileAPI{}
	agent := connect(t, api, mcp.Options{Actions: true})
	for name := range agent.Tools() {
		arguments, known := agenttest.Calls[name]
		if !known {
			t.Errorf("no call of %s", name)
			continue
		}
		r := agent.Call(name, arguments)
		text := agenttest.Text(r)
		if r.IsError {
			t.Errorf("%s: %s", name, text)
			continue
		}
		structured, err := json.Marshal(r.StructuredContent)
		if err != nil || len(structured) > 16<<10 || len(structured) < 100 {
			t.Errorf("%s: %d bytes, %v", name, len(structured), err)
		}
		if !strings.HasPrefix(text, mcp.Untrusted) || strings.Count(text, mcp.Untrusted) != 1 {
			t.Errorf("%s does not say once what its data is", name)
		}
		for _, forbidden := range agenttest.Forbidden {
			if strings.Contains(text, forbidden) || strings.Contains(string(structured), forbidden) {
				t.Errorf("%s has %q", name, forbidden)
			}
		}
		if !json.Valid([]byte(strings.TrimPrefix(text, mcp.Untrusted))) {
			t.Errorf("%s: the text is no JSON", name)
		}
	}
	if want := []string{"/api/v0/runs/smoke-1/cancel", "/api/v0/runs/smoke-1/rerun"}; !slices.Equal(slices.Sorted(slices.Values(api.Changed)), want) {
		t.Errorf("changed %v", api.Changed)
	}
}

type page struct {
	Lines []struct {
		Line int
		Text string
	}
	Total, NextLine int
	Omitted         []string
}

// TestLogPages: the last lines, pages that follow each other, and a search in a log with a line of a MiB.
func TestLogPages(t *testing.T) {
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.Repeat("ordinary\n", 999)+strings.Repeat("x", 1<<20)+"\n  The Needle\nend")
	})
	agent := connect(t, api, mcp.Options{})
	ask := func(arguments map[string]any) (p page) {
		arguments["run"] = "a"
		agent.Ask("read_log", arguments, &p)
		return p
	}
	last := ask(map[string]any{"lines": 2})
	if last.Total != 1002 || len(last.Lines) != 2 || last.Lines[0].Line != 1001 || last.Lines[0].Text != "  The Needle" || len(last.Omitted) != 1 {
		t.Errorf("the last lines: %+v", last)
	}
	seen := 0
	for from := 1; from != 0; {
		p := ask(map[string]any{"fromLine": from, "lines": 200})
		for _, line := range p.Lines {
			if seen++; line.Line != seen {
				t.Fatalf("line %d after %d", line.Line, seen-1)
			}
		}
		from = p.NextLine
	}
	if seen != 1002 {
		t.Errorf("the pages have %d lines", seen)
	}
	if found := ask(map[string]any{"search": "needle"}); len(found.Lines) != 1 || found.Lines[0].Line != 1001 || found.Total != 1002 {
		t.Errorf("found %+v", found)
	}
}

// TestLongLines: a log whose lines do not fit into a result loses the first ones, unless a page from a line on was asked for.
func TestLongLines(t *testing.T) {
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.Repeat(strings.Repeat("x", 600)+"\n", 49)+"the failure\n")
	})
	agent := connect(t, api, mcp.Options{})
	var last, first page
	agent.Ask("read_log", map[string]any{"run": "a"}, &last)
	if n := len(last.Lines); n == 0 || n == 50 || last.Lines[n-1].Text != "the failure" || last.NextLine != 0 || len(last.Omitted) != 1 {
		t.Errorf("the last lines: %+v", last)
	}
	agent.Ask("read_log", map[string]any{"run": "a", "fromLine": 1}, &first)
	if n := len(first.Lines); n == 0 || first.Lines[0].Line != 1 || first.NextLine != n+1 {
		t.Errorf("the first page: %+v", first)
	}
}

// TestExplainInUnknownEnvironment: a misspelt Environment is an error, and one that was deleted still has runs.
func TestExplainInUnknownEnvironment(t *testing.T) {
	for runs, want := range map[string]string{
		`[]`: "Environment not found", `[{"id":"smoke-1","branch":"main"}]`: "come from the run smoke-1",
	} {
		agent := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch path.Base(r.URL.Path) {
			case "runs":
				_, _ = io.WriteString(w, `{"runs":`+runs+`}`)
			case "preview":
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"failureCode":"environment_not_found","failureMessage":"Environment not found."}`)
			default:
				_, _ = io.WriteString(w, `{"results":[],"explanations":[]}`)
			}
		}), mcp.Options{})
		r := agent.Call("explain_trigger", map[string]any{"sha": "5ca1ab1e", "environment": "preview"})
		if text := agenttest.Text(r); !strings.Contains(text, want) || r.IsError == (runs != "[]") {
			t.Errorf("%s: %t %s", runs, r.IsError, text)
		}
	}
}

// TestErrors: an error says what to do, also one of the API.
func TestErrors(t *testing.T) {
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"failureCode":"forbidden","failureMessage":"You may not do this.`+`\u001b[2J https://a/?token=s3cret","eventId":"1"}`)
	})
	agent := connect(t, api, mcp.Options{})
	for name, tc := range map[string]struct {
		arguments map[string]any
		want      string
	}{
		"list_runs":       {map[string]any{}, "You may not do this. https://a/?token=*** [403 forbidden"},
		"list_tests":      {map[string]any{"days": 1000}, "days"},
		"list_deployed":   {map[string]any{"history": true}, "name an environment"},
		"explain_trigger": {map[string]any{}, "say what was deployed"},
		"replay_trigger":  {map[string]any{"manifest": "x", "since": "soon"}, "since"},
		"get_verdict":     {map[string]any{"sha": "a", "environment": "b", "maxAge": "x"}, "maxAge"},
		"explain_run":     {map[string]any{}, "run"},
	} {
		r := agent.Call(name, tc.arguments)
		if text := agenttest.Text(r); !r.IsError || !strings.Contains(text, tc.want) || strings.Contains(text, "s3cret") {
			t.Errorf("%s: %t %q, want %q", name, r.IsError, text, tc.want)
		}
	}
}
