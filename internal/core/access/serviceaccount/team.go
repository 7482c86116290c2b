package serviceaccount

import "github.com/postflight-dev/postflight/api/v1alpha1"

// Verdict says whether a ServiceAccount may act for a team, or why not.
type Verdict string

// The verdicts.
const (
	Accepted      Verdict = "Accepted"
	NoTeam        Verdict = "NoTeam"       // no Team owns the namespace of the account, and it named none
	ClaimedTwice  Verdict = "ClaimedTwice" // several Teams claim the namespace
	NotAllowed    Verdict = "NotAllowed"   // a Team that was named may exist or not
	NoSuchTeam    Verdict = "NoSuchTeam"   // the account has the right, but in the namespace of no Team of that name
	TeamSuspended Verdict = "TeamSuspended"
)

// Target is where a ServiceAccount wants to do something.
type Target struct {
	Asked     string          // the name of a Team, which may not exist; empty: the one of the account's namespace
	Namespace string          // in which the account needs the right
	Claimants []v1alpha1.Team // of the namespace
}

// TargetOf is the namespace of the Team that was asked for. If there is none, it is the namespace that such a Team has by default: the API
// server is asked the same questions then, so that neither the answer nor its time reveals which Teams exist.
func TargetOf(asked string, named *v1alpha1.Team, account Account) Target {
	switch {
	case asked == "":
		return Target{Namespace: account.Namespace}
	case named == nil:
		return Target{Asked: asked, Namespace: asked}
	default:
		return Target{Asked: asked, Namespace: named.NamespaceName()}
	}
}

// Early returns what is known of a request before the rights of the sender are, or "". Only someone of the namespace learns it.
func (t Target) Early() Verdict {
	switch {
	case t.Asked != "" || v1alpha1.Owner(t.Claimants) != nil:
		return ""
	case len(t.Claimants) > 1:
		return ClaimedTwice
	default:
		return NoTeam
	}
}

// Judge returns the team of a sender who has some right in the namespace, or none.
func (t Target) Judge(allowed bool) (*v1alpha1.Team, Verdict) {
	owner := v1alpha1.Owner(t.Claimants)
	switch {
	case t.Early() != "":
		return nil, t.Early()
	case !allowed:
		return nil, NotAllowed
	case len(t.Claimants) > 1:
		return nil, ClaimedTwice
	case owner == nil || t.Asked != "" && owner.Name != t.Asked:
		return nil, NoSuchTeam
	case owner.Spec.Suspended:
		return nil, TeamSuspended
	default:
		return owner, Accepted
	}
}
