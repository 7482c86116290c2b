package workloads

import (
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
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
	command := notification.Command(v1alpha1.Deployment{
		SHA: d.SHA, Branch: d.Branch, Type: d.DeploymentType, Repository: d.Repository, Service: d.Service,
	}, false)
	return fmt.Sprintf("It is not tested, because %s. To test it, notify it once: %s.", why, command)
}
