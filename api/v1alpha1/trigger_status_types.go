package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LastSuite summarizes a run.
type LastSuite struct {
	// name of the Suite.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// state of the run: the reason of its Succeeded condition. Until the run ends, it may be Starting although the
	// tests run.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	State string `json:"state,omitempty"`

	// receivedAt is when its notification was received, with six digits after the second.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	ReceivedAt metav1.MicroTime `json:"receivedAt"`
}

// TriggerStatus is the observed state of the Trigger.
type TriggerStatus struct {
	// observedGeneration is the generation of the Trigger that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// activeSuites counts the runs that have a Job and have not ended.
	// +optional
	ActiveSuites int32 `json:"activeSuites"`

	// queuedSuites counts the runs that wait to start.
	// +optional
	QueuedSuites int32 `json:"queuedSuites"`

	// lastSuite is the run whose notification was received last.
	// +optional
	LastSuite *LastSuite `json:"lastSuite,omitempty"`

	// schedule is the observed state of spec.schedule. A Trigger that is paused lacks it.
	// +optional
	Schedule *ScheduleStatus `json:"schedule,omitempty"`

	// notifiedSince is when spec.notify was set. Earlier ends are not announced.
	// +optional
	NotifiedSince *metav1.Time `json:"notifiedSince,omitempty"`

	// outcomes are how the last run of each service in each Environment ended: at most 64. If there are more, the oldest are
	// dropped. A Trigger lacks them without spec.notify, unless a webhook of its Team has when.
	// +optional
	// +listType=map
	// +listMapKey=environment
	// +listMapKey=service
	// +kubebuilder:validation:MaxItems=64
	Outcomes []EnvironmentOutcome `json:"outcomes,omitempty"`

	// threads of failing tests that are open in the channel of spec.notify.slack: at most 50. If there are more, the oldest are
	// dropped.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=50
	Threads []TestThread `json:"threads,omitempty"`

	// conditions of the Trigger; Ready is False if it cannot match or its schedule is invalid, with the reason.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
