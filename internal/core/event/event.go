// Package event is what the events of other services mean: a deployment, the wish to repeat a run, or nothing. The packages below it verify
// and decode the events of one service each.
//
// A decoder is strict about JSON, as package notification is, but a member that it does not know is skipped: services add them. It never
// trusts a value: what becomes a Notification passes the checks of package notification. Its error is an *InvalidError, which says what is
// wrong with the event, or a *VerifyError, which says only that the event is not of the sender.
package event

import (
	"time"

	"github.com/postflight-dev/postflight/internal/core/notification"
)

// Event has one of Notification, Rerun and Ignored.
type Event struct {
	Notification *notification.Notification // a deployment; nil: none
	Rerun        *Rerun                     // somebody asked to repeat a run; nil: nobody
	Ignored      string                     // a sentence: why this event starts nothing; answered with 200
	At           time.Time                  // when it happened, by the sender; zero if it does not say
	Key          string                     // equal events within five minutes are dropped if it is not empty

	Type       string // as the sender names it, e.g. deployment_status, for the audit line
	Delivery   string // the sender's id of this delivery, for the audit line; empty: it has none
	Repository string // full name of the repository that the event is of; empty: it names none
}

// Rerun names runs, or all that Postflight reported on a commit.
type Rerun struct {
	Runs       []string // names of Suites; empty: those of the commit
	Repository string   // full name
	Commit     string
	By         string // who asked for it, for people
}

// Options are what a team configured for an EventSource.
type Options struct {
	Environments map[string]string // the deployment type by the name of the environment in the event; others are used as they are
	OwnApp       int64             // the id of the App with which Postflight itself posts to the code host; 0: unknown
}

// DeploymentType returns that of an environment as the event names it.
func (o Options) DeploymentType(environment string) string {
	if known, ok := o.Environments[environment]; ok {
		return known
	}
	return environment
}
