package dispatch

import "time"

// Limits bound what one notification can ask of a replica. For what a team may leave behind, see counter.go.
type Limits struct {
	// Retrying bounds the notifications that wait for the API server to come back. One team gets at most
	// 8/9: see fairness.TeamLimiter.
	Retrying int

	// MatchBudget bounds how long one notification is matched with Triggers, and MatchWait how long it waits
	// for a processor to do so: at most one per processor is matched at a time.
	MatchBudget, MatchWait time.Duration

	// AttemptTimeout bounds the first call of the API server; retries get twice that.
	AttemptTimeout time.Duration

	// InputsTimeout bounds the search for the input files of a run that a notification repeats.
	InputsTimeout time.Duration

	// BackoffMin and BackoffMax bound the pauses between attempts.
	BackoffMin, BackoffMax time.Duration

	// TriggersAtOnce bounds the Suites that one notification creates at the same time, and
	// SuiteBytesAtOnce the variables of these Suites, as JSON; one is created in any case.
	TriggersAtOnce, SuiteBytesAtOnce int
}

// DefaultLimits are the limits of the HTTP contract, and those that follow from it.
func DefaultLimits() Limits {
	return Limits{
		// 900 for a single team: 20 notifications a second through an outage of 45 s. Fewer than
		// requests in flight, so that those that need no API server are answered meanwhile.
		Retrying: 1013,
		// A thousand times what a large team needs. Expressions may take 50 ms each, and their number is unlimited:
		// without this bound, a team could occupy the processors.
		MatchBudget: 2 * time.Second,
		// At most ten of the slowest are ahead. Clients wait for 60 s, and the budget counts meanwhile.
		MatchWait: 20 * time.Second,
		// Three attempts within a budget of 45 s if connections hang. The next attempt finds a Suite whose answer
		// came too late.
		AttemptTimeout: 10 * time.Second,
		// A working store answers for 64 files in less than a second.
		InputsTimeout: 5 * time.Second,
		// The first retry comes before a person notices; the last ones find an API server that is back
		// within two seconds, without overloading it while it starts.
		BackoffMin: 50 * time.Millisecond,
		BackoffMax: 2 * time.Second,
		// Few notifications match more Triggers; one that matches thousands leaves room for others.
		TriggersAtOnce: 16,
		// Usual notifications, with variables of up to 2 KiB, are not slowed down.
		SuiteBytesAtOnce: 32 << 10,
	}
}

// renewEvery is the precision of an ephemeral Environment's end, so that a burst of notifications for one deployment
// does not write it again and again. One that lives for less than ten minutes is renewed sooner.
const renewEvery = time.Minute

// maxListed bounds the ephemeral Environments that are listed if the cache lacks the one that a request names. That of a
// team with more may not be found until the cache has it.
const maxListed = 500
