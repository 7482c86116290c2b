package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EventSourceType is the kind of a sender.
//
// +kubebuilder:validation:Enum=GitHub;GitLab;Flux
type EventSourceType string

const (
	// EventsOfGitHub are those of a GitHub App, a repository or an organization.
	EventsOfGitHub EventSourceType = "GitHub"
	// EventsOfGitLab are those of a project or a group.
	EventsOfGitLab EventSourceType = "GitLab"
	// EventsOfFlux are those of a Provider of the type generic-hmac.
	EventsOfFlux EventSourceType = "Flux"
)

// EventSourceSpec says which events start runs of the team.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'GitHub' || has(self.secret)",message="secret is missing: only events of the manager's GitHub App need none"
// +kubebuilder:validation:XValidation:rule="self.type == 'GitHub' || !has(self.deployments)",message="deployments can only be selected for the type GitHub: others do not say what made a deployment"
type EventSourceSpec struct {
	// type of the sender: GitHub, GitLab or Flux.
	// +required
	Type EventSourceType `json:"type"`

	// secret that the sender signs with. It is the value of a key of a Secret in this namespace, of at least 16 bytes,
	// that the manager was granted to read. Without it, which only GitHub allows, the events are those of the manager's
	// GitHub App, of repositories that spec.repositories of the Team lists.
	// +optional
	Secret *SecretKeyReference `json:"secret,omitempty"`

	// repositories whose events count: full names such as acme/shop, or beginnings that end in "/*" such as acme/*. By
	// default, those of all. A list leaves out events that name no repository.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*/([A-Za-z0-9._-]+|[*])$'))",message="an entry of repositories is a full name without its host such as acme/shop, or acme/*"
	Repositories []string `json:"repositories,omitempty"`

	// environments give the deployment type of a notification by the name of the environment in the event. Other names
	// are the deployment type as they are.
	// +optional
	// +listType=map
	// +listMapKey=event
	// +kubebuilder:validation:MaxItems=64
	Environments []EventEnvironment `json:"environments,omitempty"`

	// deployments of GitHub that count, by what made them. By default, all. Each job of GitHub Actions with an environment
	// makes a deployment, even if it only reads the secrets of the environment.
	// +optional
	Deployments *EventDeployments `json:"deployments,omitempty"`
}

// EventDeployments selects deployments of GitHub by what made them.
//
// +kubebuilder:validation:MinProperties=1
type EventDeployments struct {
	DeploymentMakers `json:",inline"`

	// exclude leaves out deployments that match one of its lists.
	// +optional
	Exclude *DeploymentMakers `json:"exclude,omitempty"`
}

// NamePatterns are names, or beginnings that end in "*".
//
// +listType=set
// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=64
// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:MaxLength=256
// +kubebuilder:validation:XValidation:rule="self.all(name, !name.contains('*') || name.indexOf('*') == name.size() - 1)",message="an entry is a name, or a beginning that ends in '*'"
type NamePatterns []string

// DeploymentMakers lists what makes deployments. Each entry is a name, compared exactly, or a beginning that ends in "*".
//
// +kubebuilder:validation:MinProperties=1
type DeploymentMakers struct {
	// workflows of GitHub Actions, by name such as Deploy, or by file such as deploy.yml.
	// +optional
	Workflows NamePatterns `json:"workflows,omitempty"`

	// jobs of GitHub Actions, by the name that GitHub shows, such as deploy, or "deploy (eu)" of a matrix.
	// +optional
	Jobs NamePatterns `json:"jobs,omitempty"`

	// tasks of deployments. GitHub Actions makes them with the task deploy; clients of the API of GitHub can name another.
	// +optional
	Tasks NamePatterns `json:"tasks,omitempty"`
}

// SecretKeyReference names a key of a Secret in the same namespace.
type SecretKeyReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// key of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key"`
}

// EventEnvironment is an environment of the sender.
type EventEnvironment struct {
	// event is its name in the event, compared exactly, e.g. Production.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Event string `json:"event"`

	// deploymentType that notifications of it have, e.g. production.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	DeploymentType string `json:"deploymentType"`
}

// EventSourceStatus is the observed state of the source.
type EventSourceStatus struct {
	// url is the path to which the sender posts events, below the public URL of Postflight.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	URL string `json:"url,omitempty"`

	// lastEventTime is when the last event with a valid signature was received. It is updated at most every ten minutes,
	// so a later event may not show yet.
	// +optional
	LastEventTime *metav1.Time `json:"lastEventTime,omitempty"`

	// conditions of the source; Ready is False if its events are refused, with the reason.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// EventSource lets events of a sender, such as a deployment on GitHub, start runs of the team that owns its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pfevents,categories=postflight
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`,description="True if events are accepted."
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].message`
// +kubebuilder:printcolumn:name="Last event",type=date,JSONPath=`.status.lastEventTime`,description="When the last event with a valid signature was received. It is updated at most every ten minutes, so a later event may not show yet."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of an EventSource must be a DNS label: at most 63 of a-z, 0-9 and '-', no dots"
type EventSource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   EventSourceSpec   `json:"spec"`
	Status EventSourceStatus `json:"status,omitempty"`
}

// OfApp reports whether the events are those of the manager's GitHub App.
func (e *EventSource) OfApp() bool { return e.Spec.Type == EventsOfGitHub && e.Spec.Secret == nil }

// EventSourceList is a list of EventSources.
//
// +kubebuilder:object:root=true
type EventSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EventSource `json:"items"`
}
