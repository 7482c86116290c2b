package v1alpha1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TeamSpec defines the namespace and the limits of a tenant.
type TeamSpec struct {
	// namespace that belongs to the team; a namespace belongs to one team only.
	// Defaults to the name of the team, and cannot change.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.namespace cannot change, because the records of the team would belong to another namespace; create another Team"
	Namespace string `json:"namespace,omitempty"`

	// suspended disables the team: its API keys are refused with 403, and its runs do not start.
	// +optional
	Suspended bool `json:"suspended,omitempty"`

	// maxConcurrentSuites bounds how many runs of the team are active at once; others queue in the
	// order in which they were received. 0 means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxConcurrentSuites int32 `json:"maxConcurrentSuites,omitempty"`

	// maxSuites bounds how many runs of the team are stored, whether they have ended or not. Each
	// takes space in etcd, and about 4 KiB of memory in every replica, until its retention is over. A
	// notification beyond the bound gets a failure_reason. 0 means no limit.
	// +optional
	// +kubebuilder:default=10000
	// +kubebuilder:validation:Minimum=0
	MaxSuites *int32 `json:"maxSuites,omitempty"`

	// maxUnfinishedSuites bounds how many of them have not ended, queued ones included. Until its end
	// each takes up to 70 KiB of memory in every replica, mostly for the variables of its
	// notification. A notification beyond the bound gets a failure_reason. 0 means no limit.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=0
	MaxUnfinishedSuites *int32 `json:"maxUnfinishedSuites,omitempty"`

	// repositories of the team: full names with their host, such as github.com/acme/shop, or beginnings that end in
	// "/*" such as gitlab.com/acme/*. Without a host, they are on the manager's GitHub. The manager uses its own
	// credentials there, and lets events of its GitHub App and tokens of CI jobs that name no Team reach this one.
	// Without any, a Trigger needs credentials of its own.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[A-Za-z0-9._:-]+(/[A-Za-z0-9._-]+)*/([A-Za-z0-9._-]+|[*])$'))",message="an entry of repositories is a full name with its host such as github.com/acme/shop, or github.com/acme/*"
	// +kubebuilder:validation:XValidation:rule="!self.exists(name, name.matches('^[^/]*[.:][^/]*/[^/]+$'))",message="an entry of repositories that begins with a host names an owner or a group, too, such as github.com/acme/*"
	Repositories []string `json:"repositories,omitempty"`

	// workloadNamespaces are the namespaces besides its own whose workloads the Environments of the team may name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	WorkloadNamespaces []WorkloadNamespace `json:"workloadNamespaces,omitempty"`

	// webhooks get the events of all runs of the team. The address comes from here or from their Secret, never from
	// a notification.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Webhooks []Webhook `json:"webhooks,omitempty"`

	// publicPages lets everybody who reaches the run pages read those of the team, without signing in:
	// its runs, their logs and files, its Triggers and its Environments. No sender can act there.
	// +optional
	PublicPages bool `json:"publicPages,omitempty"`

	// keysMayAct lets people who signed in to the run pages with an API key of the team cancel and repeat
	// runs. By default, a key only reads.
	// +optional
	KeysMayAct bool `json:"keysMayAct,omitempty"`

	// retention defines how long the team's records are kept.
	// +optional
	Retention RecordRetention `json:"retention,omitempty"`
}

// RecordRetention defines how long the object store keeps what runs leave behind.
type RecordRetention struct {
	// records is how long the record, the logs and the files of a run are kept, counted in whole days from the
	// day of its creation (UTC); from 24h to 87600h.
	// +optional
	// +kubebuilder:default="720h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('24h') && duration(self) <= duration('87600h')",message="records must be from 24h to 87600h"
	Records *metav1.Duration `json:"records,omitempty"`
}

// The defaults of the schema, for a Team that was stored without bounds.
const (
	defaultMaxSuites           = 10000
	defaultMaxUnfinishedSuites = 1000
	defaultRecords             = 720 * time.Hour
)

// TeamStatus is the observed state of the team.
type TeamStatus struct {
	// webhooks are those that the manager has seen.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Webhooks []WebhookStatus `json:"webhooks,omitempty"`

	// conditions of the team; Ready is False if its namespace is missing or claimed twice, or if a webhook cannot be
	// used.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Team is a tenant. Its name is the team id, with which the paths of its files start.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=postflight
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.namespace`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspended`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=='Ready')].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="(has(self.spec) && has(self.spec.namespace)) == (has(oldSelf.spec) && has(oldSelf.spec.namespace))",message="spec.namespace cannot change, because the records of the team would belong to another namespace; create another Team"
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

// Owns reports whether a record of that time belongs to this Team, and not to an earlier one of the name, perhaps of other people.
func (t *Team) Owns(created time.Time) bool {
	since := t.CreationTimestamp.Time
	if earlier, err := time.Parse(time.RFC3339, t.Annotations[AnnotationRecordsSince]); err == nil {
		since = earlier
	}
	return !created.Before(since)
}

// Owner is the Team that owns a namespace, given those that claim it. No Team owns a namespace that several Teams
// claim, or whose only Team is being deleted.
func Owner(claimants []Team) *Team {
	if len(claimants) != 1 || claimants[0].DeletionTimestamp != nil {
		return nil
	}
	return &claimants[0]
}

// Reasons why an object in a namespace that no Team owns is not Ready.
const (
	ReasonNoTeam                = "NoTeam"
	ReasonNamespaceClaimedTwice = "NamespaceClaimedTwice"
)

// OwnerProblem returns why no Team owns a namespace, given those that claim it: a reason and a clause, or "".
func OwnerProblem(namespace string, claimants []Team) (reason, clause string) {
	switch {
	case len(claimants) > 1:
		return ReasonNamespaceClaimedTwice, fmt.Sprintf("several Teams claim the namespace %q", namespace)
	case Owner(claimants) == nil:
		return ReasonNoTeam, fmt.Sprintf("no Team owns the namespace %q", namespace)
	default:
		return "", ""
	}
}

// SuiteBound is how many Suites of the team may be stored; 0 means no limit.
func (t *Team) SuiteBound() int32 { return valueOr(t.Spec.MaxSuites, defaultMaxSuites) }

// UnfinishedSuiteBound is how many of them may be unfinished; 0 means no limit.
func (t *Team) UnfinishedSuiteBound() int32 {
	return valueOr(t.Spec.MaxUnfinishedSuites, defaultMaxUnfinishedSuites)
}

// RecordLifetime is how long the records of the team's runs are kept.
func (t *Team) RecordLifetime() time.Duration {
	if records := t.Spec.Retention.Records; records != nil {
		return records.Duration
	}
	return defaultRecords
}

func valueOr(p *int32, value int32) int32 {
	if p != nil {
		return *p
	}
	return value
}

// TeamList is a list of Teams.
//
// +kubebuilder:object:root=true
type TeamList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Team `json:"items"`
}
