package announce

import (
	"time"

	"github.com/postflight-dev/postflight/internal/core/report"
)

// The bounds of messages. Lengths are in bytes.
const (
	maxProblem               = 512    // as in the schema of the Suite
	maxURL                   = 2048   // of a receiver, as in the schema of the Team
	maxKeys                  = 4      // that sign an event: the new one, and those that it replaces
	minKeyBytes, maxKeyBytes = 24, 64 // the bounds of Standard Webhooks

	// Slack accepts 3,000 characters in a section, and escaping makes up to five of one. A section has three facts that need it, one text,
	// two steps or five tests.
	maxHeadline, maxFact, maxText, maxStep, maxTest = 256, 160, 512, 256, 100

	maxSteps      = 2  // what to do: the page has all
	maxTests      = 5  // that a chat lists; the run's page has all
	maxDeliveries = 16 // as in the schema of the Suite; a Team and a Trigger have fewer receivers
	maxOutcomes   = 64 // as in the schema of the Trigger

	// maxOpened threads of a run are as many messages in the channel as a team reads one by one; a summary has the other tests.
	maxOpened = 5

	// maxThreads, as in the schema of the Trigger, with names of maxThreadTest bytes keep it below 32 KiB: all managers cache it.
	maxThreads, maxThreadTest = 50, 256

	maxToken = 256 // of a bot; today's have some 60 bytes
)

// How often a receiver is tried.
const (
	firstRetry     = 2 * time.Second  // after the first failure; it doubles each time
	maxUnavailable = time.Minute      // no answer, or a failure: one request at a time tries the receiver for all runs
	maxRejected    = 10 * time.Minute // a refusal: people have to fix something

	// sinceSlack is how long before Receiver.Since an event may be: the manager sees a receiver late, and times in a status are whole seconds.
	sinceSlack  = 2 * time.Second
	unseenRetry = time.Second // for a receiver that was added a moment ago
)

// Limits bound the messages to one receiver. A chat accepts one a second: Slack says so.
func (r Receiver) Limits() report.Limits {
	if r.Kind.Chat() {
		return report.Limits{PerMinute: 60, PerHour: 1000, InFlight: 1}
	}
	return report.Limits{PerMinute: 600, PerHour: 12000, InFlight: 2}
}
