package announce

import (
	"time"

	"github.com/postflight-dev/postflight/internal/core/report"
)

// The bounds of messages. Lengths are in bytes.
const (
	// maxProblem is the bound of a problem in the schema of the Suite.
	maxProblem = 512

	// maxURL bounds the address of a receiver, as the schema of the Team does.
	maxURL = 2048

	// maxKeys bounds how many keys sign an event: the new one, and those that it replaces.
	maxKeys = 4

	// minKeyBytes and maxKeyBytes are those of Standard Webhooks.
	minKeyBytes, maxKeyBytes = 24, 64

	// maxHeadline, maxFact, maxText and maxTest bound texts in a chat. Slack accepts 3,000 characters in a section, and
	// escaping makes up to five of one: there are three facts that need it, one text, and five tests.
	maxHeadline, maxFact, maxText, maxTest = 256, 160, 512, 100

	// maxTests is how many failed tests a chat lists. The run's page has all.
	maxTests = 5

	// maxDeliveries is the bound of the schema of the Suite. A Team and a Trigger have fewer receivers.
	maxDeliveries = 16

	// maxOutcomes is the bound of the schema of the Trigger.
	maxOutcomes = 64
)

// How patiently a receiver is asked.
const (
	// firstRetry is the wait after the first failure. It doubles each time.
	firstRetry = 2 * time.Second

	// maxUnavailable bounds the wait after a receiver did not answer, or failed. One request at a time tries it for all
	// runs.
	maxUnavailable = time.Minute

	// maxRejected bounds the wait after a refusal: people have to fix something.
	maxRejected = 10 * time.Minute

	// sinceSlack is how long before Receiver.Since an event may have happened: the manager sees a receiver late, and times
	// in a status are whole seconds.
	sinceSlack = 2 * time.Second

	// unseenRetry is when to look again for a receiver that was added a moment ago.
	unseenRetry = time.Second
)

// Limits bound the messages to one receiver. Slack accepts one a second.
func (r Receiver) Limits() report.Limits {
	if r.Kind == Slack {
		return report.Limits{PerMinute: 60, PerHour: 1000, InFlight: 1}
	}
	return report.Limits{PerMinute: 600, PerHour: 12000, InFlight: 2}
}
