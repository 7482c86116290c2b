package httpapi

import "time"

// EnvironmentStatus is an Environment with what is deployed there.
type EnvironmentStatus struct {
	Name      string     `json:"name"`
	Team      string     `json:"team"`
	Namespace string     `json:"namespace"`
	Cluster   string     `json:"cluster,omitempty"` // that has it, and says what is deployed; absent: this one
	URL       string     `json:"url,omitempty"`     // of the deployment
	Ephemeral bool       `json:"ephemeral"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"` // of an ephemeral one
	Ready     *bool      `json:"ready,omitempty"`     // whether its workloads can be read; absent if it names none
	Message   string     `json:"message,omitempty"`   // why they cannot
	Deployed  []Deployed `json:"deployed"`            // by repository
	At        *time.Time `json:"at,omitempty"`        // when that was deployed; absent: it is now
	PageURL   string     `json:"pageUrl,omitempty"`

	Hold     *EnvironmentHold     `json:"hold,omitempty"`     // keeps its runs in the queue; absent if it is over
	Settling *EnvironmentSettling `json:"settling,omitempty"` // after deployments; absent if its runs need not wait for that
}

// EnvironmentHold is why and until when an Environment is on hold.
type EnvironmentHold struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
	HeldBy string    `json:"heldBy,omitempty"`
}

// EnvironmentSettling is until when runs wait for an Environment to settle.
type EnvironmentSettling struct {
	LastDeployment time.Time `json:"lastDeployment"`
	Until          time.Time `json:"until"`  // unless another deployment follows
	Latest         time.Time `json:"latest"` // also if others follow
}

// Deployed is what an Environment has of a repository.
type Deployed struct {
	Repository     string              `json:"repository,omitempty"`
	Service        string              `json:"service,omitempty"` // of the repository; empty: the whole
	SHA            string              `json:"sha,omitempty"`     // absent if workloads that belong together have several
	Branch         string              `json:"branch,omitempty"`
	DeploymentType string              `json:"deploymentType,omitempty"`
	URL            string              `json:"url,omitempty"`        // of a preview; absent if it is the URL of the Environment
	Since          *time.Time          `json:"since,omitempty"`      // when it was reported first
	ReportedBy     string              `json:"reportedBy,omitempty"` // Notification or Workload
	Previous       *PreviousDeployment `json:"previous,omitempty"`   // what was deployed before
	Ready          *bool               `json:"ready,omitempty"`      // whether all workloads have rolled it out; absent without workloads
	Message        string              `json:"message,omitempty"`    // what is missing
	Workloads      []DeployedWorkload  `json:"workloads,omitempty"`
}

// PreviousDeployment is what was deployed before something else.
type PreviousDeployment struct {
	SHA   string     `json:"sha,omitempty"`
	Since *time.Time `json:"since,omitempty"`
}

// DeployedWorkload is an object of the cluster that runs in an Environment.
type DeployedWorkload struct {
	Kind      string        `json:"kind"`
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	Revision  string        `json:"revision,omitempty"`
	SHA       string        `json:"sha,omitempty"` // that it names, whether it is rolled out or not
	Digests   []ImageDigest `json:"digests,omitempty"`
	Ready     bool          `json:"ready"`
	Message   string        `json:"message,omitempty"`
}

// ImageDigest is what a container ran when the rollout was complete.
type ImageDigest struct {
	Container string `json:"container"`
	Digest    string `json:"digest"`
}

// EnvironmentList is a page of Environments, by name.
type EnvironmentList struct {
	Environments []EnvironmentStatus `json:"environments"`
	Next         string              `json:"next,omitempty"` // cursor of the next page; absent on the last
}

// Deployment is what an Environment had of a repository for some time.
type Deployment struct {
	Repository     string             `json:"repository,omitempty"`
	Service        string             `json:"service,omitempty"` // of the repository; empty: the whole
	SHA            string             `json:"sha,omitempty"`     // absent if it is not known, or if workloads that belong together had several
	Branch         string             `json:"branch,omitempty"`
	DeploymentType string             `json:"deploymentType,omitempty"`
	Since          time.Time          `json:"since"`
	Until          *time.Time         `json:"until,omitempty"`      // when it was replaced, or the Environment deleted; absent: not yet
	ReportedBy     string             `json:"reportedBy,omitempty"` // Notification or Workload
	Message        string             `json:"message,omitempty"`    // why there is no commit
	Workloads      []DeployedWorkload `json:"workloads,omitempty"`  // that had it, once all had it
}

// DeploymentHistory is what an Environment had, newest first.
type DeploymentHistory struct {
	Deployments []Deployment `json:"deployments"`
	More        bool         `json:"more"` // there are older ones
}
