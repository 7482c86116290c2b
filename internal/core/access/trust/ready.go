package trust

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
)

// Ready is the condition of a policy. Teams are those that claim its namespace, and issuers the audiences by the URLs of those that the
// operator lists.
func Ready(p *v1alpha1.TrustPolicy, teams []v1alpha1.Team, issuers map[string][]string) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonTrusted,
		ObservedGeneration: p.Generation}
	if reason, message := problemOf(p, teams, issuers); reason != "" {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason, message
		return condition
	}
	condition.Message = fmt.Sprintf("Senders of such tokens of %s may %s for the Team %q.", p.Spec.Issuer, rightsOf(p.Spec.Allow),
		teams[0].Name)
	return condition
}

func problemOf(p *v1alpha1.TrustPolicy, teams []v1alpha1.Team, issuers map[string][]string) (reason, message string) {
	_, err := Compile(p)
	invalid, isInvalid := errors.AsType[*Invalid](err)
	listed, isListed := issuers[p.Spec.Issuer]
	unowned, why := v1alpha1.OwnerProblem(p.Namespace, teams)
	switch {
	case isInvalid:
		return invalid.Reason, invalid.Message
	case unowned != "":
		return unowned, fmt.Sprintf("It trusts nobody, because %s.", why)
	case !isListed && len(issuers) == 0:
		return ReasonIssuerNotListed, "It trusts nobody, because the operator of Postflight lists no issuers. Ask the operator to add this " +
			"one (tokenIssuers of the chart)."
	case !isListed:
		return ReasonIssuerNotListed, fmt.Sprintf("It trusts nobody, because the operator of Postflight does not list this issuer, but only %s. "+
			"Ask the operator to add it (tokenIssuers of the chart).", strings.Join(slices.Sorted(maps.Keys(issuers)), ", "))
	case !intersects(audiences(p), listed):
		return ReasonAudienceNotListed, fmt.Sprintf("It trusts nobody, because tokens of this issuer may be only for the audience %s. "+
			"Ask the operator of Postflight to list another one.", strings.Join(listed, " or "))
	}
	return "", ""
}

func rightsOf(allow v1alpha1.TrustAllow) string {
	var rights []string
	if n := allow.Notify; n != nil {
		text := string(grant.Notify)
		if len(n.DeploymentTypes) > 0 {
			text += " of " + strings.Join(n.DeploymentTypes, ", ")
		}
		if len(n.Environments) > 0 {
			text += " in " + strings.Join(n.Environments, ", ")
		}
		rights = append(rights, text)
	}
	for _, r := range []struct {
		allowed bool
		text    string
	}{{allow.Upload, "upload"}, {allow.Read, "read"}, {allow.Act, "cancel and repeat runs"}} {
		if r.allowed {
			rights = append(rights, r.text)
		}
	}
	return strings.Join(rights, "; ")
}
