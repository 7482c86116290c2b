package httpapi

// UnderTest is what the Environment of a run had while its tests ran.
type UnderTest struct {
	Changed   string           `json:"changed,omitempty"` // what was deployed meanwhile, as sentences; then the run is Inconclusive
	Workloads []TestedWorkload `json:"workloads,omitempty"`
}

// TestedWorkload is an object that ran in the Environment.
type TestedWorkload struct {
	Repository string           `json:"repository,omitempty"`
	Service    string           `json:"service,omitempty"`
	Kind       string           `json:"kind"`
	Namespace  string           `json:"namespace"`
	Name       string           `json:"name,omitempty"`
	Start      *WorkloadVersion `json:"start,omitempty"` // when the Job of the run was created
	End        *WorkloadVersion `json:"end,omitempty"`   // when its tests had ended
}

// WorkloadVersion is what an object ran at a time.
type WorkloadVersion struct {
	SHA       string            `json:"sha,omitempty"`
	Revision  string            `json:"revision,omitempty"` // in the words of its kind
	Digests   map[string]string `json:"digests,omitempty"`  // of the images of its pods, by container
	RolledOut bool              `json:"rolledOut,omitempty"`
	Message   string            `json:"message,omitempty"` // why it was not rolled out, or could not be read
}
