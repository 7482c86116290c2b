package dispatch

import "time"

// Limits bound what one notification can ask of a replica. For what a team may leave behind, see counter.go.
type Limits struct {
	// Retrying bounds the notifications that wait for the API server. A team gets at most 8/9: see fairness.TeamLimiter.
	Retrying int
	// MatchBudget bounds how long a notification is matched, and MatchWait the wait for a processor: each matches one at a time.
	MatchBudget, MatchWait time.Duration
	// AttemptTimeout bounds the first call of the API server; retries get twice that.
	AttemptTimeout time.Duration
	// InputsTimeout bounds the search for the input files of a run that a notification repeats.
	InputsTimeout time.Duration
	// BackoffMin and BackoffMax bound the pauses between attempts.
	BackoffMin, BackoffMax time.Duration
	// CreatesAtOnce bounds the Suites of a team that the API server creates at once while other teams notify, too.
	CreatesAtOnce int
	// TriggersAtOnce bounds the Suites that a notification creates at once, SuiteBytesAtOnce their variables as JSON.
	TriggersAtOnce, SuiteBytesAtOnce int
}

// DefaultLimits are the limits of the HTTP contract, and those that follow from it.
func DefaultLimits() Limits {
	return Limits{
		// 900 for one team: 20 notifications/s through an outage of 45 s. Fewer than requests in flight, so that others are answered.
		Retrying: 1013,
		// A thousand times what a large team needs. Expressions may take 50 ms each, and could occupy the processors.
		MatchBudget: 2 * time.Second,
		// At most ten of the slowest are ahead. Clients wait for 60 s, and the budget counts meanwhile.
		MatchWait: 20 * time.Second,
		// Three attempts within a budget of 45 s if connections hang. The next attempt finds a Suite whose answer came too late.
		AttemptTimeout: 10 * time.Second,
		InputsTimeout:  5 * time.Second, // A working store answers for 64 files in less than a second.
		// The first retry is not noticed; the last ones find the API server within 2 s of its return, without overloading it.
		BackoffMin: 50 * time.Millisecond,
		BackoffMax: 2 * time.Second,
		// Hundreds a second. An API server on two cores answers 16 at once no sooner than 8, and another team waited twice as long.
		CreatesAtOnce:    8,
		TriggersAtOnce:   16,       // Few notifications match more Triggers; one that matches thousands leaves room for others.
		SuiteBytesAtOnce: 32 << 10, // Usual notifications, with variables of up to 2 KiB, are not slowed down.
	}
}

// renewEvery is the precision of an ephemeral Environment's end, so that a burst of notifications does not write it repeatedly.
const renewEvery = time.Minute

// maxListed bounds the list of Environments if the cache lacks the one named. A team with more may have to wait for the cache.
const maxListed = 500
