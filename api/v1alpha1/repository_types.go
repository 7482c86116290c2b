package v1alpha1

// HostingService is a code host.
//
// +kubebuilder:validation:Enum=GitHub;GitLab
type HostingService string

const (
	// GitHub is github.com or a GitHub Enterprise Server.
	GitHub HostingService = "GitHub"
	// GitLab is gitlab.com or a self-managed GitLab.
	GitLab HostingService = "GitLab"
)

// Repository is a repository on a code host, and the credentials to post there.
//
// +kubebuilder:validation:XValidation:rule="(has(self.hostingService) && self.hostingService == 'GitLab') || self.name.split('/').size() == 2",message="name of a repository on GitHub is owner/name"
type Repository struct {
	// hostingService is GitHub or GitLab.
	// +optional
	// +kubebuilder:default=GitHub
	HostingService HostingService `json:"hostingService,omitempty"`

	// name is the full name, e.g. acme/shop or group/subgroup/project.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(s, s == '.' || s == '..')",message="name must be the full name of a repository, without . and .. segments"
	Name string `json:"name"`

	// credentials to post checks with. Without them, the manager uses its own, if it has any and the Team's
	// spec.repositories allows it.
	// +optional
	Credentials *RepositoryCredentials `json:"credentials,omitempty"`

	// deployments also shows whether the tests passed as the state of a deployment of the commit to the Environment.
	// On GitHub, a deployment that another program has created is used.
	// +optional
	Deployments bool `json:"deployments,omitempty"`

	// pullRequestComments also keeps one comment up to date on the pull or merge request of the commit, with a row for
	// each Trigger and Environment.
	// +optional
	PullRequestComments bool `json:"pullRequestComments,omitempty"`
}

// RepositoryCredentials name the place of a token.
type RepositoryCredentials struct {
	// secretRef names a Secret in the Trigger's namespace that the manager was granted to read. It has the key
	// token, or githubAppID and githubAppPrivateKey.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// SecretReference names a Secret in the same namespace.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
