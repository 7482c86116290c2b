package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	defaultDeployments = 30  // fit into a result, as a rule
	maxDeployments     = 200 // the bound of the API
	maxEnvironments    = 50  // of a list without a name; teams with more name one
)

type deployedIn struct {
	Environment string `json:"environment,omitempty" jsonschema:"the name of an Environment; without it: all of the team"`
	At          string `json:"at,omitempty" jsonschema:"what was deployed at this time, such as 2026-11-24T09:00:00Z; needs environment"`
	History     bool   `json:"history,omitempty" jsonschema:"list deployments, newest first, instead of what is deployed; needs environment"`
	Since       string `json:"since,omitempty" jsonschema:"with history: only deployments after this time"`
	Limit       int    `json:"limit,omitempty" jsonschema:"with history: how many deployments at most, 30 by default"`
}

type deployedOut struct {
	Environments []httpapi.EnvironmentStatus `json:"environments,omitempty"`
	History      []httpapi.Deployment        `json:"history,omitempty"`
	Omitted      []string                    `json:"omitted,omitempty"` // sentences
}

type verdictIn struct {
	SHA         string `json:"sha" jsonschema:"the whole commit, as it was notified"`
	Environment string `json:"environment" jsonschema:"the name of an Environment"`
	Repository  string `json:"repository,omitempty" jsonschema:"owner/name, if the Environment has several repositories"`
	Service     string `json:"service,omitempty" jsonschema:"a service of the repository"`
	MaxAge      string `json:"maxAge,omitempty" jsonschema:"how old results may be, such as 24h; by default what the Environment allows"`
}

func (s *Server) addDeployments() {
	add(s, tool[deployedIn, deployedOut]{
		name: "list_deployed", title: "List what is deployed",
		description: "Says which commit of each repository and service an Environment has now, or had at a time, with the commit before; or, " +
			"with history, lists its deployments. Compare the times with the first run in which a test failed.",
		bounds: func(p map[string]*jsonschema.Schema) { upTo(p["limit"], maxDeployments) },
		call:   listDeployed, shrink: shrinkDeployed,
	})
	add(s, tool[verdictIn, httpapi.Verdict]{
		name: "get_verdict", title: "Get the verdict of a commit",
		description: "Says whether a commit may leave an Environment: passed, failed, running, none, stale or withdrawn, why, what to do, and " +
			"which run decided for each Trigger.",
		call:   getVerdict,
		shrink: shrinkVerdict,
	})
}

func listDeployed(ctx context.Context, c *client.Client, in deployedIn) (*deployedOut, error) {
	switch {
	case in.Environment == "" && (in.At != "" || in.History):
		return nil, errors.New("name an environment: at and history are about one. list_deployed without arguments lists their names")
	case in.Environment == "":
		return allDeployed(ctx, c)
	case in.History:
		return deployments(ctx, c, in)
	}
	status, err := environment(ctx, c, in)
	if err != nil {
		return nil, err
	}
	return &deployedOut{Environments: []httpapi.EnvironmentStatus{*status}}, nil
}

func environment(ctx context.Context, c *client.Client, in deployedIn) (*httpapi.EnvironmentStatus, error) {
	if in.At == "" {
		return c.Environment(ctx, in.Environment)
	}
	at, err := moment("at", in.At)
	if err != nil {
		return nil, err
	}
	return c.EnvironmentAt(ctx, in.Environment, at)
}

func allDeployed(ctx context.Context, c *client.Client) (*deployedOut, error) {
	out := &deployedOut{}
	for e, err := range c.Environments(ctx) {
		if err != nil {
			return nil, err
		}
		if len(out.Environments) == maxEnvironments {
			out.Omitted = append(out.Omitted, fmt.Sprintf("Only the first %d Environments are here: name one.", maxEnvironments))
			break
		}
		for i := range e.Deployed {
			e.Deployed[i].Workloads = nil // many; an answer about one Environment has them
		}
		out.Environments = append(out.Environments, e)
	}
	return out, nil
}

func deployments(ctx context.Context, c *client.Client, in deployedIn) (*deployedOut, error) {
	var since time.Time
	if in.Since != "" {
		var err error
		if since, err = moment("since", in.Since); err != nil {
			return nil, err
		}
	}
	limit := in.Limit
	if limit == 0 {
		limit = defaultDeployments
	}
	h, err := c.EnvironmentHistory(ctx, in.Environment, since, limit)
	if err != nil {
		return nil, err
	}
	out := &deployedOut{History: h.Deployments}
	if h.More {
		out.Omitted = append(out.Omitted, "There are older deployments: raise limit, or ask with at what was deployed at a time.")
	}
	return out, nil
}

// shrinkDeployed drops workloads first, which have the commit of the deployment, then the oldest or last entries.
func shrinkDeployed(out *deployedOut) bool {
	dropped := false
	for i := range out.Environments {
		for j := range out.Environments[i].Deployed {
			d := &out.Environments[i].Deployed[j]
			dropped = dropped || len(d.Workloads) > 0
			d.Workloads = nil
		}
	}
	for i := range out.History {
		dropped = dropped || len(out.History[i].Workloads) > 0
		out.History[i].Workloads = nil
	}
	if dropped {
		out.Omitted = append(out.Omitted, "Workloads are left out: the page of the Environment shows them.")
		return true
	}
	if n := len(out.History); n > 1 {
		out.History = out.History[:n-(n+7)/8]
		out.Omitted = once(out.Omitted, "Older deployments are left out: ask with at what was deployed at a time.")
		return true
	}
	if n := len(out.Environments); n > 1 {
		out.Environments = out.Environments[:n-(n+7)/8]
		out.Omitted = once(out.Omitted, "Environments are left out: name one.")
		return true
	}
	return false
}

func getVerdict(ctx context.Context, c *client.Client, in verdictIn) (*httpapi.Verdict, error) {
	q := client.VerdictQuery{SHA: in.SHA, Environment: in.Environment, Repository: in.Repository, Service: in.Service}
	if in.MaxAge != "" {
		var err error
		if q.MaxAge, err = plaintext.ParseDuration(in.MaxAge); err != nil {
			return nil, fmt.Errorf("maxAge %q: %w", in.MaxAge, err)
		}
	}
	return c.Verdict(ctx, q, 0)
}

// shrinkVerdict keeps the requirements that do not pass, which come first.
func shrinkVerdict(v *httpapi.Verdict) bool {
	for i := range v.Requirements {
		if tests := v.Requirements[i].Tests; tests != nil && (len(tests.Failures) > 0 || len(tests.FlakyTests) > 0) {
			tests.Failures, tests.FlakyTests = nil, nil
			return true
		}
	}
	n := len(v.Requirements)
	if n > 1 {
		v.Requirements = v.Requirements[:n-1]
	}
	return n > 1
}

func moment(argument, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%s %q is no time: write it like 2026-11-24T09:00:00Z", argument, text)
	}
	return at, nil
}
