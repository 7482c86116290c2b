package v1alpha1

// PullRequestPolicy decides whether deployments of pull requests match.
//
// +kubebuilder:validation:Enum=Only;Never
type PullRequestPolicy string

const (
	// PullRequestOnly matches nothing else.
	PullRequestOnly PullRequestPolicy = "Only"
	// PullRequestNever matches everything else.
	PullRequestNever PullRequestPolicy = "Never"
)

// TriggerMatch is a set of conditions. A condition that is left out always holds. A condition on a field
// that is missing from the notification fails.
type TriggerMatch struct {
	// branches are case-sensitive globs (* within a path segment, ** across them). One must match, and
	// no glob after "!" may, in any order. "refs/heads/" is stripped first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Branches []string `json:"branches,omitempty"`

	// deploymentTypes: deployment_type must be one of them, exactly. Set them if the team has several Environments.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	DeploymentTypes []string `json:"deploymentTypes,omitempty"`

	// repositories: the notification's repository must be one of them, as owner/name. Case does not matter, as on GitHub and GitLab.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Repositories []string `json:"repositories,omitempty"`

	// services: the notification's service must be one of them, exactly.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^\S(.*\S)?$`
	Services []string `json:"services,omitempty"`

	// pullRequest says whether the deployment of a pull request or merge request starts a run. Only:
	// nothing else does. Never: everything else does. Left out: both do. A notification with a
	// pull_request_number or a merge_request_number is of a pull request.
	// +optional
	PullRequest PullRequestPolicy `json:"pullRequest,omitempty"`

	// expression is a CEL expression over `notification` that must be true, e.g.
	// notification.variables['region'] == 'eu'. If it does not compile, the Trigger's Ready condition
	// is False, and the Trigger matches nothing.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression,omitempty"`
}
