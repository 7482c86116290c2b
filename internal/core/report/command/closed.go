package command

import (
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// Closing is what ends with a pull request.
type Closing struct {
	Cancel       []*v1alpha1.Suite // its runs that have not ended
	Environments []string          // names of the Environments of its runs, which may be ephemeral
}

// Named returns the runs whose notification names a pull request of the repository. A number that was found for a commit is not enough: a
// branch that lives on, such as develop, also is the head of pull requests.
func Named(runs []report.Run, to report.Target, number int64) (named []*v1alpha1.Suite) {
	for _, r := range runs {
		if r.Suite.Spec.Deployment.PullRequestNumber == number && posts(r, to) && !r.Suite.Restored() {
			named = append(named, r.Suite)
		}
	}
	return named
}

// Close returns what ends with a pull request that the code host says is closed. A merge queue names the pull request, too, but tests its
// base: that run goes on.
func Close(named []*v1alpha1.Suite, p report.PullRequest) (c Closing) {
	for _, s := range named {
		if b := notification.BranchName(s.Spec.Deployment.Branch); b != "" && b != p.Branch {
			continue
		}
		if !s.Finished() {
			c.Cancel = append(c.Cancel, s)
		}
		if !slices.Contains(c.Environments, s.Spec.Environment) {
			c.Environments = append(c.Environments, s.Spec.Environment)
		}
	}
	slices.Sort(c.Environments)
	return c
}

// Owns reports whether an ephemeral Environment ends with the pull request: the last run there is one of its runs, and not of what was
// deployed there later.
func Owns(named, runsThere []*v1alpha1.Suite) bool {
	last := newestOf(runsThere)
	return last != nil && slices.ContainsFunc(named, func(s *v1alpha1.Suite) bool { return s.Name == last.Name })
}

// ClosedBy returns who cancels the runs of a closed pull request, for people.
func ClosedBy(host v1alpha1.HostingService, number int64) string {
	return fmt.Sprintf("%s, because %s%d was closed", host, codehost.Of(host).Sign, number)
}
