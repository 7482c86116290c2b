package main

import (
	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/cli"
)

const detection = `Branch, commit, repository and pull request are taken from the variables of GitHub Actions,
GitLab CI, CircleCI, Jenkins or Buildkite, unless given.

$POSTFLIGHT_BRANCH, $POSTFLIGHT_SHA, $POSTFLIGHT_DEPLOYMENT_TYPE and $POSTFLIGHT_DEPLOYMENT_URL win over
these, and flags over all. What others choose, such as a branch, is better in a variable than on a
command line that a shell reads.`

func addDeploymentFlags(cmd *cobra.Command, d *cli.Deployment) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&d.Branch, "branch", "", "branch that was deployed; default: $POSTFLIGHT_BRANCH")
	f.StringVar(&d.SHA, "sha", "", "commit that was deployed; default: $POSTFLIGHT_SHA")
	f.StringVar(&d.Type, "type", "", "deployment type that Triggers ask for, e.g. staging; default: $POSTFLIGHT_DEPLOYMENT_TYPE")
	f.StringVar(&d.URL, "deployment-url", "", "where it is served; the runs see it as $URL; default: $POSTFLIGHT_DEPLOYMENT_URL")
	f.StringArrayVarP(&d.Variables, "variable", "v", nil, "variable for the runs, NAME=value; may be repeated")
	f.StringVar(&d.Repository, "repository", "", "owner/name")
	f.StringVar(&d.HostingService, "hosting-service", "", "GitHub or GitLab")
	f.IntVar(&d.PullRequest, "pull-request", 0, "number of the pull or merge request")
	f.StringVar(&d.CommitURL, "commit-url", "", "link to the commit")
	f.StringVar(&d.DeduplicationKey, "deduplication-key", "", "newer runs stop older ones of the same key; default: branch and environment")
	f.BoolVar(&d.Ephemeral, "ephemeral", false, "the deployment has an environment of its own, named after --deployment-url")
	f.BoolVar(&d.NoDetect, "no-detect", false, "take nothing from the variables of the CI system")
}
