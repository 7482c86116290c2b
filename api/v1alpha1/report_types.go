package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReportPhase is how far the code host knows a run. It only moves forward.
//
// +kubebuilder:validation:Enum=Queued;InProgress;Completed
type ReportPhase string

// The phases of a report.
const (
	ReportQueued     ReportPhase = "Queued"
	ReportInProgress ReportPhase = "InProgress"
	ReportCompleted  ReportPhase = "Completed"
)

// SuiteReport is what was last posted about a run.
type SuiteReport struct {
	// hostingService that it was posted to.
	// +required
	HostingService HostingService `json:"hostingService"`

	// repository that it was posted to.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Repository string `json:"repository"`

	// phase that the check shows. Without it, there is no check yet.
	// +optional
	Phase ReportPhase `json:"phase,omitempty"`

	// checkID is the number of the check run on GitHub. A commit status has none.
	// +optional
	CheckID int64 `json:"checkID,omitempty"`

	// deployment of the commit to the Environment, if the Trigger's spec.repository.deployments asks for it.
	// +optional
	Deployment *DeploymentReport `json:"deployment,omitempty"`

	// pullRequest of the commit, if the Trigger's spec.repository.pullRequestComments asks for it.
	// +optional
	PullRequest *PullRequestReport `json:"pullRequest,omitempty"`
}

// DeploymentReport is what was last posted about a deployment.
type DeploymentReport struct {
	// id of the deployment on the code host.
	// +optional
	ID int64 `json:"id,omitempty"`

	// phase of the run that the deployment shows.
	// +optional
	Phase ReportPhase `json:"phase,omitempty"`

	// problem is why the code host did not accept the last post; empty if it did.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Problem string `json:"problem,omitempty"`
}

// PullRequestReport is a pull or merge request, and what was last posted there.
type PullRequestReport struct {
	// number of the pull request; 0 if the commit belongs to none.
	// +optional
	Number int64 `json:"number,omitempty"`

	// url of its page.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url,omitempty"`

	// commentID is the number of the comment on the code host.
	// +optional
	CommentID int64 `json:"commentID,omitempty"`

	// phase of the run that the comment shows.
	// +optional
	Phase ReportPhase `json:"phase,omitempty"`

	// answered is the number of the comment with a command whose answer on this run the comment shows.
	// +optional
	Answered int64 `json:"answered,omitempty"`

	// problem is why the code host did not accept the last post; empty if it did.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Problem string `json:"problem,omitempty"`
}

// The reasons of ConditionReported.
const (
	ReasonPosted          = "Posted"          // the code host shows how the run ended
	ReasonPending         = "Pending"         // the run continues, or its outcome is still to be posted
	ReasonNotConfigured   = "NotConfigured"   // nothing says where to post
	ReasonNoCommit        = "NoCommit"        // the notification has no full SHA
	ReasonOtherRepository = "OtherRepository" // the notification is about another repository than the Trigger's
	ReasonNewerAttempt    = "NewerAttempt"    // another run of the commit reports now
	ReasonReportFailed    = "Failed"          // the code host did not accept it, or could not be asked
)

// Reported is a run whose outcome the code host shows.
func Reported(message string) metav1.Condition {
	return condition(ConditionReported, metav1.ConditionTrue, ReasonPosted, message)
}

// ReportPending is a run whose outcome is still to be posted.
func ReportPending(message string) metav1.Condition {
	return condition(ConditionReported, metav1.ConditionUnknown, ReasonPending, message)
}

// NotReported is why the code host does not show the outcome of a run.
func NotReported(reason, message string) metav1.Condition {
	return condition(ConditionReported, metav1.ConditionFalse, reason, message)
}
