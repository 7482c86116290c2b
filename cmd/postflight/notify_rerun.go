package main

import (
	"context"
	"errors"

	"github.com/postflight-dev/postflight/client"
)

// rerunEnded replaces runs that existed and have ended by another attempt. One that cannot be started is a failure.
func (o *notifyOptions) rerunEnded(ctx context.Context, results []client.Result) {
	for i := range results {
		r := &results[i]
		if r.DuplicateSuiteID == "" {
			continue
		}
		attempt, err := latestAttempt(ctx, o.client, r.DuplicateSuiteID)
		switch {
		case failureCode(err) == "run_unfinished":
		case err != nil:
			r.DuplicateSuiteID, r.FailureReason = "", err.Error()
		default:
			o.console.note("%s has ended. This is attempt %d of it:", r.DuplicateSuiteID, attempt.Attempt)
			r.DuplicateSuiteID, r.CreatedSuiteID = "", attempt.ID
		}
	}
}

// failureCode is the stable word of an error of the server; "" if there is none.
func failureCode(err error) string {
	var failed *client.Error
	if errors.As(err, &failed) && failed.Problem != nil {
		return failed.Problem.FailureCode
	}
	return ""
}
