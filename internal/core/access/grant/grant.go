// Package grant decides what the sender of a request may do for its team.
package grant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Action is something that requests do.
type Action string

// The actions.
const (
	Notify  Action = "notify"  // of deployments, and that an environment is gone
	Upload  Action = "upload"  // files for runs
	Outcome Action = "outcome" // read how a run ends; part of Read
	Read    Action = "read"    // everything
	Act     Action = "act"     // cancel and repeat runs
)

// Actions are all actions.
var Actions = []Action{Notify, Upload, Outcome, Read, Act}

// Grant is what a sender may do for a team. The zero value allows nothing.
type Grant struct {
	Actions []Action
	// DeploymentTypes of notifications, and Environments that they may reach, are names, or beginnings that end in "*". Empty: all.
	DeploymentTypes []string
	Environments    []string
	Commit          string   // notifications may name no other, and get it if they name none; empty: any
	Branches        []string // that notifications may name; empty: any
	Repositories    []string // the same, by their full names
	Runs            []string // the only ones that may be read; empty: all
	Known           []string // the only Environments that exist for the sender, with those derived from them; empty: all
	Acts            Bounds   // of the runs that may be canceled and repeated
}

// Bounds are what runs must have: patterns as in a Grant. Empty: all.
type Bounds struct {
	DeploymentTypes []string `json:"deploymentTypes,omitempty"`
	Environments    []string `json:"environments,omitempty"`
}

// All is what an API key may do.
func All() Grant { return Grant{Actions: Actions} }

// Allows reports whether the sender may do it, for some notification or run at least.
func (g Grant) Allows(a Action) bool {
	return slices.Contains(g.Actions, a) || a == Outcome && slices.Contains(g.Actions, Read)
}

// Knows reports whether an Environment exists for the sender. The base is its name, or the name of the Environment it derives from.
func (g Grant) Knows(base string) bool { return len(g.Known) == 0 || slices.Contains(g.Known, base) }

// KnowsRun reports whether the Environment of a run exists for the sender, whether or not it still does for others.
func (g Grant) KnowsRun(environment, deploymentURL string) bool {
	return g.Knows(environment) || slices.ContainsFunc(g.Known, func(base string) bool {
		return suite.EphemeralName(base, deploymentURL) == environment
	})
}

// Delegated reports whether a hub asks for the sender.
func (g Grant) Delegated() bool { return len(g.Known) > 0 }

// NotificationProblem is a sentence for the sender of a notification that is not allowed, or "".
func (g Grant) NotificationProblem(n *notification.Notification) string {
	switch {
	case !Matches(g.DeploymentTypes, n.DeploymentType):
		return fmt.Sprintf("You may notify of the deployment types %s only, and this notification has %q. "+
			"Send another deployment_type, or ask your team for a TrustPolicy that allows this one.", list(g.DeploymentTypes), n.DeploymentType)
	case g.Commit != "" && n.SHA == "" && !commit.IsSHA(g.Commit):
		return fmt.Sprintf("The notification names no commit, and %q, for which the token was issued, is none. Send its sha.",
			plaintext.Line(g.Commit, maxShown))
	case g.Commit != "" && n.SHA != "" && !commit.EqualRevisions(g.Commit, n.SHA):
		return fmt.Sprintf("The token was issued for the commit %s, and the notification names another one. "+
			"Notify from the pipeline of the commit that was deployed. If a job deploys another commit than its own, set commitClaim of the "+
			"TrustPolicy to another claim, or to \"\" for any commit: jobs of GitHub need \"\" on pull_request, pull_request_target, "+
			"workflow_run, check_run, check_suite and status.", g.Commit)
	default:
		return g.jobProblem(n)
	}
}

// jobProblem is about the branch and the repository of the token's job. A notification need not name them.
func (g Grant) jobProblem(n *notification.Notification) string {
	const advice = "Notify from the pipeline of what was deployed, or set commitClaim of the TrustPolicy to \"\", which compares neither " +
		"commit, " +
		"branch nor repository."
	isRepository := func(r string) bool { return commit.SameRepository(r, n.Repository) }
	switch {
	case n.Repository != "" && len(g.Repositories) > 0 && !slices.ContainsFunc(g.Repositories, isRepository):
		return fmt.Sprintf("The token was issued for a job of %s, and the notification names another repository. %s", shown(g.Repositories),
			advice)
	case n.Branch != "" && len(g.Branches) > 0 && !slices.Contains(g.Branches, notification.BranchName(n.Branch)):
		return fmt.Sprintf("The token was issued for the branch %s, and the notification names another one. %s", shown(g.Branches), advice)
	default:
		return ""
	}
}

// maxShown bounds what a sentence quotes of a token.
const maxShown = 200

func shown(names []string) string { return plaintext.Line(strings.Join(names, " or "), maxShown) }

// Complete adds the commit of the token to a notification without one, so that a token for one commit starts no run without a commit.
func (g Grant) Complete(n *notification.Notification) {
	if n.SHA == "" {
		n.SHA = commit.NormalSHA(g.Commit)
	}
}

// EnvironmentProblem is a sentence for the sender of a notification that reaches an Environment which is not allowed, or "".
func (g Grant) EnvironmentProblem(name string) string {
	if Matches(g.Environments, name) {
		return ""
	}
	return fmt.Sprintf("You may notify the Environments %s only, and this reaches the Environment %s. Nothing was changed. "+
		"Send another deployment_type or branch, or ask your team for a TrustPolicy that allows this Environment.", list(g.Environments), name)
}

// TerminationProblem is the same for an ephemeral Environment that is to end. The base is what it is made of, and the types are those of
// its runs that are known.
func (g Grant) TerminationProblem(name, base string, types []string) string {
	if problem := g.EnvironmentProblem(base); problem != "" {
		return problem
	}
	if len(types) == 0 && len(g.DeploymentTypes) > 0 && len(g.Environments) == 0 {
		return fmt.Sprintf("You may end Environments of the deployment types %s only, and no run says of which type the Environment %s is. "+
			"Nothing was changed. Ask your team for a TrustPolicy that names its environments.", list(g.DeploymentTypes), name)
	}
	for _, t := range types {
		if !Matches(g.DeploymentTypes, t) {
			return fmt.Sprintf("You may end Environments of the deployment types %s only, and the Environment %s has a run of %q. "+
				"Nothing was changed. Ask your team for a TrustPolicy that allows this type.", list(g.DeploymentTypes), name, t)
		}
	}
	return ""
}

// RunProblem is a sentence for a sender that cannot cancel or repeat a run. The base is its Environment, or what that is made of.
func (g Grant) RunProblem(base, deploymentType string) string {
	switch {
	case !Matches(g.Acts.Environments, base):
		return fmt.Sprintf("You may cancel and repeat runs of the Environments %s only, and this reaches the Environment %s. "+
			"Ask your team for a TrustPolicy that allows this Environment.", list(g.Acts.Environments), base)
	case !Matches(g.Acts.DeploymentTypes, deploymentType):
		return fmt.Sprintf("You may cancel and repeat runs of the deployment types %s only, and this run has %q. "+
			"Ask your team for a TrustPolicy that allows this type.", list(g.Acts.DeploymentTypes), deploymentType)
	default:
		return ""
	}
}

// Matches reports whether a name is one of the patterns, or has the beginning of one. Without patterns, all names match.
func Matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		beginning, isBeginning := strings.CutSuffix(pattern, "*")
		return pattern == name || isBeginning && strings.HasPrefix(name, beginning)
	})
}

func list(patterns []string) string { return strings.Join(patterns, ", ") }

// noName is a pattern that no name matches.
const noName = "\x00"

// Both returns the patterns of the names that match both lists. An empty list is matched by all.
func Both(a, b []string) []string {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	var both []string
	for _, x := range a {
		for _, y := range b {
			if narrower, ok := narrowerOf(x, y); ok && !slices.Contains(both, narrower) {
				both = append(both, narrower)
			}
		}
	}
	if len(both) == 0 {
		return []string{noName}
	}
	return both
}

// narrowerOf returns the one of two patterns whose names the other one matches, too.
func narrowerOf(x, y string) (string, bool) {
	for _, pair := range [][2]string{{x, y}, {y, x}} {
		beginning, isBeginning := strings.CutSuffix(pair[0], "*")
		if pair[0] == pair[1] || isBeginning && strings.HasPrefix(strings.TrimSuffix(pair[1], "*"), beginning) {
			return pair[1], true
		}
	}
	return "", false
}
