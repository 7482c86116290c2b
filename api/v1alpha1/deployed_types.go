package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Deployed is what an Environment has of a repository, or of one service of it.
type Deployed struct {
	// repository as owner/name; empty if neither notifications nor workloads name one.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Repository string `json:"repository,omitempty"`

	// service of the repository, if this is one of several; empty: the whole repository.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Service string `json:"service,omitempty"`

	// sha of the commit, or other text that identifies the deployment. Empty if workloads that belong together have several.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	SHA string `json:"sha,omitempty"`

	// branch of the commit, if that is known.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Branch string `json:"branch,omitempty"`

	// deploymentType, if that is known.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	DeploymentType string `json:"deploymentType,omitempty"`

	// url is the deployment URL of a preview, if nothing of the repository is known to be at the url of the Environment. It is empty if the
	// Environment has no url.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`

	// since is when this commit was reported first: the receipt of its notification, or when the rollout was seen complete.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// reportedBy is Notification or Workload.
	// +optional
	ReportedBy DeploymentReporter `json:"reportedBy,omitempty"`

	// notification says whether the Triggers of the Environment were notified of this commit, because its workloads have notify: Pending
	// or Sent.
	// +optional
	Notification RolloutNotification `json:"notification,omitempty"`

	// previous is what was deployed before.
	// +optional
	Previous *PreviousDeployment `json:"previous,omitempty"`

	// ready is whether all workloads have rolled out this commit; absent without workloads.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// message says what is missing, as a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// workloads that have the code, at most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Workloads []DeployedWorkload `json:"workloads,omitempty"`
}

// DeploymentReporter says who reported a deployment.
//
// +kubebuilder:validation:Enum=Notification;Workload
type DeploymentReporter string

// The reporters.
const (
	ReportedByNotification DeploymentReporter = "Notification"
	ReportedByWorkload     DeploymentReporter = "Workload"
)

// RolloutNotification is how far the notification of a rollout is.
//
// +kubebuilder:validation:Enum=Pending;Sent
type RolloutNotification string

// The states of a notification.
const (
	NotificationPending RolloutNotification = "Pending"
	NotificationSent    RolloutNotification = "Sent"
)

// PreviousDeployment is what was deployed before something else.
type PreviousDeployment struct {
	// sha of the commit.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	SHA string `json:"sha,omitempty"`

	// since is when it was reported first.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// EarlierDeployment is what an Environment had of a repository until something else was deployed.
type EarlierDeployment struct {
	// repository as owner/name; empty if none was named.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Repository string `json:"repository,omitempty"`

	// service of the repository, if this is one of several; empty: the whole repository.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Service string `json:"service,omitempty"`

	// sha of the commit. Empty if workloads that belong together had several.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	SHA string `json:"sha,omitempty"`

	// branch of the commit, if that was known.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Branch string `json:"branch,omitempty"`

	// deploymentType, if that was known.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	DeploymentType string `json:"deploymentType,omitempty"`

	// since is when it was reported first.
	// +required
	Since metav1.Time `json:"since"`

	// reportedBy is Notification or Workload.
	// +optional
	ReportedBy DeploymentReporter `json:"reportedBy,omitempty"`

	// unknown says that this stands for several deployments, which were too many to keep until the store took them.
	// +optional
	Unknown bool `json:"unknown,omitempty"`
}

// DeployedWorkload is an object that runs in an Environment, as it was seen last.
type DeployedWorkload struct {
	// kind of the object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// namespace of the object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// uid of the object.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// revision of the object, in the words of its kind.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Revision string `json:"revision,omitempty"`

	// sha that the object names, whether it is rolled out or not.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	SHA string `json:"sha,omitempty"`

	// digests of the images that its pods ran when the rollout was complete, by container.
	// +optional
	// +listType=map
	// +listMapKey=container
	// +kubebuilder:validation:MaxItems=16
	Digests []ImageDigest `json:"digests,omitempty"`

	// ready is whether the rollout of the revision is complete.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// message says how far the rollout is, or what is wrong with the object.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// ImageDigest is what a container ran.
type ImageDigest struct {
	// container is its name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container"`

	// digest of its image, such as sha256:9c1d...
	// +required
	// +kubebuilder:validation:MaxLength=256
	Digest string `json:"digest"`
}
