package v1alpha1

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TriggerClassSpec holds what the Triggers of the class inherit: fields of a Trigger of the same names and meanings. A Trigger
// is merged over it, as "kubectl patch --type=strategic" merges.
type TriggerClassSpec struct {
	// results keeps the files that the tests write, as in a Trigger.
	// +optional
	Results *Results `json:"results,omitempty"`

	// timeout ends a run that takes longer, counted from the start of its first container, e.g. 90s, 30m or
	// 1h30m; from 1s to 168h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="timeout must be from 1s to 168h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// startTimeout ends a run as Error whose tests do not start. It counts from the creation of the Job; from 1s to 168h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="startTimeout must be from 1s to 168h"
	StartTimeout *metav1.Duration `json:"startTimeout,omitempty"`

	// retention defines how long finished runs are kept.
	// +optional
	Retention Retention `json:"retention,omitempty"`

	// variables of every run; those of the Trigger and of a notification override them.
	// +optional
	Variables Variables `json:"variables,omitempty"`

	// allowVariables are the only variables that a notification may set in a run, as in a Trigger. A list of the
	// Trigger replaces this one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*[*]?$'))",message="an entry of allowVariables is the name of a variable, or the beginning of one and '*', e.g. E2E_*"
	AllowVariables []string `json:"allowVariables,omitzero"`

	// jobTemplate is a part of the Job of a run, or all of it. Containers, volumes and variables of the same name are
	// merged with those of the Trigger; others are added to them. "kubectl explain job" describes its fields.
	// +optional
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate,omitzero"`
}

// TriggerClass holds what Triggers of several teams share: they name it, and inherit what they do not set themselves. A change
// applies to runs that start later.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=pfclass,categories=postflight
// +kubebuilder:printcolumn:name="Timeout",type=string,JSONPath=`.spec.timeout`
// +kubebuilder:printcolumn:name="Images",type=string,JSONPath=`.spec.jobTemplate.spec.template.spec.containers[*].image`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of a TriggerClass must be a DNS label: at most 63 of a-z, 0-9 and '-', no dots"
type TriggerClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec TriggerClassSpec `json:"spec"`
}

// TriggerClassList is a list of TriggerClasses.
//
// +kubebuilder:object:root=true
type TriggerClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TriggerClass `json:"items"`
}
