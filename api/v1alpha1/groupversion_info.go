// Package v1alpha1 holds the objects of Postflight: Team, APIKey, TrustPolicy, Environment, Trigger, TriggerClass, Quarantine, EventSource
// and Suite.
//
// +kubebuilder:object:generate=true
// +groupName=postflight.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of every object in this package.
	GroupVersion = schema.GroupVersion{Group: "postflight.dev", Version: "v1alpha1"}

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the objects of this package to a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Team{}, &TeamList{},
		&APIKey{}, &APIKeyList{},
		&TrustPolicy{}, &TrustPolicyList{},
		&Cluster{}, &ClusterList{},
		&Environment{}, &EnvironmentList{},
		&Trigger{}, &TriggerList{},
		&TriggerClass{}, &TriggerClassList{},
		&Quarantine{}, &QuarantineList{},
		&EventSource{}, &EventSourceList{},
		&DeploymentGate{}, &DeploymentGateList{},
		&DeploymentReview{}, &DeploymentReviewList{},
		&Suite{}, &SuiteList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
