package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/record"
)

const (
	maxManifest  = 256 << 10       // bytes; the bound of the API
	maxReplay    = 20              // pages of an hour or more each, so that a call ends in time
	replayDays   = "7d"            // the default of the API: teams deploy in the rhythm of a week
	replayWithin = callTimeout / 2 // after this, no further page is asked for
)

type explainIn struct {
	Trigger        string            `json:"trigger,omitempty" jsonschema:"only this Trigger; without it: all, those that came closest first"`
	SHA            string            `json:"sha,omitempty" jsonschema:"the commit that was deployed"`
	Environment    string            `json:"environment,omitempty" jsonschema:"where it was deployed, to find out how it was notified"`
	Branch         string            `json:"branch,omitempty" jsonschema:"of the notification"`
	DeploymentType string            `json:"deploymentType,omitempty" jsonschema:"of the notification, such as staging"`
	DeploymentURL  string            `json:"deploymentUrl,omitempty" jsonschema:"of the notification"`
	Repository     string            `json:"repository,omitempty" jsonschema:"of the notification: owner/name"`
	Service        string            `json:"service,omitempty" jsonschema:"of the notification"`
	CommitMessage  string            `json:"commitMessage,omitempty" jsonschema:"of the notification: its first line"`
	Variables      map[string]string `json:"variables,omitempty" jsonschema:"of the notification"`
}

type explainOut struct {
	Notification httpapi.Notification `json:"notification"`          // that was tried
	CompletedBy  string               `json:"completedBy,omitempty"` // a sentence: where fields come from that were no arguments
	Triggers     []triggerMatch       `json:"triggers"`
	Hint         string               `json:"hint,omitempty"`    // sentences
	Omitted      []string             `json:"omitted,omitempty"` // sentences
}

// triggerMatch is what a notification means for a Trigger.
type triggerMatch struct {
	Trigger     string              `json:"trigger"`
	Matched     bool                `json:"matched"`
	Failed      []httpapi.Condition `json:"failed,omitempty"`      // the conditions that do not hold
	WouldStart  bool                `json:"wouldStart,omitempty"`  // another run
	ExistingRun string              `json:"existingRun,omitempty"` // in place of another run
	Problem     string              `json:"problem,omitempty"`     // why no run can be created
}

type replayIn struct {
	Manifest string `json:"manifest" jsonschema:"the changed Trigger as YAML or JSON, or several, separated by ---"`
	Since    string `json:"since,omitempty" jsonschema:"only notifications after this time, such as 2026-11-24, or in the last, such as 36h; 7d by default"`
}

func (s *Server) addTriggers() {
	add(s, tool[explainIn, explainOut]{
		name: "explain_trigger", title: "Explain why a Trigger did not start a run",
		description: "Says for a deployment which Triggers match it, and which conditions of the others do not hold: a dry run of the " +
			"notification, which starts nothing. Give the fields that the pipeline sent; with sha and environment alone, the others are those " +
			"of what is deployed there, or of the latest run of the commit.",
		call: explainTrigger, shrink: shrinkExplained,
	})
	add(s, tool[replayIn, httpapi.Replay]{
		name: "replay_trigger", title: "Try a changed Trigger on past notifications",
		description: "Tries a changed Trigger on the notifications that the team has sent, and says which would start a run that did not, and " +
			"which no longer would. It creates nothing.",
		bounds: func(p map[string]*jsonschema.Schema) { p["manifest"].MaxLength = new(maxManifest) },
		call:   replayTrigger, shrink: shrinkReplay,
	})
}

func replayTrigger(ctx context.Context, c *client.Client, in replayIn) (*httpapi.Replay, error) {
	began := time.Now()
	if in.Since == "" {
		in.Since = replayDays
	}
	since, err := record.ParseMoment(in.Since, began)
	if err != nil {
		return nil, fmt.Errorf("since: %w", err)
	}
	var all *httpapi.Replay
	for cursor, pages := "", 0; ; pages++ {
		page, err := c.ReplayPage(ctx, []byte(in.Manifest), since, cursor)
		switch {
		case err != nil:
			return nil, err
		case all == nil:
			all = page
		default:
			all.Add(page)
		}
		cursor = page.Next
		if cursor == "" || pages >= maxReplay || time.Since(began) > replayWithin {
			break
		}
	}
	if all.Next != "" {
		all.Next = ""
		all.Problems = append(all.Problems, fmt.Sprintf("Notifications before %s were not tried. For these, use the command line: "+
			"postflight replay --since %s -f trigger.yaml", all.From.UTC().Format(time.RFC3339), in.Since))
	}
	return all, nil
}

// shrinkReplay keeps the counts, and the latest changes.
func shrinkReplay(r *httpapi.Replay) bool {
	n := len(r.Changes)
	if n == 0 {
		return false
	}
	drop := (n + 3) / 4
	r.Changes, r.MoreChanges = r.Changes[:n-drop], r.MoreChanges+drop
	return true
}

var errNoDeployment = errors.New("say what was deployed: sha and environment, or the fields of the notification, such as branch and " +
	"deploymentType")
