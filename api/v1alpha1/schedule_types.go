package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TriggerSchedule says when what is deployed is tested again.
type TriggerSchedule struct {
	// cron is a time as five fields: minute, hour, day of the month, month and day of the week, e.g. 0 3 * * * or
	// */30 8-18 * * mon-fri. Its times are at least 5 minutes apart.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *[-0-9a-zA-Z*?,/]+( +[-0-9a-zA-Z*?,/]+){4} *$')",message="cron has five fields: minute, hour, day of the month, month and day of the week, e.g. 0 3 * * *; the time zone belongs into timeZone"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^ *[*?](/0*[1-4])? ')",message="the times of cron must be at least 5 minutes apart, e.g. */5 * * * *"
	Cron string `json:"cron"`

	// timeZone of the cron expression, as the IANA database names it, e.g. Europe/Berlin. Defaults to UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z][-+_A-Za-z0-9]*(/[-+_A-Za-z0-9]+)*$') && self != 'Local'",message="timeZone is a name of the IANA time zone database, e.g. Europe/Berlin or UTC"
	TimeZone string `json:"timeZone,omitempty"`

	// jitter delays each run by a part of it, which differs between Triggers, and is the same each time. Use it if many
	// Triggers have the same cron. From 0s to 1h; 0s by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('1h')",message="jitter must be from 0s to 1h"
	Jitter *metav1.Duration `json:"jitter,omitempty"`

	// only is true if nothing but the schedule starts runs. The Trigger matches no notification then.
	// +optional
	Only bool `json:"only,omitempty"`
}

// ScheduleStatus is the observed state of the schedule of a Trigger that is not paused.
type ScheduleStatus struct {
	// observed is the cron expression and the time zone that the times belong to.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Observed string `json:"observed"`

	// since is when they were seen first. Earlier times start no run.
	// +required
	Since metav1.Time `json:"since"`

	// lastTime is the last time of the schedule that has come, without the jitter. A run was started for it, or one that had
	// not ended is its answer, unless message says why not.
	// +optional
	LastTime *metav1.Time `json:"lastTime,omitempty"`

	// nextTime is when the next runs are started.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`

	// message says why there is no run for the lastTime, or for a part of what is deployed, as sentences.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// DueSince returns the time of the schedule after which the next one is due.
func (s *ScheduleStatus) DueSince() time.Time {
	if s.LastTime != nil && s.LastTime.After(s.Since.Time) {
		return s.LastTime.Time
	}
	return s.Since.Time
}

// ScheduledFor returns the time of the schedule for which a Suite was created, or the zero time.
func (s *Suite) ScheduledFor() time.Time {
	text := s.Annotations[AnnotationScheduledFor]
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil { // a manager did not write that
		return time.Time{}
	}
	return at.UTC()
}
