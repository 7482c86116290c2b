package doctor

import (
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
)

const checkTrust = "trustpolicies"

// TrustPolicies names policies that trust no token, and policies whose senders have to name the Team, because the operator lists no
// repository for it whose tokens they could trust. teams are nil where they are not known. gitHub is the host of the manager's own GitHub.
func TrustPolicies(policies []v1alpha1.TrustPolicy, teams []v1alpha1.Team, gitHub string) (findings []Finding) {
	for i := range policies {
		p := &policies[i]
		owners := slices.DeleteFunc(slices.Clone(teams), func(t v1alpha1.Team) bool { return t.NamespaceName() != p.Namespace })
		owner := v1alpha1.Owner(owners)
		if problem := unready("The TrustPolicy %s does not work: %s", &p.ObjectMeta, p.Status.Conditions); problem != "" {
			findings = append(findings, warning(checkTrust, "", "%s", problem))
		} else if owner != nil && !trust.MayBeListed(p, owner, gitHub) {
			findings = append(findings, unlisted(p, owner))
		}
	}
	switch {
	case len(findings) > 0:
		return findings
	case teams == nil:
		return []Finding{ok(checkTrust, "All %d work.", len(policies))}
	default:
		return []Finding{ok(checkTrust, "All %d work, and their Teams list repositories of their issuers.", len(policies))}
	}
}

// unlisted is no warning: senders that name their Team need no list.
func unlisted(p *v1alpha1.TrustPolicy, t *v1alpha1.Team) Finding {
	f := ok(checkTrust, "Senders that the TrustPolicy %s/%s trusts must name the Team: it lists no repository of theirs.", p.Namespace, p.Name)
	f.Advice = fmt.Sprintf("Nothing, if their jobs set POSTFLIGHT_TEAM=%s, or send the header Postflight-Team. Otherwise let them do that, "+
		"or list the repositories in spec.repositories of the Team, if the code host says in its tokens which one it is: docs/keyless.md.",
		t.Name)
	return f
}
