package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/postflight-dev/postflight/client"
)

// runTerminated reports that an ephemeral environment is gone.
func (o *notifyOptions) runTerminated(ctx context.Context) error {
	if o.deployment.url == "" {
		return errors.New("--terminated needs --deployment-url, or $POSTFLIGHT_DEPLOYMENT_URL: the URL of the environment that is gone")
	}
	result, err := o.client.EnvironmentTerminated(ctx, client.Termination{DeploymentURL: o.deployment.url})
	if failureCode(err) == "environment_not_found" {
		if o.allowNoMatch {
			o.console.note("There is no ephemeral Environment for %s, or no longer.", o.deployment.url)
			return nil
		}
		return fmt.Errorf("%w. --allow-no-match makes this exit 0", err)
	}
	if err != nil {
		return err
	}
	return o.console.result(result, func() error {
		for _, t := range result.Results {
			fmt.Fprintf(o.console.out, "  %s  %s\n", clean(t.EnvironmentAlias), clean(canceledOf(t.Runs)))
		}
		return nil
	})
}

func canceledOf(runs []string) string {
	if len(runs) == 0 {
		return "terminated"
	}
	return fmt.Sprintf("terminated, %d runs are being canceled: %s", len(runs), strings.Join(runs, ", "))
}
