package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Workload is an object of the cluster, or several, that run in an Environment.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.selector)",message="a workload has a name or a selector"
// +kubebuilder:validation:XValidation:rule="has(self.apiVersion) || (has(self.kind) ? self.kind : 'Deployment') in ['Deployment', 'StatefulSet', 'DaemonSet', 'Rollout', 'Application', 'Kustomization', 'HelmRelease']",message="apiVersion is needed for this kind"
// +kubebuilder:validation:XValidation:rule="!has(self.apiVersion) || !(self.apiVersion.split('/')[0] in ['authentication.k8s.io', 'authorization.k8s.io', 'batch', 'coordination.k8s.io', 'events.k8s.io', 'postflight.dev'])",message="objects of this group cannot be workloads"
type Workload struct {
	// apiVersion of the objects. By default apps/v1 for Deployment, StatefulSet and DaemonSet, argoproj.io/v1alpha1 for Rollout and
	// Application, kustomize.toolkit.fluxcd.io/v1 for Kustomization, and helm.toolkit.fluxcd.io/v2 for HelmRelease. Objects of the
	// core group, such as Secrets, of Postflight, and other groups that the manager reads for its task cannot be named.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/v[a-z0-9]+$`
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the objects.
	// +optional
	// +kubebuilder:default=Deployment
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Kind string `json:"kind,omitempty"`

	// name of the object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// selector of the labels of several objects, instead of a name.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// namespace of the objects. Defaults to the namespace of the Environment; the Team lists others in workloadNamespaces.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// repository whose code this is, as owner/name. Leave it out if notifications for the Environment name none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Repository string `json:"repository,omitempty"`

	// service of the repository that this is, as notifications name it, such as cart. Leave it out if the repository is deployed as a whole.
	// +optional
	// +kubebuilder:validation:Pattern=`^(\S(.*\S)?)?$`
	// +kubebuilder:validation:MaxLength=128
	Service string `json:"service,omitempty"`

	// hostingService that the repository is on; GitHub if it is absent.
	// +optional
	HostingService HostingService `json:"hostingService,omitempty"`

	// sha is where the commit is written. By default the annotation postflight.dev/sha of its pods, or of an object without pods, or else the
	// tag of the first container's image if that is 7 to 64 hexadecimal digits.
	// +optional
	SHA *WorkloadValue `json:"sha,omitempty"`

	// branch is where the branch is written.
	// +optional
	Branch *WorkloadValue `json:"branch,omitempty"`

	// deploymentType is where the deployment type is written.
	// +optional
	DeploymentType *WorkloadValue `json:"deploymentType,omitempty"`

	// notify starts the runs of the Environment's Triggers that match when a rollout has brought another commit, as a notification would.
	// +optional
	Notify bool `json:"notify,omitempty"`
}

// WorkloadValue is where a value of a workload is written. Exactly one field is set.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type WorkloadValue struct {
	// annotation of its pods, or of an object that has no template of pods.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Annotation string `json:"annotation,omitempty"`

	// imageTagOf is the name of the container whose image has the value as its tag.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ImageTagOf string `json:"imageTagOf,omitempty"`

	// expression in CEL whose value it is, a string. It reads the object, such as object.status.lastAppliedRevision.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Expression string `json:"expression,omitempty"`

	// value is the same for all objects.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Value string `json:"value,omitempty"`
}

// WorkloadNamespace lets the Environments of a team name workloads of another namespace.
type WorkloadNamespace struct {
	// name of the namespace.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// workloads are the only names that they may read there, such as those of Argo CD's Applications in a namespace that teams share.
	// Without any, they may read all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Workloads []string `json:"workloads,omitempty"`
}
