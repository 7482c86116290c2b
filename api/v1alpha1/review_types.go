package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeploymentReviewSpec is a deployment that waits on a code host. It never changes.
//
// +kubebuilder:validation:XValidation:rule="has(self.runID) || has(self.deploymentID)",message="a review needs runID or deploymentID: without them, it is not known what waits"
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a DeploymentReview cannot change"
type DeploymentReviewSpec struct {
	// gate is the DeploymentGate that answers. If several gates have the deployment, all of them must agree, and this is the first by name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Gate string `json:"gate"`

	// source is the EventSource whose code host asks.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Source string `json:"source"`

	// contested is true if gates of several teams have the deployment. It is rejected, because one of them could approve what another would
	// not.
	// +optional
	Contested bool `json:"contested,omitempty"`

	// hostingService that asks.
	// +required
	HostingService HostingService `json:"hostingService"`

	// repository whose deployment waits, as owner/name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Repository string `json:"repository"`

	// environment of the code host to which the commit is to be deployed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Environment string `json:"environment"`

	// sha of the commit that is to be deployed; empty if the question does not name it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	SHA string `json:"sha,omitempty"`

	// branch or tag, as the code host names it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Branch string `json:"branch,omitempty"`

	// runID of the workflow of GitHub Actions that waits.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RunID int64 `json:"runID,omitempty"`

	// deploymentID of the deployment on the code host. GitHub and GitLab make another one when the deployment is tried again.
	// +optional
	// +kubebuilder:validation:Minimum=1
	DeploymentID int64 `json:"deploymentID,omitempty"`

	// installationID of the GitHub App that was asked.
	// +optional
	// +kubebuilder:validation:Minimum=1
	InstallationID int64 `json:"installationID,omitempty"`

	// requestedBy is the person whose deployment waits, as the code host names it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	RequestedBy string `json:"requestedBy,omitempty"`
}

// ReviewState is a decision about a deployment.
//
// +kubebuilder:validation:Enum=Approved;Rejected
type ReviewState string

// The decisions.
const (
	ReviewApproved ReviewState = "Approved"
	ReviewRejected ReviewState = "Rejected"
)

// ReviewDecision is what the code host is told. It is stored before it is sent.
type ReviewDecision struct {
	// state is Approved or Rejected.
	// +required
	State ReviewState `json:"state"`

	// verdict of the commit at that time: passed, failed, running, none, stale or withdrawn. Empty: something else decided.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Verdict string `json:"verdict,omitempty"`

	// message is the reason, as one sentence.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`

	// comment on the code host, in Markdown.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Comment string `json:"comment,omitempty"`

	// time of the decision.
	// +required
	Time metav1.Time `json:"time"`
}

// DeploymentReviewStatus is how far a review is.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.decision) || has(self.decision)",message="a decision cannot be taken back"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.deliveredTime) || has(self.deliveredTime)",message="a review does not begin again"
type DeploymentReviewStatus struct {
	// decision of the gate; absent while it waits. An approval can become a rejection until it was sent, if the verdict was withdrawn
	// meanwhile. A rejection never changes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="oldSelf.state == 'Approved' || self == oldSelf",message="a rejection never changes"
	Decision *ReviewDecision `json:"decision,omitempty"`

	// attempts to send the decision. An attempt is counted before it is made.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempts int32 `json:"attempts,omitempty"`

	// reports without a decision that the code host got. GitHub takes ten.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Reports int32 `json:"reports,omitempty"`

	// lastReport is the sentence of the last of them.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LastReport string `json:"lastReport,omitempty"`

	// deliveredTime is when the code host took the decision, or no longer waited for one.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a decision is delivered once"
	DeliveredTime *metav1.Time `json:"deliveredTime,omitempty"`

	// conditions: Decided is Unknown while the gate waits, True from its decision on, with the reason Approved or Rejected, and False if the
	// code host waited for none any more. Delivered is True once the code host has the decision, and False with a message while it does
	// not take it.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// The conditions of a DeploymentReview.
const (
	ConditionDecided   = "Decided"
	ConditionDelivered = "Delivered"
)

// Ended reports whether nothing is left to do for a review.
func (r *DeploymentReview) Ended() bool { return r.Status.DeliveredTime != nil }

// DeploymentReview is a question of a code host whether a deployment may begin, and the answer. The manager creates it when the question
// comes, and deletes it a week after the answer.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pfreview,categories=postflight
// +kubebuilder:printcolumn:name="Gate",type=string,JSONPath=`.spec.gate`
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.repository`
// +kubebuilder:printcolumn:name="Environment",type=string,JSONPath=`.spec.environment`
// +kubebuilder:printcolumn:name="SHA",type=string,JSONPath=`.spec.sha`,priority=1
// +kubebuilder:printcolumn:name="Decision",type=string,JSONPath=`.status.decision.state`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.decision.verdict`
// +kubebuilder:printcolumn:name="Delivered",type=string,JSONPath=`.status.conditions[?(@.type=='Delivered')].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.decision.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DeploymentReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   DeploymentReviewSpec   `json:"spec"`
	Status DeploymentReviewStatus `json:"status,omitempty"`
}

// DeploymentReviewList is a list of DeploymentReviews.
//
// +kubebuilder:object:root=true
type DeploymentReviewList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeploymentReview `json:"items"`
}
