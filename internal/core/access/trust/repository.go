package trust

import (
	"net/url"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// The claims with the repository of a job.
const (
	repositoryOfGitHub = "repository"
	repositoryOfGitLab = "project_path"
)

// codeHost returns the host whose jobs get the tokens of an issuer, as Teams name it, and the claim with the repository.
func codeHost(issuer string) (host, claim string) {
	u, err := url.Parse(issuer)
	if err != nil {
		return "", ""
	}
	host = report.HostOf("", issuer)
	subdomain, ofActions := strings.CutPrefix(host, "token.actions.")
	switch {
	case host == "token.actions.githubusercontent.com":
		return "github.com", repositoryOfGitHub
	case ofActions && strings.HasSuffix(subdomain, ".ghe.com"):
		return subdomain, repositoryOfGitHub
	case strings.HasPrefix(u.Path+"/", "/_services/token/"):
		return host, repositoryOfGitHub
	default:
		return host, repositoryOfGitLab
	}
}

// ListedFor reports whether the operator lists the repository of a token's job for a Team. gitHub is the manager's own host of GitHub,
// which entries without a host mean. Tokens of issuers that are no code host have no repository.
func (c *Claims) ListedFor(t *v1alpha1.Team, gitHub string) bool {
	host, claim := codeHost(c.String("iss"))
	return c.isOfCodeHost(claim) && lists(t, host, claim, gitHub, c.String(claim))
}

func lists(t *v1alpha1.Team, host, claim, gitHub, repository string) bool {
	target := report.Target{Repository: repository}
	if claim == repositoryOfGitHub && host == gitHub {
		target.Host = v1alpha1.GitHub
	}
	return repository != "" && report.Allowed(target, host, t.Spec.Repositories)
}

// MayBeListed reports whether the operator lists a repository for a Team whose tokens the policy may trust. If not, all senders that the
// policy trusts have to name the Team.
func MayBeListed(p *v1alpha1.TrustPolicy, t *v1alpha1.Team, gitHub string) bool {
	host, claim := codeHost(p.Spec.Issuer)
	if names := p.Spec.Claims[claim]; len(names) > 0 {
		return slices.ContainsFunc(names, func(name string) bool { return lists(t, host, claim, gitHub, name) })
	}
	return slices.ContainsFunc(t.Spec.Repositories, func(entry string) bool {
		first, _, _ := strings.Cut(entry, "/")
		bare := !strings.ContainsAny(first, ".:")
		return commit.RepositoryKey(first) == host || bare && claim == repositoryOfGitHub && host == gitHub
	})
}

// branches are the names that a sender may call the branch of the job's commit, or none if the token does not prove it. A tag may be of any
// branch, and the head of a pull request is named by its author. A merge group may be called by its base: only GitHub starts its jobs.
func (c *Claims) branches() []string {
	ref := c.String("ref")
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	pull, isPull := strings.CutPrefix(ref, "refs/pull/")
	head := c.String("head_ref")
	base, _, isQueue := codehost.MergeQueue(branch)
	switch {
	case c.isOfCodeHost(repositoryOfGitLab) && c.String("ref_type") == "branch" && ref != "" && !strings.HasPrefix(ref, "refs/"):
		return []string{ref}
	case !c.isOfCodeHost(repositoryOfGitHub):
		return nil
	case isBranch && head != "" && c.String("event_name") == "pull_request": // it was merged: the branch is its base
		return []string{branch, head}
	case isBranch && isQueue && c.String("event_name") == "merge_group":
		return []string{branch, base}
	case isBranch:
		return []string{branch}
	case isPull && head != "":
		return []string{head, pull}
	default:
		return nil
	}
}

// repositories are the names that a sender may call the repository of the job's commit. For the merge request of a fork, GitLab names the
// fork and the project in which its pipeline runs.
func (c *Claims) repositories() (names []string) {
	for _, claim := range []string{repositoryOfGitHub, repositoryOfGitLab} {
		if name := c.String(claim); name != "" && c.isOfCodeHost(claim) {
			names = append(names, name)
		}
	}
	if name := c.String("job_project_path"); name != "" && c.isOfCodeHost(repositoryOfGitLab) {
		names = append(names, name)
	}
	return slices.Compact(names)
}
