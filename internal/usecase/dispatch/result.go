package dispatch

import (
	"fmt"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

// Result is what came of a notification.
type Result struct {
	Triggers     []TriggerResult             // those that match, ordered by name, and then those that were left out
	Withheld     []string                    // Environments in other clusters that do not take the deployment type
	Explanations iter.Seq[match.Explanation] // of a dry run: of all Triggers, each made when it is read
}

// Decision is what came of a Trigger that matches.
type Decision string

// The decisions.
const (
	Created   Decision = "created"
	Duplicate Decision = "duplicate"
	Failed    Decision = "failed"
	Unknown   Decision = "unknown" // the API server did not say
	Gone      Decision = "gone"    // with the namespace
)

// TriggerResult is what came of one Trigger, and why.
type TriggerResult struct {
	Trigger     string
	Decision    Decision
	SuiteID     string                // of Created and Duplicate
	EndedAt     *metav1.Time          // of a Duplicate; nil if it has not ended
	Differs     []v1alpha1.Difference // of a Duplicate: how the deployment that it tests is another one
	Reason      string                // of the others, as a sentence
	Environment *v1alpha1.Environment // of the run; it has no UID if it does not exist
	Cluster     string                // that has the Trigger; empty: this one
	Handed      *httpapi.Result       // what it answered; nil: nothing
	LeftOut     bool                  // Failed, because the Trigger is too large to be known
}

func newResult(t *v1alpha1.Trigger) TriggerResult {
	return TriggerResult{Trigger: t.Name, Environment: &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: t.Spec.Environment}}}
}

// Error says why a notification or a command failed as a whole.
type Error struct {
	Kind    ErrorKind
	Message string // a sentence for the sender
	cause   error
}

// ErrorKind says what to do about an Error.
type ErrorKind string

// The kinds of errors.
const (
	Overloaded    ErrorKind = "overloaded"  // send the notification again
	Unavailable   ErrorKind = "unavailable" // the same, when the API server is back
	NamespaceGone ErrorKind = "namespace_gone"
	Forbidden     ErrorKind = "forbidden" // the message says what the sender may do
	Loop          ErrorKind = "loop"      // the sender is a hub, and this one would hand on to yet another cluster

	ClusterRefused     ErrorKind = "cluster_refused"     // the message says what the operator has to do
	ClusterUnavailable ErrorKind = "cluster_unavailable" // send the request again
)

// The kinds of errors of commands only.
const (
	Rejected            ErrorKind = "rejected" // the message says why
	RunNotFound         ErrorKind = "run_not_found"
	RunFinished         ErrorKind = "run_finished"
	RunUnfinished       ErrorKind = "run_unfinished"
	EnvironmentNotFound ErrorKind = "environment_not_found"
	EnvironmentStatic   ErrorKind = "environment_static"
)

func (e *Error) Error() string {
	if e.cause == nil {
		return string(e.Kind)
	}
	return string(e.Kind) + ": " + e.cause.Error()
}

func (e *Error) Unwrap() error { return e.cause }

// failure is nil if there is a run, because only the answer may have its ID. The Reason of a Trigger then says what is unknown.
func (o *operation) failure(r Result) error {
	switch {
	case r.Has(Created) || r.Has(Duplicate):
		return nil
	case r.Has(Unknown) && o.retrier.turnedAway.Load():
		return &Error{Kind: Overloaded, Message: o.unknown()}
	case r.Has(Unknown):
		i := slices.IndexFunc(r.Triggers, func(t TriggerResult) bool { return t.Decision == Unknown })
		return &Error{Kind: Unavailable, Message: r.Triggers[i].Reason}
	case r.Has(Gone):
		return &Error{Kind: NamespaceGone,
			Message: "Run not found: the namespace of the team is missing or being deleted. Ask the operator of this service."}
	default:
		return nil
	}
}

// Has reports whether any Trigger has the decision.
func (r Result) Has(d Decision) bool {
	return slices.ContainsFunc(r.Triggers, func(t TriggerResult) bool { return t.Decision == d })
}

// unknown returns why it is not known whether there is a run, and what to do.
func (o *operation) unknown() string { return o.unknownBecause(o.whyUnknown()) }

func (o *operation) unknownBecause(why string) string {
	advice := "Send the notification again; with a sha or an Idempotency-Key, a run that exists would not be created twice."
	if o.Notification.SHA != "" || o.IdempotencyKey != "" {
		advice = "Send the notification again: a run that exists is not created twice."
	}
	return why + ", so it is not known whether a run was created. " + advice
}

// whyUnknown begins a sentence.
func (o *operation) whyUnknown() string {
	if o.retrier.turnedAway.Load() {
		return "The API server of the cluster is unavailable, and as many requests wait for it as this server allows, " +
			"or as many of this team as leave room for others"
	}
	return fmt.Sprintf("The API server of the cluster did not answer within %s", o.Budget)
}
