package suite

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// maxEnvironmentPrefix leaves room for the hash within a DNS label.
const maxEnvironmentPrefix = 63 - 1 - hashChars

// EphemeralEnvironment derives a short-lived Environment, owned by base and named after it and the URL, so there is one for each URL.
func EphemeralEnvironment(base *v1alpha1.Environment, deploymentURL string, expiresAt time.Time) *v1alpha1.Environment {
	return &v1alpha1.Environment{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Environment"},
		ObjectMeta: metav1.ObjectMeta{
			Name:            EphemeralName(base.Name, deploymentURL),
			Namespace:       base.Namespace,
			Labels:          map[string]string{v1alpha1.LabelEnvironment: base.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(base, v1alpha1.GroupVersion.WithKind("Environment"))},
		},
		Spec: v1alpha1.EnvironmentSpec{
			URL:                 deploymentURL,
			Variables:           base.Spec.Variables,
			VariablesFrom:       base.Spec.VariablesFrom,
			MaxConcurrentSuites: base.Spec.MaxConcurrentSuites,
			Settle:              base.Spec.Settle.DeepCopy(),
			Gate:                base.Spec.Gate.DeepCopy(),
			Ephemeral: &v1alpha1.EphemeralEnvironment{DeploymentURL: deploymentURL,
				ExpiresAt: metav1.NewTime(expiresAt.UTC().Truncate(time.Second))},
		},
	}
}

// EphemeralName is the name of the Environment that is derived from a base for a URL.
func EphemeralName(base, deploymentURL string) string {
	return strings.TrimRight(base[:min(len(base), maxEnvironmentPrefix)], "-") + "-" + Hash(base, deploymentURL)
}

// MayDerive reports whether an ephemeral Environment with the base can have a name, whose end depends on the URL.
func MayDerive(base, name string) bool {
	prefix := EphemeralName(base, "")
	prefix = prefix[:len(prefix)-hashChars]
	hash, found := strings.CutPrefix(name, prefix)
	return found && len(hash) == hashChars && strings.Trim(hash, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// BaseOf is the name of the Environment that an ephemeral one is made of, and of others their own.
func BaseOf(e *v1alpha1.Environment) string {
	if base := metav1.GetControllerOf(e); base != nil {
		return base.Name
	}
	return e.Name
}
