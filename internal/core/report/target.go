package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Target is where a check is posted. The repository is the Trigger's, never the notification's.
type Target struct {
	Host       v1alpha1.HostingService
	Repository string // owner/name, or group/subgroup/name; checked
	SHA        string // 40 or 64 hexadecimal digits
	Branch     string // without refs/heads/; may be empty
	PipelineID int64  // on GitLab; 0: the newest of the commit and branch

	PullRequest int64 // as notified; 0: it is looked for
}

// TargetOf returns where to post the check of a Suite, or the condition that says why nowhere. The Trigger may be nil.
func TargetOf(s *v1alpha1.Suite, t *v1alpha1.Trigger) (Target, *metav1.Condition) {
	d := s.Spec.Deployment
	switch {
	case !s.IsOf(t):
		return none(v1alpha1.ReasonNotConfigured, "Nothing is posted, because the Trigger %s does not exist any more.", s.Spec.Trigger.Name)
	case t.Spec.Repository == nil:
		return none(v1alpha1.ReasonNotConfigured,
			"Nothing is posted, because the Trigger has no spec.repository.")
	case !commit.IsSHA(d.SHA):
		return none(v1alpha1.ReasonNoCommit,
			"Nothing is posted, because only the full SHA of a commit can have a check: 40 or 64 hexadecimal digits. Send it as sha.")
	case !commit.MayBeSameRepository(d.Repository, t.Spec.Repository.Name):
		return none(v1alpha1.ReasonOtherRepository,
			"Nothing is posted, because the notification is about the repository %s, and the Trigger's spec.repository is %s.",
			plaintext.Line(d.Repository, maxShown), t.Spec.Repository.Name)
	}
	target := Target{
		Host: hostOf(t.Spec.Repository), Repository: t.Spec.Repository.Name,
		SHA: d.SHA, Branch: notification.BranchName(d.Branch), PipelineID: d.PipelineID,
		PullRequest: d.PullRequestNumber,
	}
	if !target.valid() {
		return none(v1alpha1.ReasonNotConfigured,
			"Nothing is posted, because spec.repository.name of the Trigger is not the full name of a repository on %s.", target.Host)
	}
	return target, nil
}

func none(reason, format string, args ...any) (Target, *metav1.Condition) {
	return Target{}, new(v1alpha1.NotReported(reason, fmt.Sprintf(format, args...)))
}

func hostOf(r *v1alpha1.Repository) v1alpha1.HostingService {
	return cmp.Or(r.HostingService, v1alpha1.GitHub)
}

// valid repeats the schema's check, because the name becomes a part of URLs that are requested with a token.
func (t Target) valid() bool {
	parts := strings.Split(t.Repository, "/")
	if len(parts) < 2 || codehost.Of(t.Host).OwnerAndName && len(parts) != 2 {
		return false
	}
	return !slices.ContainsFunc(parts, func(part string) bool { return part == "." || part == ".." || !segment.MatchString(part) })
}

// segment excludes what has a meaning in a URL, such as %2F, ? and #.
var segment = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
