package v1alpha1

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Variables are environment variables of a run: at most 128 names, each valid in a pod's
// environment, with values of at most 32 KiB each and 64 KiB together, because the manager keeps them in memory.
//
// +kubebuilder:object:generate=false
// +kubebuilder:validation:MaxProperties=128
// +kubebuilder:validation:XValidation:rule="self.map(name, size(self[name])).sum() <= 65536",message="the values of all variables together must have at most 65536 characters; move large values into a ConfigMap or a file"
// +kubebuilder:validation:XValidation:rule="self.all(name, name.size() <= 256 && name.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*$'))",message="the name of a variable must start with a letter, '_', '-' or '.', and continue with these or digits, 256 bytes at most"
type Variables map[string]VariableValue

// VariableValue is the value of a variable, byte for byte: at most 32 KiB, so that many fit into the 1.5 MiB
// of an object.
//
// +kubebuilder:validation:MaxLength=32768
type VariableValue = string

// DeepCopyInto is written by hand because the generator does not follow the alias of the values.
func (v Variables) DeepCopyInto(out *Variables) { *out = maps.Clone(v) }

// DeepCopy is written by hand like DeepCopyInto.
func (v Variables) DeepCopy() Variables { return maps.Clone(v) }

// EnvironmentSpec describes a deployment target.
//
// +kubebuilder:validation:XValidation:rule="!has(self.deploymentTypes) || has(self.cluster)",message="deploymentTypes needs cluster; other Environments leave the types to their Triggers"
// +kubebuilder:validation:XValidation:rule="!has(self.cluster) || !has(self.workloads) && !has(self.gate) && !has(self.hold) && !has(self.settle) && !has(self.ephemeral)",message="an Environment with cluster has no workloads, gate, hold, settle and ephemeral: set them in that cluster"
type EnvironmentSpec struct {
	// url of the environment: absolute http or https, at most 2,048 bytes. Runs get it as the variable
	// URL, unless the notification has a deployment_url.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="url must be an absolute http or https URL"
	URL string `json:"url,omitempty"`

	// variables of every run in the environment; those of a Trigger or a notification override them.
	// +optional
	Variables Variables `json:"variables,omitempty"`

	// variablesFrom are Secrets and ConfigMaps whose keys every container of a run gets as
	// variables (envFrom). The manager never reads them. At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	VariablesFrom []corev1.EnvFromSource `json:"variablesFrom,omitempty"`

	// maxConcurrentSuites bounds how many runs of all Triggers are active in this Environment at once;
	// others queue in the order in which they were received. 1 reserves the Environment for one run
	// at a time. 0 means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxConcurrentSuites int32 `json:"maxConcurrentSuites,omitempty"`

	// hold keeps runs in the queue until a time, if they have not started. Remove it to release the Environment.
	// +optional
	Hold *EnvironmentHold `json:"hold,omitempty"`

	// settle keeps runs in the queue until nothing was deployed to the Environment for a while, so that several deployments in a row
	// start one run of each Trigger.
	// +optional
	Settle *EnvironmentSettle `json:"settle,omitempty"`

	// gate is what the verdict of a commit in this Environment requires. By default, all Triggers that matched its deployments must have
	// passed, however long ago.
	// +optional
	Gate *GateRule `json:"gate,omitempty"`

	// publicBadge lets everybody who reaches the run pages see the badge of the Environment without signing in: the state of the verdict
	// of any commit there, and nothing else. If the Team has publicPages, badges are public in any case.
	// +optional
	PublicBadge bool `json:"publicBadge,omitempty"`

	// workloads are the objects of the cluster that run in the Environment. Its status says which commit they have.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Workloads []Workload `json:"workloads,omitempty"`

	// cluster is the name of the Cluster that has the Environment: the one of the same name, of the Team of the same name there. This
	// Postflight then hands on the team's notifications, and asks that one. Triggers, workloads and gates are there.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Cluster string `json:"cluster,omitempty"`

	// deploymentTypes are those of the notifications that are handed on to the cluster: names, or beginnings that end in "*". Defaults
	// to all. A notification that is not handed on does not wait for a cluster that is unavailable.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(t, !t.substring(0, t.size() - 1).contains('*'))",message="an entry of deploymentTypes is a name, or the beginning of one and '*'"
	DeploymentTypes []string `json:"deploymentTypes,omitempty"`

	// ephemeral is set on an Environment that a notification created for one deployment URL.
	// +optional
	Ephemeral *EphemeralEnvironment `json:"ephemeral,omitempty"`
}

// EnvironmentHold keeps runs that have not started in the queue, for example while you investigate. It has an end, so that
// it cannot be forgotten. After its end it has no effect.
type EnvironmentHold struct {
	// until is when the hold is over.
	// +required
	Until metav1.Time `json:"until"`

	// reason is shown in the message of every run that waits: at most 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// EnvironmentSettle says when an Environment has settled after a burst of deployments: each of them came within quiet of the one before.
//
// +kubebuilder:validation:XValidation:rule="!has(self.atMost) || duration(self.atMost) >= duration(self.quiet)",message="atMost must be at least quiet"
type EnvironmentSettle struct {
	// quiet is how long nothing may have been deployed before runs start, e.g. 2m; from 1s to 1h. A deployment counts from its
	// notification, and one of workloads that nobody notified from the end of its rollout.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="quiet must be from 1s to 1h"
	Quiet metav1.Duration `json:"quiet"`

	// atMost is how long after the first deployment of a burst runs start although others follow; from quiet to 24h. Defaults to 5
	// times quiet.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="atMost must be from 1s to 24h"
	AtMost *metav1.Duration `json:"atMost,omitempty"`
}

// defaultQuietTimes is atMost, in times of quiet, where it is left out: enough for the pipelines of a handful of repositories that end one
// after the other, and short enough for the pipeline that waits for the first of them.
const defaultQuietTimes = 5

// Limit is how long after the first deployment of a burst runs start.
func (s *EnvironmentSettle) Limit() time.Duration {
	return positive(s.AtMost, defaultQuietTimes*s.Quiet.Duration)
}

// EphemeralEnvironment describes a short-lived Environment.
type EphemeralEnvironment struct {
	// deploymentURL is the deployment_url of the notification that created the Environment.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="deploymentURL cannot change"
	DeploymentURL string `json:"deploymentURL"`

	// expiresAt is when the Environment is deleted; each notification for it extends the time.
	// +required
	ExpiresAt metav1.Time `json:"expiresAt"`
}

// EnvironmentStatus is the observed state of the Environment.
type EnvironmentStatus struct {
	// observedGeneration is the generation of the spec whose workloads the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deployed is what the Environment has of each repository and service, by their names: at most 50. If there are more, the
	// oldest are dropped.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Deployed []Deployed `json:"deployed,omitempty"`

	// unarchived are deployments that are over, the oldest first, and that the object store has not taken yet: at most 50. There are none
	// without a store.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Unarchived []EarlierDeployment `json:"unarchived,omitempty"`

	// conditions of the Environment: with workloads, Ready is False if one of them cannot be read.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Environment is a deployment target: its URL and its variables.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pfenv,categories=postflight
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="SHA",type=string,JSONPath=`.status.deployed[0].sha`,priority=1
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].message`
// +kubebuilder:printcolumn:name="Hold",type=string,JSONPath=`.spec.hold.until`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.spec.ephemeral.expiresAt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of an Environment must be a DNS label: at most 63 of a-z, 0-9 and '-', no dots"
// +kubebuilder:validation:XValidation:rule="has(self.spec.ephemeral) == has(oldSelf.spec.ephemeral)",message="an Environment cannot become ephemeral, or stop being so"
type Environment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   EnvironmentSpec   `json:"spec"`
	Status EnvironmentStatus `json:"status,omitempty"`
}

// HeldUntil returns when the hold of the Environment is over, or the zero time if it is not on hold.
func (e *Environment) HeldUntil(now time.Time) time.Time {
	if e.Spec.Hold == nil || !now.Before(e.Spec.Hold.Until.Time) {
		return time.Time{}
	}
	return e.Spec.Hold.Until.Time
}

// EnvironmentList is a list of Environments.
//
// +kubebuilder:object:root=true
type EnvironmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Environment `json:"items"`
}
