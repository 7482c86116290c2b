package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postflight-dev/postflight/internal/mcp"
	"github.com/postflight-dev/postflight/test/agenttest"
)

// TestAgents starts the program as an agent does, and calls each tool of it.
func TestAgents(t *testing.T) {
	api := &agenttest.HostileAPI{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	for _, args := range [][]string{{"mcp"}, {"mcp", "--allow-actions"}} {
		program := exec.CommandContext(t.Context(), os.Args[0], args...)
		program.Env = append(os.Environ(), "POSTFLIGHT_TEST_AS_PROGRAM=1", "POSTFLIGHT_URL="+server.URL, "POSTFLIGHT_API_KEY=pf_key", "GITHUB_ACTIONS=")
		agent := agenttest.Connect(t, &sdk.CommandTransport{Command: program})
		tools := agent.Tools()
		if acts := tools["cancel"] != nil && tools["rerun"] != nil; acts != slices.Contains(args, "--allow-actions") || len(tools) < 9 {
			t.Errorf("%v: %d tools, actions %t", args, len(tools), acts)
		}
		for name := range tools {
			r := agent.Call(name, agenttest.Calls[name])
			if text := agenttest.Text(r); r.IsError || !strings.HasPrefix(text, mcp.Untrusted) {
				t.Errorf("%v: %s: %s", args, name, text)
			}
		}
	}
	if len(api.Changed) != 2 {
		t.Errorf("changed %v, want a rerun and a cancellation", api.Changed)
	}
}
