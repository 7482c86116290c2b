package deployed

import (
	"slices"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/suite"
)

// notified is the newest notification of a repository.
type notified struct {
	deployment v1alpha1.Deployment
	at         metav1.MicroTime
	commits    []string // that were notified, the newest first
}

// notifications leaves out runs that somebody or a schedule started again, which test what was deployed before, and those that rollouts started. A
// notification without a repository is of the only one that the workloads name, if there is one.
func notifications(suites []*v1alpha1.Suite, named []string) map[string]notified {
	all := map[string]notified{}
	newestFirst := func(a, b *v1alpha1.Suite) int { return b.CompareNotified(a) }
	for _, s := range slices.SortedStableFunc(slices.Values(suites), newestFirst) {
		if s.StartedAgain() || s.Spec.Deployment.SHA == "" || startedByRollout(s) {
			continue
		}
		repository := suite.RepositoryOf(s, named)
		n, known := all[repository]
		if !known {
			n = notified{deployment: s.Spec.Deployment, at: s.LastNotified()}
		}
		n.commits = append(n.commits, s.Spec.Deployment.SHA)
		all[repository] = n
	}
	return all
}

// whole returns the known commit of which a tag is the beginning, or the tag. A commit that was known once stays known without its runs.
func whole(tag string, known ...string) string {
	for _, sha := range known {
		if len(tag) >= commit.MinSHAPrefix && commit.IsSHA(sha) && commit.HasSHAPrefix(sha, tag) {
			return sha
		}
	}
	return tag
}

func ofNotification(d v1alpha1.Deployed, n notified) v1alpha1.Deployed {
	d.Workloads, d.Ready, d.Message, d.Notification = nil, nil, "", ""
	if n.at.IsZero() || d.SHA == n.deployment.SHA || d.SHA != "" && !n.at.After(since(d)) {
		return d
	}
	return v1alpha1.Deployed{
		Repository: d.Repository, SHA: n.deployment.SHA, Branch: n.deployment.Branch, DeploymentType: n.deployment.Type,
		Since: stored(n.at.Time), ReportedBy: v1alpha1.ReportedByNotification, Previous: previous(d),
	}
}

// previous leaves out that workloads had several commits: this is a part of the rollout that follows.
func previous(d v1alpha1.Deployed) *v1alpha1.PreviousDeployment {
	if d.Since == nil || d.SHA == "" {
		return d.Previous
	}
	return &v1alpha1.PreviousDeployment{SHA: d.SHA, Since: d.Since}
}
