package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GateRule is what the verdict of a commit in an Environment requires.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minAge) || !has(self.maxAge) || duration(self.maxAge) > duration(self.minAge)",message="maxAge must be longer than minAge, or the gate never opens"
type GateRule struct {
	// triggers whose runs of the commit must have passed, by name. Defaults to those that matched its deployments to the Environment, and
	// those that have a run of it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Triggers []string `json:"triggers,omitempty"`

	// maxAge is how old the result of a run may be, counted from its end, e.g. 24h; from 1m to 8760h. An older one is stale. By default, a
	// result counts as long as the Suite exists.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('8760h')",message="maxAge must be from 1m to 8760h"
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`

	// minAge is for how long all of them must have passed, without a failure since; up to 720h. Until then, the verdict is running.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('720h')",message="minAge must be from 0s to 720h"
	MinAge *metav1.Duration `json:"minAge,omitempty"`
}

// DeploymentGateSpec says which deployments that wait on a code host are approved, and for what.
type DeploymentGateSpec struct {
	// source names the EventSource in this namespace whose code host asks: GitHub or GitLab.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Source string `json:"source"`

	// environments of the code host that the gate decides about: names, compared exactly, or beginnings that end in "*".
	// +required
	Environments NamePatterns `json:"environments"`

	// repositories that the gate decides about: full names such as acme/shop, or beginnings that end in "/*" such as acme/*. Defaults to
	// spec.repositories of the EventSource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*/([A-Za-z0-9._-]+|[*])$'))",message="an entry of repositories is a full name without its host such as acme/shop, or acme/*"
	Repositories []string `json:"repositories,omitempty"`

	// requires are the Environments of this namespace in which the commit must have passed, all of them.
	// +required
	// +listType=map
	// +listMapKey=environment
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Requires []GateRequirement `json:"requires"`

	// startTimeout is how long a commit without a run is waited for, because the notification may come later than the question; from 0s
	// to 24h. Defaults to 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="startTimeout must be from 0s to 24h"
	StartTimeout *metav1.Duration `json:"startTimeout,omitempty"`

	// timeout is how long the gate waits for runs before it rejects; from 1m to 720h. Defaults to 2h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('720h')",message="timeout must be from 1m to 720h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// credentials to answer with: on GitHub, of the App that GitHub asks; on GitLab, a token of a user or group with the right to approve.
	// Without them, the manager uses its own GitHub App, if the Team's spec.repositories allows it.
	// +optional
	Credentials *RepositoryCredentials `json:"credentials,omitempty"`
}

// GateRequirement is an Environment, and a rule that replaces its own.
type GateRequirement struct {
	// environment of this namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment"`

	// rule of this gate. A field that it leaves out is taken from spec.gate of the Environment.
	// +optional
	Rule *GateRule `json:"rule,omitempty"`
}

// The defaults of a DeploymentGate.
const (
	defaultGateStartTimeout = 5 * time.Minute // notifications of a job come seconds after its event; queues of CI systems take minutes
	defaultGateTimeout      = 2 * time.Hour   // as postflight wait
)

// StartTimeout is how long a commit without a run is waited for.
func (g *DeploymentGate) StartTimeout() time.Duration {
	if d := g.Spec.StartTimeout; d != nil {
		return d.Duration
	}
	return defaultGateStartTimeout
}

// Timeout is how long the gate waits for runs.
func (g *DeploymentGate) Timeout() time.Duration { return positive(g.Spec.Timeout, defaultGateTimeout) }

// DeploymentGateStatus is the observed state of the gate.
type DeploymentGateStatus struct {
	// lastReviewTime is when a code host last asked. It is updated at most every ten minutes.
	// +optional
	LastReviewTime *metav1.Time `json:"lastReviewTime,omitempty"`

	// conditions of the gate; while Ready is False, it approves nothing.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeploymentGate approves or rejects deployments that wait on a code host, such as those to production, by the verdict of their commit in
// other Environments.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pfgate,categories=postflight
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.spec.source`
// +kubebuilder:printcolumn:name="Environments",type=string,JSONPath=`.spec.environments`
// +kubebuilder:printcolumn:name="Requires",type=string,JSONPath=`.spec.requires[*].environment`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].message`
// +kubebuilder:printcolumn:name="Last review",type=date,JSONPath=`.status.lastReviewTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of a DeploymentGate must be a DNS label: at most 63 of a-z, 0-9 and '-', no dots"
type DeploymentGate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   DeploymentGateSpec   `json:"spec"`
	Status DeploymentGateStatus `json:"status,omitempty"`
}

// DeploymentGateList is a list of DeploymentGates.
//
// +kubebuilder:object:root=true
type DeploymentGateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeploymentGate `json:"items"`
}
