package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TrustPolicySpec says which tokens of an issuer are trusted, and what their senders may do for the team.
//
// +kubebuilder:validation:XValidation:rule="has(self.claims) || has(self.expression)",message="claims or expression must say which tokens of the issuer are trusted; without them, everybody who gets a token there would be"
// +kubebuilder:validation:XValidation:rule="self.issuer != 'https://token.actions.githubusercontent.com' || has(self.expression) || has(self.claims) && self.claims.exists(c, c in ['repository_id', 'repository_owner_id', 'repository', 'repository_owner', 'enterprise_id', 'enterprise'])",message="all of GitHub has this issuer: claims must have repository_id, repository_owner_id, repository, repository_owner, enterprise_id or enterprise"
// +kubebuilder:validation:XValidation:rule="self.issuer != 'https://gitlab.com' || has(self.expression) || has(self.claims) && self.claims.exists(c, c in ['project_id', 'namespace_id', 'project_path', 'namespace_path'])",message="all of gitlab.com has this issuer: claims must have project_id, namespace_id, project_path or namespace_path"
// +kubebuilder:validation:XValidation:rule="self.issuer != 'https://agent.buildkite.com' || has(self.expression) || has(self.claims) && self.claims.exists(c, c in ['organization_id', 'organization_slug', 'pipeline_id', 'cluster_id'])",message="all of Buildkite has this issuer: claims must have organization_id, organization_slug, pipeline_id or cluster_id"
// +kubebuilder:validation:XValidation:rule="self.issuer != 'https://oidc.circleci.com' || has(self.expression) || has(self.claims) && self.claims.exists(c, c in ['oidc.circleci.com/org-id', 'oidc.circleci.com/project-id'])",message="all of CircleCI has this issuer: claims must have oidc.circleci.com/org-id or oidc.circleci.com/project-id"
type TrustPolicySpec struct {
	// issuer is the claim iss of the tokens, exactly, e.g. https://token.actions.githubusercontent.com. The operator of
	// Postflight lists those that can be used.
	// +required
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[!-~]+$`
	Issuer string `json:"issuer,omitempty"`

	// claims are the values that claims of the token must have: each of these claims one of its values, exactly. A number
	// or a boolean is written as in JSON, such as "1234" or "true". A list or an object equals nothing.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(c, c != '' && c.size() <= 128)",message="the name of a claim has 1 to 128 characters"
	// +kubebuilder:validation:XValidation:rule="!self.exists(c, c in ['iss', 'aud', 'exp', 'nbf', 'iat', 'jti'])",message="claims cannot have iss, aud, exp, nbf, iat and jti: issuer and audiences are fields of their own, and times are always checked"
	// +kubebuilder:validation:XValidation:rule="self.all(c, !self[c].exists(v, v.contains('*')))",message="values are compared exactly, so '*' would match nothing; use an expression such as claims.ref.startsWith('refs/heads/release/')"
	Claims map[string]ClaimValues `json:"claims,omitempty"`

	// expression is a CEL expression over `claims` that must be true as well, e.g. claims.ref.startsWith('refs/heads/release/').
	// All claims are strings there: numbers and booleans as in JSON, and so are lists and objects. If it does not compile,
	// the condition Ready is False, and the policy trusts no token.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression,omitempty"`

	// audiences: the claim aud of the token must have one of them. Defaults to postflight. The operator of Postflight
	// lists others that can be used.
	// +optional
	// +listType=set
	// +kubebuilder:default={postflight}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Audiences []string `json:"audiences,omitempty"`

	// commitClaim is the claim that has the commit: a notification that names another one is refused. Defaults to sha, if
	// the token has it, as those of GitHub and GitLab do. "" lets notifications name any commit, such as the head of a pull
	// request, for which GitHub's sha is a merge commit.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	CommitClaim *string `json:"commitClaim,omitempty"`

	// allow is what senders of such tokens may do.
	// +required
	Allow TrustAllow `json:"allow"`
}

// ClaimValues are values of a claim. A token must have one of them.
//
// +listType=set
// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=16
// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:MaxLength=512
type ClaimValues []string

// TrustAllow is what senders may do for the team.
//
// +kubebuilder:validation:XValidation:rule="has(self.notify) || has(self.upload) && self.upload || has(self.read) && self.read || has(self.act) && self.act",message="allow at least one of notify, upload, read and act"
type TrustAllow struct {
	// notify lets them notify of deployments, and that an ephemeral Environment is gone. An empty object means all; absent: none.
	// +optional
	Notify *TrustNotify `json:"notify,omitempty"`

	// upload lets them upload input files for runs.
	// +optional
	Upload bool `json:"upload,omitempty"`

	// read lets them read all runs of the team, with their logs and files. Anyone who notifies can always wait for the runs
	// that it started.
	// +optional
	Read bool `json:"read,omitempty"`

	// act lets them cancel and repeat runs of the team: those of the environments and deploymentTypes of notify, if this
	// policy has any.
	// +optional
	Act bool `json:"act,omitempty"`
}

// TrustNotify bounds notifications.
type TrustNotify struct {
	// deploymentTypes are those that notifications may have: names, or beginnings that end in "*". Defaults to all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(t, !t.substring(0, t.size() - 1).contains('*'))",message="an entry of deploymentTypes is a name, or the beginning of one and '*'"
	DeploymentTypes []string `json:"deploymentTypes,omitempty"`

	// environments are those whose Triggers may be notified: names, or beginnings that end in "*". A notification that
	// reaches another one is refused as a whole. Defaults to all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?|([a-z0-9][-a-z0-9]*)?[*])$'))",message="an entry of environments is the name of an Environment, or the beginning of one and '*'"
	Environments []string `json:"environments,omitempty"`
}

// TrustPolicyStatus is the observed state of a TrustPolicy.
type TrustPolicyStatus struct {
	// conditions: Ready is True while tokens are trusted; if not, its reason and message say why.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TrustPolicy lets those who have a short-lived token of an issuer act for the team, without an API key: jobs of a CI
// system, in the first place.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=trustpolicies,shortName=pftp,categories=postflight
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Issuer",type=string,JSONPath=`.spec.issuer`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TrustPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec TrustPolicySpec `json:"spec"`

	// +optional
	Status TrustPolicyStatus `json:"status,omitempty"`
}

// TrustPolicyList is a list of TrustPolicies.
//
// +kubebuilder:object:root=true
type TrustPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrustPolicy `json:"items"`
}
