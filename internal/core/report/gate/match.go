// Package gate decides about deployments that wait on a code host, by the verdict of their commit.
package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// Place is where a deployment waits, as an EventSource heard of it.
type Place struct {
	Source      string // the name of the EventSource
	Host        v1alpha1.HostingService
	Repository  string
	Environment string
}

// PlaceOf is the place of a review.
func PlaceOf(r *v1alpha1.DeploymentReview) Place {
	return Place{r.Spec.Source, r.Spec.HostingService, r.Spec.Repository, r.Spec.Environment}
}

// HostOf is the code host whose events a source has, or "".
func HostOf(s *v1alpha1.EventSource) v1alpha1.HostingService {
	switch s.Spec.Type {
	case v1alpha1.EventsOfGitHub:
		return v1alpha1.GitHub
	case v1alpha1.EventsOfGitLab:
		return v1alpha1.GitLab
	default:
		return ""
	}
}

// Matching returns the gates of a namespace that decide about a place, ordered by name. All of them must agree, so that a gate for a few
// environments adds to one for all.
func Matching(all []v1alpha1.DeploymentGate, at Place) (gates []*v1alpha1.DeploymentGate) {
	for i := range all {
		if g := &all[i]; g.DeletionTimestamp == nil && matches(g, at) {
			gates = append(gates, g)
		}
	}
	slices.SortFunc(gates, func(a, b *v1alpha1.DeploymentGate) int { return strings.Compare(a.Name, b.Name) })
	return gates
}

// Answering returns the gate whose credentials are used: the first that decides, or else the gate that decided when the question came.
func Answering(all []v1alpha1.DeploymentGate, r *v1alpha1.DeploymentReview) *v1alpha1.DeploymentGate {
	if gates := Matching(all, PlaceOf(r)); len(gates) > 0 {
		return gates[0]
	}
	if i := slices.IndexFunc(all, func(g v1alpha1.DeploymentGate) bool { return g.Name == r.Spec.Gate }); i >= 0 {
		return &all[i]
	}
	return nil
}

func matches(g *v1alpha1.DeploymentGate, at Place) bool {
	spelling := func(name string) string { return name }
	if codehost.Of(at.Host).ReviewsRuns {
		spelling = strings.ToLower // GitHub has one environment for all spellings, so another one must not avoid a gate
	}
	environment := spelling(at.Environment)
	return g.Spec.Source == at.Source && event.Covers(g.Spec.Repositories, at.Repository) &&
		slices.ContainsFunc(g.Spec.Environments, func(pattern string) bool {
			beginning, open := strings.CutSuffix(spelling(pattern), "*")
			return beginning == environment || open && strings.HasPrefix(environment, beginning)
		})
}

// AskedAgain reports whether a later question is about the same workflow run and environment, such as the question of its next attempt. A
// host that takes decisions about runs cannot tell which question a decision answers.
func AskedAgain(r *v1alpha1.DeploymentReview, all []v1alpha1.DeploymentReview) bool {
	own := r.Spec
	return codehost.Of(own.HostingService).ReviewsRuns && slices.ContainsFunc(all, func(other v1alpha1.DeploymentReview) bool {
		s := other.Spec
		return other.Name != r.Name && s.HostingService == own.HostingService && s.Source == own.Source && s.RunID == own.RunID &&
			commit.SameRepository(s.Repository, own.Repository) && strings.EqualFold(s.Environment, own.Environment) && later(&other, r)
	})
}

// later compares the numbers of deployments, which increase: an event may be delivered late.
func later(a, b *v1alpha1.DeploymentReview) bool {
	if a.Spec.DeploymentID > 0 && b.Spec.DeploymentID > 0 {
		return a.Spec.DeploymentID > b.Spec.DeploymentID
	}
	return b.CreationTimestamp.Before(&a.CreationTimestamp)
}

// Claim is a Team that has gates for a deployment about which the manager's own credentials decide.
type Claim struct {
	Namespace string
	Team      *v1alpha1.Team
}

// Deciding returns the namespaces whose gates decide, and whether they contest the decision, because the code host takes only one. A Team
// that lists the repository by its name goes before those that list it with others.
func Deciding(t report.Target, host string, claims []Claim) (namespaces []string, contested bool) {
	exact := slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool {
		names := slices.DeleteFunc(slices.Clone(c.Team.Spec.Repositories), func(entry string) bool { return strings.HasSuffix(entry, "/*") })
		return !report.Allowed(t, host, names)
	})
	if len(exact) > 0 {
		claims = exact
	}
	for _, c := range claims {
		namespaces = append(namespaces, c.Namespace)
	}
	return namespaces, len(claims) > 1
}

// Name is the name of the review of a question. It is the same whenever the question comes, so that creating it is the lock. The delivery
// identifies a question whose deployment has no number.
func Name(source types.UID, host v1alpha1.HostingService, repository string, r event.Review, delivery string) string {
	question := fmt.Sprint(r.DeploymentID)
	if r.DeploymentID < 1 {
		question = delivery
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %d %q",
		source, host, commit.RepositoryKey(repository), r.Environment, r.RunID, question))
	return "review-" + hex.EncodeToString(sum[:16])
}
