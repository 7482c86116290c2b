package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// APIKeySpec identifies a key without holding it.
type APIKeySpec struct {
	// sha256 is the SHA-256 of the whole key, in 64 lower-case hex digits.
	// The key itself is stored nowhere: printf %s "$KEY" | sha256sum.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	SHA256 string `json:"sha256"`

	// namesNamespace means that the key contains the name of this namespace, like those of "postflight
	// keys create" (pf_NAMESPACE_...). Such a key is looked up in its own namespace only: APIKeys with
	// its hash elsewhere have no effect. Any other key is refused if this is true.
	// +optional
	NamesNamespace bool `json:"namesNamespace,omitempty"`

	// expiresAt is when the key stops working. By default it never expires.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// suspended stops the key from working while it is true.
	// +optional
	Suspended bool `json:"suspended,omitempty"`

	// description says who uses the key, e.g. "GitHub Actions of acme/shop". Only people read it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Description string `json:"description,omitempty"`
}

// APIKeyStatus is the observed state of the key.
type APIKeyStatus struct {
	// lastUsedTime is when the key was last accepted. It is updated at most every ten minutes, so a
	// later use may not show yet.
	// +optional
	LastUsedTime *metav1.Time `json:"lastUsedTime,omitempty"`

	// conditions of the key; Ready is False if it is refused, with the reason.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// APIKey is a credential of the team that owns its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pfkey,categories=postflight
// +kubebuilder:printcolumn:name="Description",type=string,JSONPath=`.spec.description`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.spec.expiresAt`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspended`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`,description="True if the key is accepted."
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].message`
// +kubebuilder:printcolumn:name="Last used",type=date,JSONPath=`.status.lastUsedTime`,description="When the key was last accepted. It is updated at most every ten minutes, so a later use may not show yet."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type APIKey struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   APIKeySpec   `json:"spec"`
	Status APIKeyStatus `json:"status,omitempty"`
}

// APIKeyList is a list of APIKeys.
//
// +kubebuilder:object:root=true
type APIKeyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []APIKey `json:"items"`
}
