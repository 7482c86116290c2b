// Package event is what the events of senders such as GitHub mean: a deployment, the wish to repeat a run, a deployment that waits for a
// decision, a comment, a pull request that was closed, or nothing. The packages below it verify and decode the events of one sender each.
//
// A decoder skips members that it does not know: senders add them. It trusts no value: what becomes a Notification passes the checks of
// package notification. Its error is an *InvalidError.
package event

import (
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// Header is http.Header.
type Header interface {
	Get(name string) string
	Values(name string) []string
}

// Format is how the events of one sender are read.
type Format struct {
	// SecretProblem returns why Verify accepts no event with the secret, as a clause without the secret, or "".
	SecretProblem func(secret []byte) string
	// Verify returns a *VerifyError unless the body was signed with the secret. It takes the same time wherever a signature is wrong.
	Verify func(secret []byte, h Header, body []byte, now time.Time) error
	// Decode reads a verified body.
	Decode func(h Header, body []byte, o Options) (Event, error)
}

// Event has one of Notification, Rerun, Review, Comment, Closed and Ignored.
type Event struct {
	Notification *notification.Notification // a deployment; nil: none
	Rerun        *Rerun                     // a rerun is asked for; nil: none
	Review       *Review                    // a deployment waits for a decision; nil: none
	Comment      *Comment                   // was written about a pull request; nil: none
	Closed       int64                      // the number of a pull request that was closed or merged; 0: none
	Ignored      string                     // a sentence: why this event starts nothing; answered with 200
	At           time.Time                  // when it happened, by the sender; zero if it does not say
	Key          string                     // equal events within five minutes are dropped if it is not empty

	ID         string // is the same whenever the event is delivered, and unique at the source; at most 200 bytes; empty: it has none
	Type       string // as the sender names it, e.g. deployment_status, for the audit line
	Delivery   string // the sender's id of this delivery, for the audit line; empty: it has none
	Repository string // full name of the repository that the event is of; empty: it names none
	Post       *Post  // of the Notification: what the code host shows there; nil: nothing that Postflight can have posted
}

// Rerun names runs, or all that Postflight reported on a commit.
type Rerun struct {
	Runs       []string // UIDs of Suites, which checks have as external id; empty: the commit's Suites
	Repository string   // full name
	Commit     string
	By         string // who asked for it, for people
}

// Post is the state of a deployment on a code host. Postflight posts such states, too, and code hosts send them back.
type Post struct {
	Environment string // as it was sent
	LogURL      string
	Description string
	Deployment  int64 // its id on the code host, which runs remember; 0: unknown
}

// Options are what a team configured for an EventSource, and the operator for the manager.
type Options struct {
	Environments map[string]string          // the deployment type by the name of the environment in the event; others are used as they are
	OwnApp       int64                      // the id of the App with which the manager posts to the code host; 0: it has none
	Deployments  *v1alpha1.EventDeployments // which of GitHub's count; nil: all
}

// DeploymentType returns the deployment type of an environment as the event names it.
func (o Options) DeploymentType(environment string) string {
	if known, ok := o.Environments[environment]; ok {
		return known
	}
	return environment
}
