package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SuiteStatus is the observed state of the run.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.completionTime) || (has(self.completionTime) && has(self.supersededBy) == has(oldSelf.supersededBy) && (!has(self.supersededBy) || self.supersededBy == oldSelf.supersededBy))",message="a finished Suite never changes how it ended"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.supersededBy) || has(self.supersededBy)",message="a superseded Suite stays superseded"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.notifiedAgainAt) || has(self.notifiedAgainAt)",message="notifiedAgainAt never goes back"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.completionTime) && !has(oldSelf.supersededBy) && !has(oldSelf.repeatedBy) || has(self.notifiedAgainAt) == has(oldSelf.notifiedAgainAt) && (!has(self.notifiedAgainAt) || self.notifiedAgainAt == oldSelf.notifiedAgainAt)",message="a Suite that has ended, was superseded, or is repeated, is not notified again"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.completionTime) || (has(self.results) == has(oldSelf.results) && (!has(self.results) || self.results == oldSelf.results) && has(self.artifacts) == has(oldSelf.artifacts) && (!has(self.artifacts) || self.artifacts == oldSelf.artifacts))",message="the results of a finished Suite never change"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.completionTime) || (has(self.underTest) == has(oldSelf.underTest) && (!has(self.underTest) || self.underTest == oldSelf.underTest) && has(self.repeatedBy) == has(oldSelf.repeatedBy) && (!has(self.repeatedBy) || self.repeatedBy == oldSelf.repeatedBy))",message="what a finished Suite tested never changes"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.completionTime) || (has(self.decidedBy) == has(oldSelf.decidedBy) && (!has(self.decidedBy) || self.decidedBy == oldSelf.decidedBy))",message="a finished Suite never changes what decided its end"
type SuiteStatus struct {
	// observedGeneration is the generation of the Suite that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions of the run. Succeeded is its state: Unknown (Queued, Starting, Running), True (Passed), or False (any other end, such as
	// Failed). True and False never change. For tools that use kstatus, Reconciling is True until the end, and Stalled after an end that is
	// not Passed.
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

	// podsKeptUntil is until when the Suite is kept with its Job and pods at least, as keepFailedPods of its Trigger said when the
	// run ended. Other runs lack it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a finished Suite never changes how it ended"
	PodsKeptUntil *metav1.Time `json:"podsKeptUntil,omitempty"`

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

	// notifiedAgainBy is the last Idempotency-Key of the notifications that found this run. foundBy has digests of the earlier ones.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	NotifiedAgainBy string `json:"notifiedAgainBy,omitempty"`

	// answeredOther is the last notification that was answered with this run although it was of another deployment of its
	// SHA: the result of the run says nothing about that one.
	// +optional
	AnsweredOther *OtherDeployment `json:"answeredOther,omitempty"`

	// answeredAgainAt is when a notification was last answered with the result of this run, such as after a rollback. It counts as a
	// deployment. It has six digits after the second.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`
	AnsweredAgainAt *metav1.MicroTime `json:"answeredAgainAt,omitempty"`

	// deploymentsReadAt is when the manager wrote this, to be sure to know all deployments from before it. A run that is about to pass has it,
	// until it ends. It has six digits after the second.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`
	DeploymentsReadAt *metav1.MicroTime `json:"deploymentsReadAt,omitempty"`

	// foundBy has the last 64 deployments that found this run, in the order of their times.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	FoundBy []FoundBy `json:"foundBy,omitempty"`

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

	// underTest is what the Environment had while the tests ran. Runs in an Environment without workloads lack it.
	// +optional
	UnderTest *UnderTest `json:"underTest,omitempty"`

	// repeatedBy is the run that repeats this one, which is Inconclusive, or ended as Error and is retried.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RepeatedBy string `json:"repeatedBy,omitempty"`

	// report is what was last posted to the code host about the run. Runs that are not reported lack it.
	// +optional
	Report *SuiteReport `json:"report,omitempty"`

	// deliveries are what was sent about the run to the webhooks of its Team and the chat of its Trigger. Runs about which nothing
	// was sent lack them.
	// +optional
	// +listType=map
	// +listMapKey=receiver
	// +kubebuilder:validation:MaxItems=16
	Deliveries []Delivery `json:"deliveries,omitempty"`
}

// Difference is what distinguishes two deployments of one SHA.
//
// +kubebuilder:validation:Enum=DeploymentURL;Variables;Inputs;InputsUnknown;Repository;Environment
type Difference string

// The differences.
const (
	DifferentURL       Difference = "DeploymentURL"
	DifferentVariables Difference = "Variables"
	DifferentInputs    Difference = "Inputs"        // a file that the run got was uploaded again or deleted
	UnknownInputs      Difference = "InputsUnknown" // the store could not say whether one was

	DifferentRepository  Difference = "Repository"  // the run was of a deployment of another repository
	DifferentEnvironment Difference = "Environment" // it was deleted and created again
)

// FoundBy is a deployment of a commit that has a run already.
type FoundBy struct {
	// at is when it happened, with six digits after the second.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`
	At metav1.MicroTime `json:"at"`

	// key is a digest of the Idempotency-Key: the same key once more is the same notification, and no deployment.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key,omitempty"`

	// url is the deployment URL of the notification. It is empty if the notification had none: then the url of the Environment counts.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
}

// OtherDeployment is a notification of another deployment of a run's SHA.
type OtherDeployment struct {
	// notifiedAt is when the notification was received.
	// +required
	NotifiedAt metav1.Time `json:"notifiedAt"`

	// url is the deployment_url of the notification.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`

	// differs is what distinguishes that deployment from the deployment that the run tests.
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
