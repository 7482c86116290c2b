package doctor

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	checkTeams = "teams"
	checkKeys  = "keys"

	// ExpiresSoon is enough time to give a pipeline another key.
	ExpiresSoon = 14 * 24 * time.Hour
)

// Teams checks each Team, and whether it has a key, or none and Triggers, for senders that have tokens of their own.
func Teams(teams []v1alpha1.Team, keys []v1alpha1.APIKey, triggers []v1alpha1.Trigger, now time.Time) (findings []Finding) {
	if len(teams) == 0 {
		return []Finding{warning(checkTeams, "docs/first-team.md sets up the first one.", "There is no Team, so every key is refused.")}
	}
	var keyless []string
	for i := range teams {
		t := &teams[i]
		if f := teamFinding(t); f.Level != OK {
			findings = append(findings, f)
		}
		if notReady := meta.IsStatusConditionFalse(t.Status.Conditions, v1alpha1.ConditionReady); notReady {
			continue // its keys are refused, however many it has
		}
		own := slices.DeleteFunc(slices.Clone(keys), func(k v1alpha1.APIKey) bool { return k.Namespace != t.NamespaceName() })
		switch {
		case slices.ContainsFunc(own, func(k v1alpha1.APIKey) bool { return works(&k, now) }):
		case needsNone(t.NamespaceName(), own, triggers):
			keyless = append(keyless, t.Name)
		default:
			findings = append(findings, warning(checkTeams, "Make one: postflight keys create ci -n "+t.NamespaceName()+
				". If all its senders have tokens of their own, delete keys that do not work: docs/keyless.md.",
				"The Team %s has no key that works, so nobody can notify for it with one.", t.Name))
		}
	}
	switch {
	case len(findings) > 0:
		return findings
	case len(keyless) > 0:
		return []Finding{ok(checkTeams, "All %d are ready. These have no key, so their senders need tokens of their own: %s.", len(teams),
			list(keyless))}
	default:
		return []Finding{ok(checkTeams, "All %d are ready, and have a key.", len(teams))}
	}
}

// needsNone reports whether a team without a working key seems to want none: it never had one, or only the key that marks its namespace.
func needsNone(namespace string, keys []v1alpha1.APIKey, triggers []v1alpha1.Trigger) bool {
	if len(keys) > 0 {
		return slices.ContainsFunc(keys, func(k v1alpha1.APIKey) bool { return marks(&k) })
	}
	return slices.ContainsFunc(triggers, func(t v1alpha1.Trigger) bool { return t.Namespace == namespace })
}

func teamFinding(t *v1alpha1.Team) Finding {
	ready := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil || ready.ObservedGeneration < t.Generation:
		return warning(checkTeams, "If that lasts, look at the leader.", "The manager has not seen the Team %s as it is now.", t.Name)
	case ready.Status == metav1.ConditionFalse:
		return failure(checkTeams, "", "The Team %s is not ready: %s", t.Name, ready.Message)
	case t.Spec.Suspended:
		return warning(checkTeams, "", "The Team %s is suspended: its keys are refused, and its runs do not start.", t.Name)
	default:
		return ok(checkTeams, "")
	}
}

// works reports whether the key is accepted, as far as its object shows it.
func works(k *v1alpha1.APIKey, now time.Time) bool {
	return !k.Spec.Suspended && (k.Spec.ExpiresAt == nil || now.Before(k.Spec.ExpiresAt.Time)) &&
		!meta.IsStatusConditionFalse(k.Status.Conditions, v1alpha1.ConditionReady)
}

// marks reports whether an APIKey is of no key. The policies of earlier versions needed one where all senders have tokens of their own.
func marks(k *v1alpha1.APIKey) bool {
	return k.Spec.Suspended && strings.Trim(k.Spec.SHA256, "0") == ""
}

// Keys names keys that expire soon or have expired, and keys that are refused without having been revoked.
func Keys(keys []v1alpha1.APIKey, now time.Time) (findings []Finding) {
	for i := range keys {
		k := &keys[i]
		ready := meta.FindStatusCondition(k.Status.Conditions, v1alpha1.ConditionReady)
		switch {
		case k.Spec.Suspended:
		case k.Spec.ExpiresAt != nil && !now.Before(k.Spec.ExpiresAt.Time):
			findings = append(findings,
				warning(checkKeys, "Make another one, or delete it if nothing uses it: kubectl delete apikey "+k.Name+" -n "+k.Namespace,
					"The key %s/%s expired %s.", k.Namespace, k.Name, plaintext.Ago(k.Spec.ExpiresAt.Time, now)))
		case ready != nil && ready.Status == metav1.ConditionFalse:
			findings = append(findings, warning(checkKeys, "", "The key %s/%s is refused: %s", k.Namespace, k.Name, ready.Message))
		case k.Spec.ExpiresAt != nil && k.Spec.ExpiresAt.Sub(now) < ExpiresSoon:
			findings = append(findings, warning(checkKeys, "Make another one: postflight keys create NAME -n "+k.Namespace,
				"The key %s/%s expires in %s.", k.Namespace, k.Name, plaintext.Duration(k.Spec.ExpiresAt.Sub(now))))
		}
	}
	if len(findings) == 0 {
		return []Finding{ok(checkKeys, "None of %d expires soon.", len(keys))}
	}
	return findings
}
