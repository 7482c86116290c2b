package cli

import (
	"context"
	"fmt"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/ci"
)

// Explain shows what a notification would do, and why.
type Explain struct {
	Connection *client.Client
	Console    *Console
	Deployment Deployment
	Detected   ci.Context
}

// Run asks for a dry run and prints it as a table.
func (c *Explain) Run(ctx context.Context) error {
	n, err := c.Deployment.Notification(c.Detected)
	if err != nil {
		return Trouble(err)
	}
	c.Console.Note("If one reported %s:", describe(n, c.Detected))
	result, err := c.Connection.Explain(ctx, n)
	if err != nil {
		return Trouble(err)
	}
	if c.Console.JSON {
		return c.Console.WriteJSON(result)
	}
	if len(result.Explanations) == 0 {
		c.Console.Note("The team has no Triggers. Create one; \"kubectl explain trigger.spec\" tells how.")
		return nil
	}
	return c.Console.Table(explainRows(result))
}

func explainRows(result *client.NotificationResult) [][]string {
	would := map[string]string{}
	for _, r := range result.Results {
		switch {
		case r.CreatedSuiteID != "":
			would[r.TriggerID] = "A run would start."
		case r.DuplicateSuiteID != "":
			would[r.TriggerID] = fmt.Sprintf("No new run: %s is the run of this commit.", r.DuplicateSuiteID)
		case r.FailureReason != "":
			would[r.TriggerID] = r.FailureReason
		}
	}
	rows := [][]string{{"TRIGGER", "MATCHES", "CONDITION", "HOLDS", "WHY"}}
	for _, e := range result.Explanations {
		name, matches := e.TriggerID, yes(e.Matched)
		for _, condition := range e.Conditions {
			rows = append(rows, []string{name, matches, condition.Name, yes(condition.Held), condition.Message})
			name, matches = "", ""
		}
		if len(e.Conditions) == 0 {
			rows = append(rows, []string{name, matches, "-", "-", "The Trigger asks for nothing: every deployment matches."})
			name, matches = "", ""
		}
		if text := would[e.TriggerID]; text != "" {
			rows = append(rows, []string{name, matches, "", "", text})
		}
	}
	return rows
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
