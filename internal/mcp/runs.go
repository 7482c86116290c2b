package mcp

import (
	"context"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
)

const (
	defaultRuns = 20 // fit into a result, as a rule
	maxRuns     = 50 // of a page; fitting makes it shorter
)

type runsIn struct {
	Trigger     string `json:"trigger,omitempty" jsonschema:"only runs of this Trigger"`
	Environment string `json:"environment,omitempty" jsonschema:"only runs in this Environment, such as staging"`
	Branch      string `json:"branch,omitempty" jsonschema:"only runs of this branch"`
	SHA         string `json:"sha,omitempty" jsonschema:"only runs of this commit, or of commits that begin with these 7 characters or more"`
	State       string `json:"state,omitempty" jsonschema:"only runs in this state"`
	Limit       int    `json:"limit,omitempty" jsonschema:"how many runs at most, 20 by default"`
	Cursor      string `json:"cursor,omitempty" jsonschema:"next of the page before"`
}

type runsOut struct {
	Runs    []runLine `json:"runs"`              // newest first
	Next    string    `json:"next,omitempty"`    // cursor of the next page
	Omitted []string  `json:"omitted,omitempty"` // sentences
}

// runLine is what tells runs apart.
type runLine struct {
	Run          string     `json:"run"` // its id
	State        string     `json:"state"`
	Message      string     `json:"message,omitempty"`
	Trigger      string     `json:"trigger"`
	Environment  string     `json:"environment"`
	Repository   string     `json:"repository,omitempty"`
	Service      string     `json:"service,omitempty"`
	Branch       string     `json:"branch,omitempty"`
	SHA          string     `json:"sha,omitempty"`
	Attempt      int32      `json:"attempt,omitempty"`
	CreatedAt    time.Time  `json:"createdAt"`
	EndedAt      *time.Time `json:"endedAt,omitempty"`
	Failed       int32      `json:"failed,omitempty"` // tests
	NewFailures  int32      `json:"newFailures,omitempty"`
	SupersededBy string     `json:"supersededBy,omitempty"`
	RepeatedBy   string     `json:"repeatedBy,omitempty"`
	URL          string     `json:"url,omitempty"` // of its page
}

func (s *Server) addRuns() {
	add(s, tool[runsIn, runsOut]{
		name: "list_runs", title: "List runs",
		description: "Lists runs of the team, newest first, also those of the archive, with state, commit and number of failed tests. " +
			"Use it to find the id of a run, for explain_run. The newest run of a trigger and environment says whether that is red.",
		bounds: func(p map[string]*jsonschema.Schema) {
			upTo(p["limit"], maxRuns)
			for _, state := range v1alpha1.States() {
				p["state"].Enum = append(p["state"].Enum, state)
			}
		},
		call: listRuns,
	})
	add(s, tool[runIn, httpapi.Failure]{
		name: "explain_run", title: "Explain why a run failed",
		description: "Explains one run in a document of at most 16 KiB: what happened, what to do next, the commit that it tested, what was " +
			"deployed since the last green run, failed tests with message, text, since when and since which deployment each fails, the log " +
			"around the failure, and what the cluster did. Works for each run, also for one that passed or has not ended.",
		call: func(ctx context.Context, c *client.Client, in runIn) (*httpapi.Failure, error) {
			return c.Failure(ctx, in.Run)
		},
		shrink: shrinkFailure,
	})
	s.addLog()
}

type runIn struct {
	Run string `json:"run" jsonschema:"the id of a run, as list_runs has it"`
}

func listRuns(ctx context.Context, c *client.Client, in runsIn) (*runsOut, error) {
	limit := in.Limit
	if limit == 0 {
		limit = defaultRuns
	}
	return fitting(limit, func(limit int) (*runsOut, error) {
		page, err := c.RunsPage(ctx, client.RunFilter{
			Trigger: in.Trigger, Environment: in.Environment, Branch: in.Branch, SHA: in.SHA, State: in.State, PageSize: limit,
		}, in.Cursor)
		if err != nil {
			return nil, err
		}
		out := &runsOut{Runs: []runLine{}, Next: page.Next}
		if page.ArchiveProblem != "" {
			out.Omitted = append(out.Omitted, page.ArchiveProblem)
		}
		if page.Next != "" {
			out.Omitted = append(out.Omitted, "Older runs were not looked at: call list_runs again with next as cursor.")
		}
		for i := range page.Runs {
			out.Runs = append(out.Runs, lineOf(&page.Runs[i]))
		}
		return out, nil
	})
}

func lineOf(r *httpapi.Run) runLine {
	line := runLine{
		Run: r.ID, State: r.State, Message: r.Message, Trigger: r.Trigger, Environment: r.Environment, Repository: r.Repository,
		Service: r.Service, Branch: r.Branch, SHA: r.SHA, Attempt: r.Attempt, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
		SupersededBy: r.SupersededBy, RepeatedBy: r.RepeatedBy, URL: r.URL,
	}
	if r.Results != nil {
		line.Failed, line.NewFailures = r.Results.Failed, r.Results.NewFailures
	}
	return line
}

// shrinkFailure is for a server that has a larger bound: it drops lines of the log from the start, then the last failures.
func shrinkFailure(f *httpapi.Failure) bool {
	const cutLog = "The log was shortened: read_log has all of it."
	switch {
	case f.Log != nil && len(f.Log.Lines) > 0:
		n := (len(f.Log.Lines) + 1) / 2
		f.Log.Lines, f.Log.FirstLine = f.Log.Lines[n:], f.Log.FirstLine+n
		f.Omitted = once(f.Omitted, cutLog)
	case f.Tests != nil && len(f.Tests.Failures) > 1:
		f.Tests.Failures = f.Tests.Failures[:len(f.Tests.Failures)-1]
		f.Omitted = once(f.Omitted, fmt.Sprintf("Failed tests are missing here: the page of the run has all %d.", f.Tests.Failed))
	default:
		return false
	}
	return true
}

func once(all []string, sentence string) []string {
	for _, known := range all {
		if known == sentence {
			return all
		}
	}
	return append(all, sentence)
}
