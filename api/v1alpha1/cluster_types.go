package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterSpec says where another Postflight is, who it is, and which Teams of this one use it.
type ClusterSpec struct {
	// url of the Postflight in the other cluster: https, at most 2,048 bytes, without user, query and fragment. Plain http is
	// for this machine only.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="url must be an absolute https URL"
	URL string `json:"url,omitempty"`

	// ca are certificates in PEM of the only authorities that may vouch for its server. Defaults to those of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CA string `json:"ca,omitempty"`

	// teams may have Environments there: names of Teams, or beginnings that end in "*". The Team there has the same name.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?|([a-z0-9][-a-z0-9]*)?[*])$'))",message="an entry of teams is the name of a Team, or the beginning of one and '*'"
	Teams []string `json:"teams,omitempty"`

	// credential is what this Postflight sends there. Token: a token of its own ServiceAccount, which TrustPolicies there trust.
	// Key: an API key of the team there, from the file CLUSTER.TEAM in the folder that the flag --cluster-keys names.
	// +optional
	// +kubebuilder:default=Token
	// +kubebuilder:validation:Enum=Token;Key
	Credential ClusterCredential `json:"credential,omitempty"`

	// audience of the tokens. Defaults to url. Each cluster needs one of its own, or it could use the tokens at another cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!(self in ['postflight', 'postflight-collect']) && !self.contains('kubernetes.default.svc')",message="the cluster could use tokens of this audience here; choose one that it alone accepts, such as postflight- and its name"
	Audience string `json:"audience,omitempty"`
}

// ClusterCredential is a kind of credentials.
type ClusterCredential string

// The kinds of credentials.
const (
	ClusterToken ClusterCredential = "Token"
	ClusterKey   ClusterCredential = "Key"
)

// TokenAudience is the audience of the tokens for the cluster.
func (s *ClusterSpec) TokenAudience() string {
	if s.Audience != "" {
		return s.Audience
	}
	return s.URL
}

// ClusterStatus is the observed state of a Cluster.
type ClusterStatus struct {
	// conditions: Ready is True while the cluster answers, and lets in every Team that has Environments there; if not, its
	// reason and message say why.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Cluster is another cluster with a Postflight of its own, in which Teams of this one have Environments. This Postflight, the hub,
// hands on notifications and questions about them. What they lead to is decided there.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=pfcluster,categories=postflight
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of a Cluster must be a DNS label: at most 63 of a-z, 0-9 and '-', no dots"
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ClusterSpec `json:"spec"`

	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of Clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}
