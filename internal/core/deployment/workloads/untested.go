package workloads

import (
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// untested says why a commit that is rolled out started nothing, and how to test it, or returns "".
func untested(o Observed, d v1alpha1.Deployed) string {
	has := commit.New(d.Repository, d.Service, d.SHA)
	if d.Notification != "" || slices.ContainsFunc(o.Suites, func(s *v1alpha1.Suite) bool {
		part := ledger.PartOf(o.Environment, s.Spec.Deployment.Repository, s.Spec.Deployment.Service)
		return commit.Commit{Part: part, Revision: s.Spec.Deployment.SHA}.Covers(has)
	}) {
		return ""
	}
	why := "the Environment sees these workloads for the first time"
	if d.Previous != nil {
		why = "no rollout with other images brought it"
	}
	command := "postflight notify --no-detect"
	for _, flag := range [][2]string{
		{"sha", d.SHA}, {"branch", d.Branch}, {"type", d.DeploymentType}, {"repository", d.Repository}, {"service", d.Service},
	} {
		if flag[1] != "" {
			command += " --" + flag[0] + " " + plaintext.ShellQuote(flag[1])
		}
	}
	return fmt.Sprintf("It is not tested, because %s. To test it, notify it once: %s.", why, command)
}
