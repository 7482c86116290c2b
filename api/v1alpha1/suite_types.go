package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SuiteSpec defines a run. Only cancel can change.
//
// +kubebuilder:validation:XValidation:rule="has(self.deployment) == has(oldSelf.deployment) && has(self.variables) == has(oldSelf.variables) && has(self.siblings) == has(oldSelf.siblings) && has(self.supersedeKey) == has(oldSelf.supersedeKey) && has(self.supersede) == has(oldSelf.supersede) && has(self.receivedAt) == has(oldSelf.receivedAt) && has(self.ttlAfterFinished) == has(oldSelf.ttlAfterFinished) && has(self.onlyFailedOf) == has(oldSelf.onlyFailedOf) && has(self.origin) == has(oldSelf.origin) && has(self.deployedAt) == has(oldSelf.deployedAt) && has(self.environmentUID) == has(oldSelf.environmentUID)",message="the spec of a Suite cannot change, but for cancel"
// +kubebuilder:validation:XValidation:rule="!has(self.onlyFailedOf) || !has(self.origin) || self.origin == 'Rerun'",message="only a run of origin Rerun repeats the failed tests of another one"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cancel) || !oldSelf.cancel || (has(self.cancel) && self.cancel)",message="cancel cannot be taken back; notify again, or create another Suite"
type SuiteSpec struct {
	// trigger defines the run.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	Trigger TriggerReference `json:"trigger"`

	// environment names the Environment that is tested.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	Environment string `json:"environment"`

	// environmentUID is the uid of the Environment when the run was requested. Another Environment of that name is another place. If it is
	// empty, the uid is not compared.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	EnvironmentUID types.UID `json:"environmentUID,omitempty"`

	// origin is who asked for the run. Notification: a client, such as a CI pipeline. Rollout: the workloads of the Environment.
	// Event: a code host or a GitOps controller. Schedule: the schedule of the Trigger. Rerun: a person. Retry: the manager, after an
	// Error. Repetition: the manager, after an Inconclusive run. Manual: the author of the Suite. Schedule, Rerun, Retry and Repetition are no
	// deployments, and supersede nothing. If it is empty, annotations of earlier versions decide, or else it is Manual.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	Origin Origin `json:"origin,omitempty"`

	// deployment is what was deployed, according to the notification.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	Deployment Deployment `json:"deployment,omitempty"`

	// variables of the notification; they override those of the Trigger and the Environment.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	Variables Variables `json:"variables,omitempty"`

	// siblings are the other Triggers of the Environment that matched the same notification, by name: a gate waits for their runs, too. At
	// most 50; of more, the first by name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	Siblings []string `json:"siblings,omitempty"`

	// supersedeKey names a stream of runs of this Trigger, Environment and service: a newer run of a
	// stream supersedes the older ones. If it is left out, supersede decides the stream.
	// +optional
	// +kubebuilder:validation:MaxLength=1100
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	SupersedeKey string `json:"supersedeKey,omitempty"`

	// supersede decides the stream of a run without a supersedeKey. Branch, the default: the stream of
	// its Trigger, Environment, service and branch, as if supersedeKey were branch/environment. Environment: the
	// stream of its Environment and service, which several Triggers can share. None: no stream, so that it
	// supersedes no run and no run supersedes it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	Supersede SupersedePolicy `json:"supersede,omitempty"`

	// attempt counts the runs of one SHA, from 1 to 1,000,000.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	Attempt int32 `json:"attempt,omitempty"`

	// receivedAt is when the notification was received. Queues are ordered by it. A time
	// later than the second of the Suite's creation, which is the default, counts as that second, and one
	// more than 65 seconds earlier counts as 65 seconds earlier. It has exactly six digits after the
	// second, e.g. 2026-11-20T18:00:00.000000Z.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	ReceivedAt *metav1.MicroTime `json:"receivedAt,omitempty"`

	// deployedAt is when the tested commit was deployed, if that was before receivedAt. Streams are ordered by it. Defaults to receivedAt,
	// which also replaces a time after the second of the Suite's creation. It has exactly six digits after the second.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	DeployedAt *metav1.MicroTime `json:"deployedAt,omitempty"`

	// ttlAfterFinished is how long after its end the Suite is deleted, with its Job; 1s to 8760h. A
	// notification copies it from the Trigger, whose deletion or change then no longer matters.
	// Defaults to the value of the Trigger, and to 168h if there is no Trigger.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="ttlAfterFinished must be from 1s to 8760h"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	TTLAfterFinished *metav1.Duration `json:"ttlAfterFinished,omitempty"`

	// onlyFailedOf is the run of the same commit, Trigger and Environment whose failed tests this one repeats, and only these. It passes only
	// if it and that run together show that every test passed under one version. Runs without it run all tests.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	OnlyFailedOf *RunReference `json:"onlyFailedOf,omitempty"`

	// cancel stops the run. It cannot be undone.
	// +optional
	Cancel bool `json:"cancel,omitempty"`
}

// TriggerReference names a Trigger of the same namespace.
type TriggerReference struct {
	// name of the Trigger.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// uid of the Trigger. If it is left out, any Trigger of that name will do.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid,omitempty"`
}

// RunReference names a Suite of the same namespace.
type RunReference struct {
	// name of the Suite.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// uid of the Suite: a later one of that name is another run.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid"`
}

// Deployment is what was deployed, according to the notification. Every field is optional and as it was
// sent: do not trust it.
type Deployment struct {
	// branch as it was sent, at most 1,024 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Branch string `json:"branch,omitempty"`

	// sha of the commit, or any text that identifies the deployment, at most 128 bytes. The full SHA of a commit, of 40 or 64
	// hexadecimal digits, must be in lower case.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self == self.lowerAscii() || !self.matches('^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$')",message="the full SHA of a commit must be in lower case: write its letters as a to f"
	SHA string `json:"sha,omitempty"`

	// type of the deployment, e.g. staging.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Type string `json:"type,omitempty"`

	// url of the deployment, at most 2,048 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`

	// hostingService that the commit is on.
	// +optional
	HostingService HostingService `json:"hostingService,omitempty"`

	// commitURL links to the commit if no repository is configured, at most 2,048 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	CommitURL string `json:"commitURL,omitempty"`

	// commitMessage is the first line of the message of the commit, at most 256 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	CommitMessage string `json:"commitMessage,omitempty"`

	// commitAuthor is the name of who wrote the commit, at most 256 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	CommitAuthor string `json:"commitAuthor,omitempty"`

	// repository that was deployed, as owner/name.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Repository string `json:"repository,omitempty"`

	// service of the repository that was deployed, such as cart; at most 128 bytes. Empty: the whole repository.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Service string `json:"service,omitempty"`

	// pullRequestNumber of the pull or merge request that was deployed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PullRequestNumber int64 `json:"pullRequestNumber,omitempty"`

	// pipelineID of the GitLab pipeline that the check of the run belongs to.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PipelineID int64 `json:"pipelineID,omitempty"`
}

// Suite is one run of a Trigger's tests against a deployment. Its name is the suite id.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pfs,categories=postflight
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[?(@.type=='Succeeded')].reason`
// +kubebuilder:printcolumn:name="Environment",type=string,JSONPath=`.spec.environment`
// +kubebuilder:printcolumn:name="Branch",type=string,JSONPath=`.spec.deployment.branch`
// +kubebuilder:printcolumn:name="SHA",type=string,JSONPath=`.metadata.labels.postflight\.dev/short-sha`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Tests",type=integer,priority=1,JSONPath=`.status.results.tests`
// +kubebuilder:printcolumn:name="Failed",type=integer,priority=1,JSONPath=`.status.results.failed`
// +kubebuilder:printcolumn:name="New",type=integer,priority=1,JSONPath=`.status.results.newFailures`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Succeeded')].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$')",message="the name of a Suite must be a DNS label of at most 52 characters: a-z, 0-9 and '-', no dots"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.conditions) || (has(self.status) && has(self.status.conditions))",message="the conditions of a Suite cannot be taken away"
type Suite struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec SuiteSpec `json:"spec"`

	// +kubebuilder:default:={"observedGeneration":-1}
	Status SuiteStatus `json:"status,omitempty"`
}

// IsOf reports whether a Trigger defines the run. A Trigger that was created again under the same name does not, nor does nil.
func (s *Suite) IsOf(t *Trigger) bool {
	of := s.Spec.Trigger
	return t != nil && of.Name == t.Name && (of.UID == "" || of.UID == t.UID)
}

// SameTest reports whether two runs are of the same test, as people see it: a Trigger that was created again under its name keeps its
// checks and its history. Each service of a repository has its own.
func (s *Suite) SameTest(other *Suite) bool {
	return s.Spec.Trigger.Name == other.Spec.Trigger.Name && s.Spec.Environment == other.Spec.Environment &&
		s.Spec.Deployment.Service == other.Spec.Deployment.Service
}

// TestName is what people call a test: the name of its Trigger, and of the service if it has one.
func TestName(trigger, service string) string { return strings.TrimSpace(trigger + " " + service) }

// SuiteList is a list of Suites.
//
// +kubebuilder:object:root=true
type SuiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Suite `json:"items"`
}
