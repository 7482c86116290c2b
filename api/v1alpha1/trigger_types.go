package v1alpha1

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DuplicatePolicy decides when a notification for a SHA that already has a run is a duplicate.
//
// +kubebuilder:validation:Enum=Commit;Deployment;RerunUnsuccessful
type DuplicatePolicy string

const (
	// DuplicatesCommit means that one run per SHA is enough, while it continues and once it has a result.
	DuplicatesCommit DuplicatePolicy = "Commit"
	// DuplicatesDeployment means that each deployment of a SHA is tested.
	DuplicatesDeployment DuplicatePolicy = "Deployment"
	// DuplicatesRerunUnsuccessful starts another attempt if the run ended and did not pass.
	DuplicatesRerunUnsuccessful DuplicatePolicy = "RerunUnsuccessful"
)

// SupersedePolicy decides which older runs a newer one stops.
//
// +kubebuilder:validation:Enum=Branch;Environment;None
type SupersedePolicy string

const (
	// SupersedeBranch stops the older runs of the same Trigger, Environment, service and branch.
	SupersedeBranch SupersedePolicy = "Branch"
	// SupersedeEnvironment stops the older runs of the same Environment and service, of all Triggers with this policy.
	SupersedeEnvironment SupersedePolicy = "Environment"
	// SupersedeNone stops no run.
	SupersedeNone SupersedePolicy = "None"
)

// TriggerSpec defines which notifications start a run, and what the run is.
//
// +kubebuilder:validation:XValidation:rule="has(self.jobTemplate) || has(self.triggerClassName)",message="a Trigger needs a jobTemplate, or a triggerClassName that has one"
// +kubebuilder:validation:XValidation:rule="!has(self.failFast) || !self.failFast || has(self.shards)",message="failFast needs shards: without them there are no others to stop"
// +kubebuilder:validation:XValidation:rule="!has(self.shards) || !has(self.jobTemplate) || !has(self.jobTemplate.spec) || !has(self.jobTemplate.spec.completionMode) && !has(self.jobTemplate.spec.completions) && !has(self.jobTemplate.spec.parallelism)",message="with shards, the jobTemplate is that of one shard, and Postflight makes an Indexed Job of it: remove completionMode, completions and parallelism from the jobTemplate, or remove shards"
// +kubebuilder:validation:XValidation:rule="!has(self.shards) || !has(self.jobTemplate) || !has(self.jobTemplate.spec) || !has(self.jobTemplate.spec.successPolicy)",message="with shards, every shard has to pass: remove successPolicy from the jobTemplate, or remove shards"
// +kubebuilder:validation:XValidation:rule="!has(self.shards) || !has(self.jobTemplate) || !has(self.jobTemplate.spec) || !has(self.jobTemplate.spec.template.spec) || !has(self.jobTemplate.spec.template.spec.restartPolicy) || self.jobTemplate.spec.template.spec.restartPolicy == 'Never'",message="with shards, the restartPolicy of the jobTemplate must be Never; to repeat a shard that failed, set its backoffLimit"
// +kubebuilder:validation:XValidation:rule="!has(self.failFast) || !self.failFast || !has(self.jobTemplate) || !has(self.jobTemplate.spec) || !has(self.jobTemplate.spec.backoffLimitPerIndex)",message="with failFast, a shard that fails stops the others, so backoffLimitPerIndex has no effect: remove one of the two"
type TriggerSpec struct {
	// environment names an Environment in the Trigger's namespace, in which runs take place. It is no condition: without
	// match.deploymentTypes, the Trigger also runs for deployments to other Environments.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment"`

	// triggerClassName names a TriggerClass, whose results, timeouts, retention, variables and jobTemplate the Trigger
	// inherits where it does not set them. "postflight triggers show NAME --effective" shows the outcome.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	TriggerClassName string `json:"triggerClassName,omitempty"`

	// paused stops the Trigger from matching while it is true, and its schedule. Existing runs continue.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// match defines which notifications start a run; all conditions that you set must hold.
	// Without any, every notification of the team starts a run, also of deployments to other Environments.
	// +optional
	Match TriggerMatch `json:"match,omitempty"`

	// schedule tests again what is deployed in the Environment and matches, at the times of a cron expression. Without it,
	// only notifications start runs.
	// +optional
	Schedule *TriggerSchedule `json:"schedule,omitempty"`

	// repository is where the outcome of a run is posted, as a check of its commit. Without it, nothing is posted.
	// +optional
	Repository *Repository `json:"repository,omitempty"`

	// notify says whom to tell about failures. Without it, no receiver is told.
	// +optional
	Notify *Notify `json:"notify,omitempty"`

	// duplicates says what to do with a notification whose SHA already has a run. Commit: it is a
	// duplicate, unless that run was superseded or canceled or ended as Error, and so has no result.
	// Deployment: it is a duplicate only of the same deployment, with the same deployment_url and variables, whose
	// input files were not uploaded again, and after which no other SHA was deployed to its stream or Environment.
	// RerunUnsuccessful: it is a duplicate, unless that run has ended without passing.
	// +optional
	// +kubebuilder:default=Commit
	Duplicates DuplicatePolicy `json:"duplicates,omitempty"`

	// duplicatesMaxAge is how old the result of a run may be that answers a later notification of its SHA, from 1s to
	// 8760h. An older one is repeated. Results do not age if it is left out.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="duplicatesMaxAge must be from 1s to 8760h"
	DuplicatesMaxAge *metav1.Duration `json:"duplicatesMaxAge,omitempty"`

	// supersede says which older runs a newer run stops. Branch: those of this Trigger, Environment,
	// service and branch. Environment: all of the Environment and service, of every Trigger with this policy; use
	// it if several branches are deployed there. None: none. A notification's deduplication_key takes
	// precedence: it stops the runs of this Trigger, Environment and service with that key.
	// +optional
	// +kubebuilder:default=Branch
	Supersede SupersedePolicy `json:"supersede,omitempty"`

	// maxConcurrentSuites bounds how many runs of this Trigger are active at once; others queue in
	// the order in which they were received. 0 means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxConcurrentSuites int32 `json:"maxConcurrentSuites,omitempty"`

	// inputs are files that are downloaded into the pod before the run starts.
	// +optional
	Inputs *Inputs `json:"inputs,omitempty"`

	// results keeps the files that the tests write, and counts the tests of the JUnit reports among them. {} is
	// enough. It needs an object store.
	// +optional
	Results *Results `json:"results,omitempty"`

	// shards is in how many pods a run is split, from 1 to 64. The jobTemplate describes one of them, and its backoffLimit
	// counts for each. Containers get POSTFLIGHT_SHARD_INDEX, POSTFLIGHT_SHARD_COUNT, and in POSTFLIGHT_SPLIT the path of a
	// program that picks the test files of the shard, balanced by what they took in the last runs.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Shards int32 `json:"shards,omitempty"`

	// failFast stops the other shards when one fails. The backoffLimit of the jobTemplate then counts for all
	// shards together. Without it, all run to their end.
	// +optional
	FailFast bool `json:"failFast,omitempty"`

	// ready makes runs wait for the version that was notified: until the workloads of the Environment have rolled it out,
	// and, if you ask for that, an HTTP server has it. {} is enough for the workloads.
	// +optional
	Ready *Ready `json:"ready,omitempty"`

	// timeout ends a run that takes longer, counted from the start of its first container, e.g. 90s, 30m or
	// 1h30m; from 1s to 168h. Defaults to 30m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="timeout must be from 1s to 168h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// startTimeout ends a run as Error whose tests do not start: no node has room, an image cannot be pulled, a
	// volume is missing, or a queueing system keeps the Job suspended. It counts from the creation of the Job;
	// from 1s to 168h. Defaults to 15m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="startTimeout must be from 1s to 168h"
	StartTimeout *metav1.Duration `json:"startTimeout,omitempty"`

	// retry repeats runs that the cluster ended, and not their tests. Without it, none is.
	// +optional
	Retry *Retry `json:"retry,omitempty"`

	// keepFailedPods is how long after its end a run that failed, timed out or ended as Error is kept with its Job and pods,
	// where retention.ttlAfterFinished is shorter, so that "postflight debug" can start a pod like them. From 1m, in which
	// somebody can look, to 24h, within which somebody has.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="keepFailedPods must be from 1m to 24h"
	KeepFailedPods *metav1.Duration `json:"keepFailedPods,omitempty"`

	// ephemeralEnvironmentTTL is how long after its last notification an ephemeral Environment that this Trigger
	// matched is deleted, with its runs; from 1m to 8760h.
	// +optional
	// +kubebuilder:default="168h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('8760h')",message="ephemeralEnvironmentTTL must be from 1m to 8760h"
	EphemeralEnvironmentTTL *metav1.Duration `json:"ephemeralEnvironmentTTL,omitempty"`

	// retention defines how long finished runs are kept.
	// +optional
	Retention Retention `json:"retention,omitempty"`

	// variables of every run of this Trigger; those of a notification override them.
	// +optional
	Variables Variables `json:"variables,omitempty"`

	// allowVariables are the only variables that a notification may set in a run of this Trigger:
	// names, or beginnings of names that end in "*", e.g. E2E_*. Left out: all that are not reserved;
	// an empty list: none. A reserved name stays refused. At most 64 entries of at most 256 bytes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*[*]?$'))",message="an entry of allowVariables is the name of a variable, or the beginning of one and '*', e.g. E2E_*"
	AllowVariables []string `json:"allowVariables,omitzero"`

	// jobTemplate is the Job of a run, merged over that of the triggerClassName. backoffLimit defaults to 0, restartPolicy to
	// Never and automountServiceAccountToken to false. "kubectl explain job" describes its fields.
	// +optional
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate,omitzero"`
}

// Retention defines how long finished runs are kept.
type Retention struct {
	// ttlAfterFinished is how long after its end a Suite is deleted, with its Job; 1s to 8760h.
	// Afterwards, a notification for its SHA is no duplicate any more. Defaults to 168h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="ttlAfterFinished must be from 1s to 8760h"
	TTLAfterFinished *metav1.Duration `json:"ttlAfterFinished,omitempty"`
}

// Trigger defines which notifications of the team start a run, and what the run is.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pftrig,categories=postflight
// +kubebuilder:printcolumn:name="Environment",type=string,JSONPath=`.spec.environment`
// +kubebuilder:printcolumn:name="Branches",type=string,JSONPath=`.spec.match.branches`
// +kubebuilder:printcolumn:name="Types",type=string,JSONPath=`.spec.match.deploymentTypes`
// +kubebuilder:printcolumn:name="Paused",type=boolean,JSONPath=`.spec.paused`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].message`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.activeSuites`
// +kubebuilder:printcolumn:name="Last",type=string,JSONPath=`.status.lastSuite.state`
// +kubebuilder:printcolumn:name="Schedule",type=string,priority=1,JSONPath=`.spec.schedule.cron`
// +kubebuilder:printcolumn:name="Next",type=string,priority=1,JSONPath=`.status.schedule.nextTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of a Trigger must be a DNS label: at most 63 of a-z, 0-9 and '-', no dots"
type Trigger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec TriggerSpec `json:"spec"`

	// +kubebuilder:default:={"observedGeneration":-1}
	Status TriggerStatus `json:"status,omitempty"`
}

// DefaultTTL is how long a finished Suite is kept if neither it nor its Trigger has a TTL.
const DefaultTTL = 7 * 24 * time.Hour

// The defaults of a Trigger. The schema has none of what a TriggerClass may set: the API server would store them in every Trigger.
const (
	defaultTimeout      = 30 * time.Minute
	defaultStartTimeout = 15 * time.Minute
	defaultEphemeralTTL = 7 * 24 * time.Hour // a pull request without a deployment for a week is finished
)

// RunTimeout is how long a run of the Trigger may take.
func (t *Trigger) RunTimeout() time.Duration { return positive(t.Spec.Timeout, defaultTimeout) }

// StartTimeout is how long the tests of a run may take to start. The Trigger may be nil.
func (t *Trigger) StartTimeout() time.Duration {
	if t == nil {
		return defaultStartTimeout
	}
	return positive(t.Spec.StartTimeout, defaultStartTimeout)
}

// FailedPodsTTL is how long the pods of a run that ended badly are kept at least; 0 if that is not said. The Trigger may be nil.
func (t *Trigger) FailedPodsTTL() time.Duration {
	if t == nil {
		return 0
	}
	return positive(t.Spec.KeepFailedPods, 0)
}

// SuiteTTL is how long an ended run is kept. The Trigger may be nil.
func (t *Trigger) SuiteTTL() time.Duration {
	if t == nil {
		return DefaultTTL
	}
	return positive(t.Spec.Retention.TTLAfterFinished, DefaultTTL)
}

// EphemeralTTL is how long an ephemeral Environment outlives its last notification.
func (t *Trigger) EphemeralTTL() time.Duration {
	return positive(t.Spec.EphemeralEnvironmentTTL, defaultEphemeralTTL)
}

func positive(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil || d.Duration <= 0 {
		return otherwise
	}
	return d.Duration
}

// TriggerList is a list of Triggers.
//
// +kubebuilder:object:root=true
type TriggerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Trigger `json:"items"`
}
