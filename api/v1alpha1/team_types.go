package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TeamSpec says where a tenant lives and what it may use.
type TeamSpec struct {
	// namespace that belongs to the team; a namespace belongs to one team only.
	// Defaults to the team's own name.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// suspended disables the team: its API keys are answered with 403, and no run of it starts.
	// +optional
	Suspended bool `json:"suspended,omitempty"`

	// maxConcurrentSuites bounds how many runs of the team are active at once; others queue in the
	// order in which they were received. 0 means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxConcurrentSuites int32 `json:"maxConcurrentSuites,omitempty"`
}

// TeamStatus is what the manager found out about the team.
type TeamStatus struct {
	// conditions of the team; Ready is False where its namespace is missing or claimed twice.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Team is a tenant. Its name is the team id, which also starts the path of its files.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=postflight
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.namespace`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspended`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of a Team must be a DNS label: at most 63 of a-z, 0-9 and '-', no dots"
type Team struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TeamSpec   `json:"spec,omitempty"`
	Status TeamStatus `json:"status,omitempty"`
}

// NamespaceName is the namespace that belongs to the team.
func (t *Team) NamespaceName() string {
	if t.Spec.Namespace != "" {
		return t.Spec.Namespace
	}
	return t.Name
}

// TeamList is a list of Teams.
//
// +kubebuilder:object:root=true
type TeamList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Team `json:"items"`
}
