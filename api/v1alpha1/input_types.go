package v1alpha1

// Inputs are files of the team's store that a run needs.
//
// +kubebuilder:validation:XValidation:rule="has(self.variables) || has(self.paths)",message="inputs need variables, paths or both"
type Inputs struct {
	// variables are names of variables that hold a fileLocation or a playgroundFileLocation: the
	// file is downloaded into the pod, and the variable is changed to its absolute path there.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Variables []string `json:"variables,omitempty"`

	// paths are files that every run gets, without the team's id, e.g. data/users.csv.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule="self.split('/')[0].lowerAscii() != 'postflight-runs'",message="paths must not start with postflight-runs, where Postflight keeps what runs leave behind"
	Paths []string `json:"paths,omitempty"`

	// directory in the pod, an absolute path. The variable RUN_INPUTS_DIR names it.
	// +optional
	// +kubebuilder:default="/run-inputs"
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9_.-]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(s, s == '.' || s == '..')",message="directory must be an absolute path without . and .. segments"
	Directory string `json:"directory,omitempty"`
}

// SuiteInput is a file that a run got.
type SuiteInput struct {
	// path of the file in the team's store, without the team's id.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`

	// etag of the file when the run started.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ETag string `json:"etag,omitempty"`

	// size of the file in bytes.
	// +optional
	Size int64 `json:"size,omitempty"`
}
