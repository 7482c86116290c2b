package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// QuarantineSpec says which failed tests do not fail a run, for how long, and who answers for it.
//
// +kubebuilder:validation:XValidation:rule="self.since < self.until",message="until must be later than since"
// +kubebuilder:validation:XValidation:rule="self.until - self.since <= duration('2160h')",message="until must be at most 90 days after since; to renew a Quarantine, set since to the day of the renewal"
type QuarantineSpec struct {
	// triggers are the names of the Triggers of the namespace in whose runs the tests are quarantined. '*' alone means all
	// Triggers of the namespace.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')) || self.size() == 1 && self[0] == '*'",message="triggers must be names of Triggers, or '*' alone for all Triggers of the namespace"
	Triggers []string `json:"triggers,omitempty"`

	// environments are the names of the only Environments in which the tests are quarantined. Defaults to all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Environments []string `json:"environments,omitempty"`

	// tests are names of tests, as "postflight runs results" shows them, without the number that it adds to tests of the same
	// name. In a name, '*' stands for any text.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.all(t, !t.matches('[\\\\p{Cc}\\\\p{Cf}\\\\p{Zl}\\\\p{Zp}]'))",message="the name of a test has no control characters and no invisible characters; copy it from postflight runs results"
	// +kubebuilder:validation:XValidation:rule="self.all(t, t == t.trim())",message="the name of a test has no spaces at its beginning and its end; copy it from postflight runs results"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !t.contains('*') || t.matches('[^*>\\\\s]{3}'))",message="a pattern needs three characters in a row besides '*' and '>', so that it does not match every test"
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.split('*').size() <= 9)",message="a pattern may have at most eight '*'"
	Tests []string `json:"tests,omitempty"`

	// reason is why their failures do not count, such as the link to an issue.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.trim() != '' && !self.matches('[\\\\p{Cc}\\\\p{Cf}]')",message="reason must be one line of visible text"
	Reason string `json:"reason,omitempty"`

	// owner is the person or group that repairs the tests.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.trim() != '' && !self.matches('[\\\\p{Cc}\\\\p{Cf}]')",message="owner must be one line of visible text"
	Owner string `json:"owner,omitempty"`

	// since is the first day of the quarantine, or of its last renewal, in UTC, e.g. 2026-11-02.
	// +required
	// +kubebuilder:validation:Format=date
	// +kubebuilder:validation:MaxLength=10
	Since string `json:"since,omitempty"`

	// until is the day on which the tests count again, from 0:00 UTC. It is at most 90 days after since.
	// +required
	// +kubebuilder:validation:Format=date
	// +kubebuilder:validation:MaxLength=10
	Until string `json:"until,omitempty"`
}

// QuarantineStatus is the observed state of a Quarantine.
type QuarantineStatus struct {
	// conditions: Ready is True while the tests are quarantined; if not, its reason and message say why.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// lastRun is the newest run to which the Quarantine applied and that has results. Empty: there is none, or it was deleted.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LastRun string `json:"lastRun,omitempty"`

	// matched is how many tests that ran in lastRun it names.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Matched int32 `json:"matched,omitempty"`

	// lastMatched is when a run ended in which it named a test; absent: in none that still exists.
	// +optional
	LastMatched *metav1.Time `json:"lastMatched,omitempty"`
}

// Quarantine names tests whose failures do not fail a run, until a day. They are counted on their own, and a run with such a
// failure is never shown as a plain pass. A run applies the Quarantines that were valid when its Job was created.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pfq,categories=postflight
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.spec.until`
// +kubebuilder:printcolumn:name="Owner",type=string,JSONPath=`.spec.owner`
// +kubebuilder:printcolumn:name="Matched",type=integer,JSONPath=`.status.matched`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of a Quarantine must be a DNS label: at most 63 of a-z, 0-9 and '-', no dots"
type Quarantine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec QuarantineSpec `json:"spec"`

	// +optional
	Status QuarantineStatus `json:"status,omitempty"`
}

// QuarantineList is a list of Quarantines.
//
// +kubebuilder:object:root=true
type QuarantineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Quarantine `json:"items"`
}

// Days returns the beginning of since and of until; the zero time for a day that is none.
func (q *Quarantine) Days() (since, until time.Time) {
	since, _ = time.Parse(time.DateOnly, q.Spec.Since)
	until, _ = time.Parse(time.DateOnly, q.Spec.Until)
	return since, until
}
