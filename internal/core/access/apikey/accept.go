package apikey

import (
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Verdict is Accepted, or the reason why an APIKey is not.
type Verdict string

// The verdicts.
const (
	Accepted              Verdict = "Accepted"
	Unknown               Verdict = "Unknown" // there is no APIKey
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

// Judge decides on an APIKey. sameHash are the APIKeys with its hash, with or without itself.
// An APIKey in a namespace that no Team claims affects no other: otherwise anyone who can create one could disable a key whose hash they
// have. An opaque key of two Teams is refused for both, because the older APIKey may be forged. Within one namespace, revoking one of
// several APIKeys revokes the key.
func Judge(k *v1alpha1.APIKey, sameHash []v1alpha1.APIKey, claims Claims, now time.Time) Verdict {
	if own := validity(k, now); own != Accepted {
		return own
	}
	teams := claims[k.Namespace]
	switch {
	case len(teams) > 1:
		return NamespaceClaimedTwice
	case v1alpha1.Owner(teams) == nil:
		return NoTeam
	}
	verdict := Accepted
	for i := range sameHash {
		other := &sameHash[i]
		switch {
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
	expires := k.Spec.ExpiresAt
	switch {
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

// Select returns the APIKey of a presented key and the verdict on it, or nil and Unknown. sameHash are those with its hash in the key's
// namespace, or in all. An accepted one takes precedence.
func Select(key string, sameHash []v1alpha1.APIKey, claims Claims, now time.Time) (*v1alpha1.APIKey, Verdict) {
	if len(key) < minOpaque { // it can be guessed, even if it has an APIKey
		return nil, Unknown
	}
	return SelectNamed(Namespace(key), sameHash, claims, now)
}

// SelectNamed is Select for a key that was accepted before. Only its namespace, or "", is known.
func SelectNamed(namespace string, sameHash []v1alpha1.APIKey, claims Claims, now time.Time) (selected *v1alpha1.APIKey, verdict Verdict) {
	verdict = Unknown
	for i := range sameHash {
		k := &sameHash[i]
		// An opaque key names no namespace, even if its APIKey says so.
		if namespace == "" && k.Spec.NamesNamespace || namespace != "" && namespace != k.Namespace {
			continue
		}
		if v := Judge(k, sameHash, claims, now); slices.Index(ranked, v) < slices.Index(ranked, verdict) {
			selected, verdict = k, v
		}
	}
	return selected, verdict
}

// ranked are the verdicts, with what the sender of a key can do most about first: an APIKey elsewhere with the hash of an opaque key
// hides nothing.
var ranked = []Verdict{Accepted, Suspended, Expired, UsedTwice, NamespaceClaimedTwice, NoTeam, Revoked, Deleted, Unknown}
