package match

import (
	"fmt"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// pullRequest is Only or Never. A merge request is a pull request.
type pullRequest v1alpha1.PullRequestPolicy

func compilePullRequest(spec *v1alpha1.TriggerSpec) (Criterion, error) {
	switch policy := spec.Match.PullRequest; policy {
	case "":
		return nil, nil
	case v1alpha1.PullRequestOnly, v1alpha1.PullRequestNever:
		return pullRequest(policy), nil
	default:
		return nil, fmt.Errorf("is %s; write Only or Never", quote(string(policy)))
	}
}

// Holds implements Criterion.
func (p pullRequest) Holds(a *activation) bool {
	return (a.PullRequestNumber != 0) == (p == pullRequest(v1alpha1.PullRequestOnly))
}

// Explain implements Criterion.
func (p pullRequest) Explain(a *activation) string {
	of := "The notification is of no pull request"
	if a.PullRequestNumber != 0 {
		of = fmt.Sprintf("The notification is of pull request %d", a.PullRequestNumber)
	}
	switch {
	case p.Holds(a):
		return of + "."
	case a.PullRequestNumber != 0:
		return of + ", and the Trigger asks for none."
	default:
		return of + ", and the Trigger asks for one; send pull_request_number or merge_request_number."
	}
}

// Weight implements Criterion.
func (p pullRequest) Weight() int { return 0 }

// Keys implements Criterion.
func (p pullRequest) Keys() [][]bucketKey { return nil }
