package apikey

import (
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Verdict says whether an APIKey is accepted, and if not, why.
type Verdict string

// The verdicts.
const (
	Accepted              Verdict = "Accepted"
	Deleted               Verdict = "Deleted"
	Suspended             Verdict = "Suspended"
	Expired               Verdict = "Expired"
	Revoked               Verdict = "Revoked" // by another APIKey of the namespace with the same hash
	NoTeam                Verdict = "NoTeam"
	NamespaceClaimedTwice Verdict = "NamespaceClaimedTwice"
	UsedTwice             Verdict = "UsedTwice" // in the namespaces of two Teams
)

// Claims are the Teams that claim each namespace.
type Claims map[string][]v1alpha1.Team

// Judge decides on an APIKey. sameHash are the APIKeys with its hash, itself among them or not.
//
// An APIKey in a namespace that no Team owns affects no other: else everybody who may create one
// anywhere could switch off a key whose hash he knows. In the namespaces of two Teams nobody can tell
// whose an opaque key is, and the older APIKey may be the forged one, so both are refused. Within one
// namespace, revoking one of several APIKeys revokes the key.
func Judge(k *v1alpha1.APIKey, sameHash []v1alpha1.APIKey, claims Claims, now time.Time) Verdict {
	if own := validity(k, now); own != Accepted {
		return own
	}
	switch teams := claims[k.Namespace]; {
	case len(teams) > 1:
		return NamespaceClaimedTwice
	case v1alpha1.Owner(teams) == nil:
		return NoTeam
	}
	verdict := Accepted
	for i := range sameHash {
		switch other := &sameHash[i]; {
		case other.Namespace != k.Namespace:
			if !k.Spec.NamesNamespace && !other.Spec.NamesNamespace && len(claims[other.Namespace]) > 0 {
				return UsedTwice
			}
		case validity(other, now) != Accepted:
			verdict = Revoked
		}
	}
	return verdict
}

func validity(k *v1alpha1.APIKey, now time.Time) Verdict {
	switch expires := k.Spec.ExpiresAt; {
	case k.DeletionTimestamp != nil:
		return Deleted
	case k.Spec.Suspended:
		return Suspended
	case expires != nil && !now.Before(expires.Time):
		return Expired
	default:
		return Accepted
	}
}

// Select finds the APIKey that a presented key stands for; nil where there is none that is accepted.
// sameHash are the APIKeys with the hash of the key: those of the namespace that it names, or of all
// namespaces where it names none.
func Select(key string, sameHash []v1alpha1.APIKey, claims Claims, now time.Time) *v1alpha1.APIKey {
	if len(key) < minOpaque { // it could be guessed, whoever made an APIKey of it
		return nil
	}
	namespace := Namespace(key)
	for i := range sameHash {
		k := &sameHash[i]
		// An opaque key names no namespace, whatever an APIKey says of it.
		fits := namespace == "" && !k.Spec.NamesNamespace || namespace != "" && namespace == k.Namespace
		if fits && Judge(k, sameHash, claims, now) == Accepted {
			return k
		}
	}
	return nil
}
