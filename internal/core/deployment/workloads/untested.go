package workloads

import (
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// untested says why a commit that is rolled out started nothing, and how to test it, or returns "".
func untested(o Observed, d v1alpha1.Deployed, says names) string {
	has := commit.New(d.Repository, d.Service, d.SHA)
	if d.Notification != "" || slices.ContainsFunc(o.Suites, func(s *v1alpha1.Suite) bool {
		part := ledger.PartOf(o.Environment, s.Spec.Deployment.Repository, s.Spec.Deployment.Service)
		return commit.Commit{Part: part, Revision: s.Spec.Deployment.SHA}.Covers(has)
	}) {
		return ""
	}
	command := notification.Command(v1alpha1.Deployment{
		SHA: d.SHA, Branch: d.Branch, Type: d.DeploymentType, Repository: d.Repository, Service: d.Service,
	}, false)
	return fmt.Sprintf("It is not tested, because %s. To test it, notify it once: %s.", unnotified(o, d, says), command)
}

// unnotified is the reason for which notificationOf was silent, as far as the status shows it: a clause, or all that may have been so.
func unnotified(o Observed, d v1alpha1.Deployed, says names) string {
	if d.Previous != nil && d.Previous.SHA == d.SHA {
		return "its workloads went back to it before all of them had another commit"
	}
	first, noTeam := "the Environment saw these workloads for the first time", "the namespace had no Team"
	reasons := []string{first, noTeam}
	if o.Team != nil && o.Team.CreationTimestamp.After(since(d)) {
		reasons = []string{fmt.Sprintf("%s (%s was created later)", noTeam, o.Team.Name), first}
	}
	reasons = append(reasons, "the Team was suspended", "no workload had notify: true")
	if says.byTag && d.Previous != nil {
		reasons = append(reasons, "the images were the same under another tag")
	}
	return "its rollout was not notified: when it was complete, " + plaintext.Alternatives(reasons)
}
