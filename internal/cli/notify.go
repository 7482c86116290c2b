package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/ci"
)

// Notify reports a deployment.
type Notify struct {
	Connection   *client.Client
	Console      *Console
	Deployment   Deployment
	Detected     ci.Context
	AllowNoMatch bool
	Wait         *Wait // nil: do not wait for the runs
}

// notified is what -o json prints.
type notified struct {
	*client.NotificationResult
	Runs []Outcome `json:"runs,omitempty"`
}

// mayExist is what to know after a notification of which the answer did not come.
const mayExist = ". Runs may have been started all the same: see \"postflight runs list\". To report the same commit again starts none twice"

// Run notifies, prints what came of each Trigger, and ends as that demands.
func (c *Notify) Run(ctx context.Context) error {
	n, err := c.Deployment.Notification(c.Detected)
	if err != nil {
		return Trouble(err)
	}
	c.Console.Note("Reporting %s", describe(n, c.Detected))
	result, err := c.Connection.Notify(ctx, n)
	if err != nil {
		return Trouble(Interrupted(ctx, c.partly(err), mayExist))
	}
	answer := notified{NotificationResult: result}
	runs, failures := c.show(result)
	if c.Wait != nil && len(runs) > 0 {
		answer.Runs = c.Wait.For(ctx, runs)
	}
	if c.Console.JSON {
		if err := c.Console.WriteJSON(answer); err != nil {
			return Trouble(err)
		}
	}
	return c.verdict(result, failures, answer.Runs)
}

// partly also shows runs that exist although the request failed as a whole.
func (c *Notify) partly(err error) error {
	var failed *client.Error
	if errors.As(err, &failed) && failed.Problem != nil {
		c.show(&client.NotificationResult{Results: failed.Problem.Results})
	}
	return err
}

// show prints a line per Trigger, and returns the runs to wait for.
func (c *Notify) show(result *client.NotificationResult) (runs []Outcome, failures int) {
	for _, r := range result.Results {
		what := ""
		switch {
		case r.CreatedSuiteID != "":
			what = "started " + r.CreatedSuiteID
			runs = append(runs, Outcome{Run: r.CreatedSuiteID, Trigger: r.TriggerID, Verdict: Waiting})
		case r.DuplicateSuiteID != "":
			what = "exists already: " + r.DuplicateSuiteID
			runs = append(runs, Outcome{Run: r.DuplicateSuiteID, Trigger: r.TriggerID, Verdict: Waiting})
		case r.FailureReason != "":
			what = "could not start: " + r.FailureReason
			failures++
		}
		if c.Console.JSON {
			c.Console.Note("  %s  %s", r.TriggerID, what)
		} else {
			fmt.Fprintf(c.Console.Out, "  %s  %s\n", Clean(r.TriggerID), Clean(what))
		}
	}
	return runs, failures
}

// verdict gates: a release must not go on because nothing looked at it.
func (c *Notify) verdict(result *client.NotificationResult, failures int, outcomes []Outcome) error {
	err := verdictError(outcomes)
	var exit *Exit
	switch {
	case errors.As(err, &exit) && exit.Code == ExitFailed:
		return err
	case failures > 0:
		return exitf(ExitTrouble, "%d of %d runs could not start; the reasons are above", failures, len(result.Results))
	case len(result.Results) == 0 && !c.AllowNoMatch:
		return exitf(ExitTrouble, "no Trigger asks for this deployment. See why with \"postflight explain\", or pass --allow-no-match if that is fine")
	default:
		return err
	}
}
