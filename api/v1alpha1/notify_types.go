package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WebhookFormat is what the events sent to a webhook look like.
//
// +kubebuilder:validation:Enum=CloudEvents;CDEvents
type WebhookFormat string

// The formats of events.
const (
	FormatCloudEvents WebhookFormat = "CloudEvents" // the run as the HTTP API shows it
	FormatCDEvents    WebhookFormat = "CDEvents"    // a testSuiteRun of https://cdevents.dev, with the same run as its custom data
)

// Webhook is an HTTP endpoint that gets the events of all runs of a team, as signed CloudEvents.
//
// +kubebuilder:validation:XValidation:rule="!has(self.when) || !has(self.events)",message="set events or when, not both: when selects ends of runs"
type Webhook struct {
	// name of the webhook, unique within the team: at most 63 of a-z, 0-9 and '-'.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// url that the events are sent to, https. If it is left out, the key url of the Secret has it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && (self.startsWith('https://') || self.startsWith('http://'))",message="url must be an absolute https URL"
	URL string `json:"url,omitempty"`

	// secretRef names a Secret in the namespace of the team that the manager was granted to read. Its key secret
	// signs the events: whsec_ and 24 to 64 bytes in base64. While you replace it, it has several, one a line.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// events that are sent. Left out: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	Events []RunEvent `json:"events,omitempty"`

	// when selects ends of runs in place of events, as spec.notify.slack.when of a Trigger does: with NewFailure and Recovery, the webhook
	// gets only what is new. Left out: events decides.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	When []NotifyWhen `json:"when,omitempty"`

	// format of the events. CloudEvents has types of Postflight, and the run as the HTTP API shows it. CDEvents has those of
	// https://cdevents.dev: a testSuiteRun was queued, started or finished. Left out: CloudEvents.
	// +optional
	Format WebhookFormat `json:"format,omitempty"`
}

// Notify says whom a Trigger tells about its runs.
type Notify struct {
	// slack is an incoming webhook of Slack, or of a chat that understands its messages, such as Mattermost.
	// +required
	Slack SlackNotify `json:"slack"`
}

// NotifyWhen is a kind of end that people are told about.
//
// +kubebuilder:validation:Enum=Failure;NewFailure;Recovery
type NotifyWhen string

// The ends that people are told about.
const (
	NotifyFailure    NotifyWhen = "Failure"
	NotifyNewFailure NotifyWhen = "NewFailure"
	NotifyRecovery   NotifyWhen = "Recovery"
)

// SlackNotify is an incoming webhook of Slack, or a channel of it.
type SlackNotify struct {
	// secretRef names a Secret in the Trigger's namespace that the manager was granted to read. Its key url is that
	// of the incoming webhook. With a channel, its key token is used instead: the bot token of an app of Slack.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// channel is the id of a channel of Slack, such as C0123ABCD, that the app of the token is in. Each test that begins to fail then
	// gets a thread, which is closed when the test no longer fails. Left out: the key url of the Secret is used, and there are no threads.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[CG][A-Z0-9]{2,31}$`
	Channel string `json:"channel,omitempty"`

	// when says what is told. Failure: a run ended as Failed, TimedOut or Error. NewFailure: the same, if the run before it
	// of the same Environment and service had not failed, or if a test failed that is not known to have failed before and is in no
	// Quarantine. Recovery: a run passed, and the one before it had failed. Left out: Failure and Recovery.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	When []NotifyWhen `json:"when,omitempty"`
}

// Delivery is what a receiver was told about a run.
type Delivery struct {
	// receiver is slack, or webhook/ and the name of a webhook.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	Receiver string `json:"receiver"`

	// event that the receiver accepted last.
	// +optional
	Event RunEvent `json:"event,omitempty"`

	// problem is why the receiver does not have the next one yet, as a sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Problem string `json:"problem,omitempty"`

	// gone is true after the receiver answered 410: it gets nothing more about this run.
	// +optional
	Gone bool `json:"gone,omitempty"`
}

// WebhookStatus is the observed state of a webhook.
type WebhookStatus struct {
	// name of the webhook.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// since is when the webhook was added. Earlier events are not sent.
	// +required
	Since metav1.Time `json:"since"`
}

// EnvironmentOutcome is how the last run of a Trigger in an Environment ended. Runs that were canceled or superseded do
// not count.
type EnvironmentOutcome struct {
	// environment of the run.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment"`

	// service that it tested; empty: the whole repository.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=128
	Service string `json:"service,omitempty"`

	// suite is the name of the run.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Suite string `json:"suite"`

	// state in which it ended.
	// +required
	// +kubebuilder:validation:MaxLength=64
	State string `json:"state"`

	// completionTime is when it ended.
	// +required
	CompletionTime metav1.Time `json:"completionTime"`

	// previousState is how the run before it ended.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PreviousState string `json:"previousState,omitempty"`
}

// TestThread is the thread of a failing test in a chat.
type TestThread struct {
	// id is a hash of the Environment, the service and the name of the test.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{16}$`
	ID string `json:"id"`

	// environment of the test.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment"`

	// service that was tested; empty: the whole repository.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Service string `json:"service,omitempty"`

	// test is its name, at most 256 bytes.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Test string `json:"test"`

	// channel that the thread is in.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Channel string `json:"channel"`

	// ts identifies the first message of the thread in its channel. Empty: it may not have been sent.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	TS string `json:"ts,omitempty"`

	// run that opened the thread: the test failed in it.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Run string `json:"run"`

	// since is when that run ended.
	// +required
	Since metav1.Time `json:"since"`

	// closedBy is the run in which the test no longer failed, while the thread is being closed.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClosedBy string `json:"closedBy,omitempty"`
}

// The reasons of ConditionNotified, beside ReasonPending.
const (
	ReasonDelivered     = "Delivered"     // every receiver has what it wants
	ReasonNothingToSend = "NothingToSend" // no receiver wants to know how the run ended
	ReasonNotifyFailed  = "Failed"        // a receiver did not accept it, or could not be asked
	ReasonGone          = "Gone"          // a receiver wants no more
	ReasonGaveUp        = "GaveUp"        // it is too late
)

// Notified is a run about which every receiver has what it wants.
func Notified(reason, message string) metav1.Condition {
	return condition(ConditionNotified, metav1.ConditionTrue, reason, message)
}

// NotifyPending is a run about which there will be more to say.
func NotifyPending(message string) metav1.Condition {
	return condition(ConditionNotified, metav1.ConditionUnknown, ReasonPending, message)
}

// NotNotified is why a receiver lacks an event.
func NotNotified(reason, message string) metav1.Condition {
	return condition(ConditionNotified, metav1.ConditionFalse, reason, message)
}
