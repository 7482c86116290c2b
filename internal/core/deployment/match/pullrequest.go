package match

import (
	"fmt"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// pullRequest holds if the notification is of a pull or merge request; if not only, then if it is of none.
type pullRequest struct {
	simple
	only bool
}

func compilePullRequest(spec *v1alpha1.TriggerSpec) (criterion, error) {
	switch policy := spec.Match.PullRequest; policy {
	case "":
		return nil, nil
	case v1alpha1.PullRequestOnly, v1alpha1.PullRequestNever:
		return pullRequest{only: policy == v1alpha1.PullRequestOnly}, nil
	default:
		return nil, fmt.Errorf("is %q; write Only or Never", policy)
	}
}

func (p pullRequest) holds(a *activation) bool { return (a.PullRequestNumber != 0) == p.only }

func (p pullRequest) explain(a *activation) string {
	of := "The notification has no pull request number"
	if a.PullRequestNumber != 0 {
		of = fmt.Sprintf("The notification is of pull request %d", a.PullRequestNumber)
	}
	switch {
	case p.holds(a):
		return of + "."
	case p.only:
		return of + ", and the Trigger asks for one: send pull_request_number or merge_request_number."
	default:
		return of + ", and the Trigger asks for none."
	}
}
