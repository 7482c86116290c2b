package main

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/test/agenttest"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestAgentsOfAManager asks a real manager: an agent sees and cancels runs of its team, and nothing of another one.
func TestAgentsOfAManager(t *testing.T) {
	s := apiserver.Alone(t)
	m := startManager(t, apiserver.Kubeconfig(t, s.Manager(t)), 0, leads, func(o *options) { o.agentActions = true })
	own, theirs := newTenant(t, s), newTenant(t, s)
	run, other := own.deploy(t, m.url, "first").Name, theirs.deploy(t, m.url, "first").Name
	agent, stranger := agenttest.OverHTTP(t, m.url, "pf_"+own.namespace), agenttest.OverHTTP(t, m.url, "pf_"+theirs.namespace)

	poll.True(t, "the agent sees the run", func() bool {
		return strings.Contains(agenttest.Text(agent.Call("list_runs", map[string]any{"environment": "staging"})), run)
	})
	text := agenttest.Text(agent.Call("list_runs", map[string]any{}))
	if strings.Contains(text, theirs.namespace) || own.namespace != theirs.namespace && run != other && strings.Contains(text, other) {
		t.Errorf("runs of another team: %s", text)
	}
	var explained struct {
		Triggers []struct {
			Trigger, ExistingRun string
			Matched              bool
		}
	}
	agent.Ask("explain_trigger", map[string]any{"sha": "first", "environment": "staging"}, &explained)
	if len(explained.Triggers) != 1 || !explained.Triggers[0].Matched || explained.Triggers[0].ExistingRun != run {
		t.Errorf("%+v", explained)
	}
	for tool, arguments := range map[string]map[string]any{
		"list_deployed": {"environment": "staging"}, "get_verdict": {"sha": "first", "environment": "staging"},
		"cancel": {"run": run},
	} {
		if r := agent.Call(tool, arguments); r.IsError {
			t.Errorf("%s: %s", tool, agenttest.Text(r))
		}
	}
	poll.True(t, "the run is canceled", func() bool {
		return strings.Contains(agenttest.Text(agent.Call("list_runs", map[string]any{"state": "Canceled"})), run)
	})
	if r := stranger.Call("list_runs", map[string]any{"state": "Canceled"}); strings.Contains(agenttest.Text(r), `"run":`) {
		t.Errorf("another team: %s", agenttest.Text(r))
	}
}
