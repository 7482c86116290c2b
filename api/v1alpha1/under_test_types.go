package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// UnderTest is what the Environment of a run had while its tests ran.
type UnderTest struct {
	// workloads of the Environment, at most 50: as many as a Job has room to remember.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Workloads []TestedWorkload `json:"workloads,omitempty"`

	// changed says what was deployed between start and end, as sentences. Then the run is Inconclusive, whatever its tests said.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Changed string `json:"changed,omitempty"`
}

// TestedWorkload is an object that ran in the Environment.
type TestedWorkload struct {
	// repository whose code it has.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Repository string `json:"repository,omitempty"`

	// service of the repository; empty: the whole repository.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Service string `json:"service,omitempty"`

	// kind of the object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// namespace of the object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// name of the object; absent if a selector matched none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// start is its version when the Job of the run was created; absent if it did not exist.
	// +optional
	Start *WorkloadVersion `json:"start,omitempty"`

	// end is its version when the tests had ended; absent until then, for a run that was stopped, and if it was gone.
	// +optional
	End *WorkloadVersion `json:"end,omitempty"`
}

// WorkloadVersion is what an object ran at a time.
type WorkloadVersion struct {
	// uid of the object; absent if there was none that could be read.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// generation of the object.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// revision of the object, in the words of its kind.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Revision string `json:"revision,omitempty"`

	// sha that the object named.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	SHA string `json:"sha,omitempty"`

	// digests of the images that its pods ran, by container, as far as all of them agreed.
	// +optional
	// +listType=map
	// +listMapKey=container
	// +kubebuilder:validation:MaxItems=16
	Digests []ImageDigest `json:"digests,omitempty"`

	// rolledOut is whether the rollout of the revision was complete.
	// +optional
	RolledOut bool `json:"rolledOut,omitempty"`

	// message says why it was not, or why the object could not be read.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
