package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

// runTerminated reports that an ephemeral environment is gone.
func (o *NotifyOptions) runTerminated(ctx context.Context) error {
	if o.URL == "" {
		return errors.New("--terminated needs --deployment-url, or $POSTFLIGHT_DEPLOYMENT_URL: the URL of the environment that is gone")
	}
	result, err := o.Client.EnvironmentTerminated(ctx, client.Termination{DeploymentURL: o.URL})
	if cli.FailureCode(err) == "environment_not_found" {
		if o.AllowNoMatch {
			o.Console.Note("There is no ephemeral Environment for %s, or no longer.", o.URL)
			return nil
		}
		return fmt.Errorf("%w. --allow-no-match makes this exit 0", err)
	}
	if err != nil {
		return err
	}
	return o.Console.Result(result, func() error {
		for _, t := range result.Results {
			fmt.Fprintf(o.Console.Out, "  %s  %s\n", cli.Clean(t.EnvironmentAlias), cli.Clean(canceledOf(t.Runs)))
		}
		return nil
	})
}

func canceledOf(runs []string) string {
	if len(runs) == 0 {
		return "terminated"
	}
	return "terminated, canceling: " + strings.Join(runs, ", ")
}
