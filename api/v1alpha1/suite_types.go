package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SuiteSpec defines a run. Only cancel can change.
//
// +kubebuilder:validation:XValidation:rule="has(self.deployment) == has(oldSelf.deployment) && has(self.variables) == has(oldSelf.variables) && has(self.supersedeKey) == has(oldSelf.supersedeKey) && has(self.supersede) == has(oldSelf.supersede) && has(self.receivedAt) == has(oldSelf.receivedAt) && has(self.ttlAfterFinished) == has(oldSelf.ttlAfterFinished)",message="the spec of a Suite cannot change, but for cancel"
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

	// deployment is what was deployed, according to the notification.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	Deployment Deployment `json:"deployment,omitempty"`

	// variables of the notification; they override those of the Trigger and the Environment.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	Variables Variables `json:"variables,omitempty"`

	// supersedeKey names a stream of runs of this Trigger and Environment: a newer run of a stream
	// supersedes the older ones. If it is left out, supersede decides the stream.
	// +optional
	// +kubebuilder:validation:MaxLength=1100
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	SupersedeKey string `json:"supersedeKey,omitempty"`

	// supersede decides the stream of a run without a supersedeKey. Branch, the default: the stream of
	// its Trigger, Environment and branch, as if supersedeKey were branch/environment. Environment: the
	// stream of its Environment, which several Triggers can share. None: no stream, so that it
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

	// receivedAt is when the notification was received. Streams and queues are ordered by it. A time
	// later than the second of the Suite's creation, which is the default, counts as that second, and one
	// more than 65 seconds earlier counts as 65 seconds earlier. It has exactly six digits after the
	// second, e.g. 2026-11-20T18:00:00.000000Z.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	ReceivedAt *metav1.MicroTime `json:"receivedAt,omitempty"`

	// ttlAfterFinished is how long after its end the Suite is deleted, with its Job; 1s to 8760h. A
	// notification copies it from the Trigger, whose deletion or change then no longer matters.
	// Defaults to that of the Trigger, and to 168h if there is no Trigger.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="ttlAfterFinished must be from 1s to 8760h"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Suite cannot change, but for cancel"
	TTLAfterFinished *metav1.Duration `json:"ttlAfterFinished,omitempty"`

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

// Deployment is what was deployed, according to the notification. Every field is optional and as it was
// sent: do not trust it.
type Deployment struct {
	// branch as it was sent, at most 1,024 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Branch string `json:"branch,omitempty"`

	// sha of the commit, or any text that identifies the deployment, at most 128 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=128
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

	// repository that was deployed, as owner/name.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Repository string `json:"repository,omitempty"`

	// pullRequestNumber of the pull or merge request that was deployed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PullRequestNumber int64 `json:"pullRequestNumber,omitempty"`

	// pipelineID of the GitLab pipeline that the check of the run belongs to.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PipelineID int64 `json:"pipelineID,omitempty"`
}

// SuiteInput is a file that a run got.
type SuiteInput struct {
	// path of the file in the team's store, without the team's id.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`

	// etag of the file when the run started.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ETag string `json:"etag,omitempty"`

	// size of the file in bytes.
	// +optional
	Size int64 `json:"size,omitempty"`
}

// SuiteStatus is the observed state of the run.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.completionTime) || (has(self.completionTime) && has(self.supersededBy) == has(oldSelf.supersededBy) && (!has(self.supersededBy) || self.supersededBy == oldSelf.supersededBy))",message="a finished Suite never changes how it ended"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.supersededBy) || has(self.supersededBy)",message="a superseded Suite stays superseded"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.notifiedAgainAt) || has(self.notifiedAgainAt)",message="notifiedAgainAt never goes back"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.completionTime) && !has(oldSelf.supersededBy) || has(self.notifiedAgainAt) == has(oldSelf.notifiedAgainAt) && (!has(self.notifiedAgainAt) || self.notifiedAgainAt == oldSelf.notifiedAgainAt)",message="a Suite that has ended, or was superseded, is not notified again"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.completionTime) || (has(self.results) == has(oldSelf.results) && (!has(self.results) || self.results == oldSelf.results) && has(self.artifacts) == has(oldSelf.artifacts) && (!has(self.artifacts) || self.artifacts == oldSelf.artifacts))",message="the results of a finished Suite never change"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.completionTime) || (has(self.decidedBy) == has(oldSelf.decidedBy) && (!has(self.decidedBy) || self.decidedBy == oldSelf.decidedBy))",message="a finished Suite never changes what decided its end"
type SuiteStatus struct {
	// observedGeneration is the generation of the Suite that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions of the run. Succeeded is its state: Unknown (Queued, Starting, Running), True (Passed), or
	// False (Failed, TimedOut, Canceled, Superseded, Error). True and False never change. For tools that
	// use kstatus, Reconciling is True until the end, and Stalled after an end that is not Passed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="oldSelf.all(was, was.type != 'Succeeded' || was.status == 'Unknown' || self.exists(is, is.type == 'Succeeded' && is.status == was.status && is.reason == was.reason && is.message == was.message))",message="a finished Suite never changes how it ended"
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// startTime is when the tests of the run started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the run ended, in whatever state.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a finished Suite never changes how it ended"
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// decidedBy is what decided that the run passed or failed. Tests: the tests in its reports. Report: its reports, which may
	// list no test that ran. ExitCode: the exit codes of its containers alone. Other ends lack it.
	// +optional
	DecidedBy DecidedBy `json:"decidedBy,omitempty"`

	// jobName names the Job of the run.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	JobName string `json:"jobName,omitempty"`

	// podProblem is why a pod of the run cannot start, or how its container last exited before Kubernetes
	// restarted it, as a sentence. It stays when the pod is gone, so that the end of the run can explain it.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	PodProblem string `json:"podProblem,omitempty"`

	// supersededBy names the newest Suite that supersedes this one. It is set when the run is being stopped.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SupersededBy string `json:"supersededBy,omitempty"`

	// notifiedAgainAt is when a notification of the same deployment was last received while the run continued. A stream is
	// ordered by it: the run supersedes others that were notified in between. It has six digits after the second.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="notifiedAgainAt never goes back"
	NotifiedAgainAt *metav1.MicroTime `json:"notifiedAgainAt,omitempty"`

	// notifiedAgainBy is the Idempotency-Key of the notification that was received at notifiedAgainAt, if it had one: the same
	// key once more is the same notification, and changes nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	NotifiedAgainBy string `json:"notifiedAgainBy,omitempty"`

	// answeredOther is the last notification that was answered with this run although it was of another deployment of its
	// SHA: the result of the run says nothing about that one.
	// +optional
	AnsweredOther *OtherDeployment `json:"answeredOther,omitempty"`

	// inputs are the files that the run got.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=64
	Inputs []SuiteInput `json:"inputs,omitempty"`

	// results of the tests, from the JUnit reports of the run. Runs without such a report lack them.
	// +optional
	Results *TestResults `json:"results,omitempty"`

	// artifacts are the files that the tests wrote and that were kept. Runs that keep none lack them.
	// +optional
	Artifacts *Artifacts `json:"artifacts,omitempty"`

	// report is what was last posted to the code host about the run. Runs that are not reported lack it.
	// +optional
	Report *SuiteReport `json:"report,omitempty"`

	// deliveries are what receivers were told about the run: webhooks of its Team, and the chat of its Trigger.
	// Runs about which nobody is told lack them.
	// +optional
	// +listType=map
	// +listMapKey=receiver
	// +kubebuilder:validation:MaxItems=16
	Deliveries []Delivery `json:"deliveries,omitempty"`
}

// Difference is what distinguishes two deployments of one SHA.
//
// +kubebuilder:validation:Enum=DeploymentURL;Variables;Inputs;InputsUnknown
type Difference string

// The differences.
const (
	DifferentURL       Difference = "DeploymentURL"
	DifferentVariables Difference = "Variables"
	DifferentInputs    Difference = "Inputs"        // a file that the run got was uploaded again or deleted
	UnknownInputs      Difference = "InputsUnknown" // the store could not say whether one was
)

// OtherDeployment is a notification of another deployment of a run's SHA.
type OtherDeployment struct {
	// notifiedAt is when the notification was received.
	// +required
	NotifiedAt metav1.Time `json:"notifiedAt"`

	// url is the deployment_url of the notification.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`

	// differs is what distinguishes that deployment from the one that the run tests.
	// +required
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	Differs []Difference `json:"differs"`
}

// DecidedBy is what decided that a run passed or failed.
//
// +kubebuilder:validation:Enum=Tests;Report;ExitCode
type DecidedBy string

// What may decide.
const (
	DecidedByTests    DecidedBy = "Tests"
	DecidedByReport   DecidedBy = "Report"
	DecidedByExitCode DecidedBy = "ExitCode"
)

// TestResults count the tests of a run.
type TestResults struct {
	// tests that the reports list: the sum of passed, failed and skipped.
	// +required
	// +kubebuilder:validation:Minimum=0
	Tests int32 `json:"tests"`

	// passed tests, flaky ones included.
	// +required
	// +kubebuilder:validation:Minimum=0
	Passed int32 `json:"passed"`

	// failed tests.
	// +required
	// +kubebuilder:validation:Minimum=0
	Failed int32 `json:"failed"`

	// skipped tests.
	// +required
	// +kubebuilder:validation:Minimum=0
	Skipped int32 `json:"skipped"`

	// flaky tests: they failed, were repeated, and passed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Flaky int32 `json:"flaky,omitempty"`

	// duration of all tests together, in whole milliseconds, which is longer than that of the run if they run in parallel.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="duration must be one that Go can read"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// comparedWith names the run that the failures are compared with: the last finished one of the same
	// Trigger and Environment that had results. Empty: there was none, or it could not be read.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ComparedWith string `json:"comparedWith,omitempty"`

	// newFailures are failed tests that did not fail in the run compared with.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NewFailures int32 `json:"newFailures,omitempty"`

	// knownFailures are failed tests that failed there, too.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KnownFailures int32 `json:"knownFailures,omitempty"`

	// fixed tests failed there, and passed in this run.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Fixed int32 `json:"fixed,omitempty"`

	// failures are the first failed tests, new ones first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Failures []TestFailure `json:"failures,omitempty"`

	// flakyTests are the names of the first flaky tests, each at most 512 bytes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:MaxLength=512
	FlakyTests []string `json:"flakyTests,omitempty"`
}

// TestFailure is a test that failed.
type TestFailure struct {
	// name of the test, with that of its class or file if the report has one, at most 512 bytes.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name"`

	// file that the report names, at most 512 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	File string `json:"file,omitempty"`

	// line of the file, from 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Line int32 `json:"line,omitempty"`

	// message of the failure: its first line, at most 1,024 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// history says whether the test failed in the run compared with, too. Empty: that is unknown.
	// +optional
	History FailureHistory `json:"history,omitempty"`
}

// FailureHistory says whether a test failed before.
//
// +kubebuilder:validation:Enum=New;Known
type FailureHistory string

// The histories of a failure.
const (
	FailureNew   FailureHistory = "New"
	FailureKnown FailureHistory = "Known"
)

// Artifacts are the files of a run in the object store.
type Artifacts struct {
	// count of the files.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`

	// bytes of all files together.
	// +required
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes"`

	// prefix of their keys in the bucket, which starts with the team's id.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Prefix string `json:"prefix"`
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

// SuiteList is a list of Suites.
//
// +kubebuilder:object:root=true
type SuiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Suite `json:"items"`
}
