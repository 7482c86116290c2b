package endpoint

import (
	"net/http"
	"time"
)

// Limits bound what a client can ask of a replica. They are the same in every replica and depend on
// nothing that a restart loses. What a team may leave behind is bounded by its Team: at the defaults 10,000
// Suites of about 6 KiB in the cache are 60 MiB, and 1,000 unfinished ones with 64 KiB of variables another
// 64 MiB. See bounds.go.
type Limits struct {
	// HeaderBytes bounds the request line and the headers, HeaderLines their number.
	HeaderBytes, HeaderLines int

	// Silent bounds the connections on which nothing was sent yet, Unproven those on which something was,
	// but no request was authenticated, and Idle those between two authenticated requests. LargeHeads bounds
	// those of the last two that have sent more than 4 KiB of headers which have not ended, and Connections
	// all. Those that are being answered are bounded by InFlight and Waiting.
	Silent, Unproven, Idle, LargeHeads, Connections int

	// BodyBytes bounds a body.
	BodyBytes int64

	// HeaderTimeout and BodyTimeout are how long a client may take to send each.
	HeaderTimeout, BodyTimeout time.Duration

	// IdleTimeout closes connections that carry no request.
	IdleTimeout time.Duration

	// InFlight bounds the requests with a good key that are answered at once. Of it, of Held and of
	// Waiting, one team gets at most 8/9: see gate.go.
	InFlight int

	// Large bounds those of them that have a body of more than SmallBodyBytes, or of a length that is
	// not told, or are dry runs.
	Large          int
	SmallBodyBytes int64

	// Held bounds the requests that wait for the API server to come back.
	Held int

	// Waiting bounds the requests that wait for a run to end, which are not among those in flight.
	Waiting int

	// MaxWait bounds how long one of them waits.
	MaxWait time.Duration

	// MatchBudget bounds how long one notification is matched against Triggers, and MatchWait how long it
	// waits for a processor to do so: no more are at work than there are processors.
	MatchBudget, MatchWait time.Duration

	// HoldBudget is how long after its receipt a notification is still tried.
	HoldBudget time.Duration

	// AttemptTimeout bounds the first attempt to have something from the API server; the others get
	// twice that.
	AttemptTimeout time.Duration

	// BackoffMin and BackoffMax bound the pauses between attempts.
	BackoffMin, BackoffMax time.Duration

	// TriggersAtOnce bounds the Suites that one notification creates at the same time, and
	// SuiteBytesAtOnce the variables of these Suites, as JSON; one is created in any case.
	TriggersAtOnce, SuiteBytesAtOnce int

	// EphemeralFor is how long an ephemeral Environment lives after its last notification.
	EphemeralFor time.Duration
}

// DefaultLimits are the limits of the HTTP contract, and those that follow from it.
//
// A manager at rest takes 25 MiB, and 6 KiB for each run that it knows. In the 256 MiB of its container
// there is room beside that for each of these bounds alone, and for 3,500 requests that wait together with
// all that can be done without a key (TestFloods). With 5,000 that took 230 MiB, and answers took up to 2 s,
// for the collector hardly rested. There is no room for all bounds at once, which takes a key and the will
// to do harm.
func DefaultLimits() Limits {
	l := Limits{
		// Four times the largest set of variables, for their JSON escapes and for unknown members.
		BodyBytes: 256 << 10,
		// A client that needs longer is broken, or means harm (slow headers hold a connection).
		HeaderTimeout: 10 * time.Second,
		// 256 KiB at 9 KiB/s: slower than any network that CI runs in.
		BodyTimeout: 30 * time.Second,
		// Longer than the 60 s of common proxies in front, so that they close a connection first.
		IdleTimeout: 75 * time.Second,
		// 1,024 for a team that is alone. At a usual body of 1 KiB these cost some 30 MiB. A body of
		// SmallBodyBytes is in memory twice, as it came and as it is meant: another 36 MiB.
		InFlight: 1152,
		// Few notifications have more than 1 KiB. 64 of 256 KiB, which may stall for all of
		// BodyTimeout, cost some 40 MiB; without this bound InFlight of them would be 600 MiB, which
		// is more than the container has. Dry runs are among them because they look at each Trigger.
		Large:          64,
		SmallBodyBytes: 16 << 10,
		// 900 for a team that is alone: 20 notifications a second through an outage of 45 s. Less
		// than InFlight, so that requests that need no API server are answered meanwhile.
		Held: 1013,
		// 5,000 for a team that is alone. A waiting request costs 26 KiB, 11 of them stacks, and up to 33
		// until the collector has run: all cost 145 to 180 MiB, the most of all bounds.
		Waiting: 5625,
		// Below the 60 s after which clients and proxies give up on a silent connection.
		MaxWait: 55 * time.Second,
		// A thousand times what a large team needs. Expressions may take 50 ms each, and a team has
		// as many as it likes: without an end it would have the processors for itself.
		MatchBudget: 2 * time.Second,
		// Ten of the slowest go first. Clients wait for 60 s, and HoldBudget counts meanwhile.
		MatchWait: 20 * time.Second,
		// The clients give up after 60 s; the rest is for the way there and back.
		HoldBudget: 45 * time.Second,
		// Three attempts within the budget where connections hang. An answer that comes later is
		// not lost: the next attempt meets the Suite.
		AttemptTimeout: 10 * time.Second,
		// The first retry comes before a person notices; the last ones find an API server that is
		// back within two seconds without holding it down while it starts.
		BackoffMin: 50 * time.Millisecond,
		BackoffMax: 2 * time.Second,
		// Few notifications match more Triggers; one that matches thousands leaves room for others.
		TriggersAtOnce: 16,
		// Notifications as people send them, with variables of up to 2 KiB, are not slowed down.
		SuiteBytesAtOnce: 32 << 10,
		// A pull request that nobody deployed for a week is done with.
		EphemeralFor: 7 * 24 * time.Hour,
	}
	l.setConnections()
	return l
}

// setConnections sets what bounds connections and the heads of their requests.
func (l *Limits) setConnections() {
	// Room for the longest bearer token, 4 KiB, and the headers of a few proxies. Headers that do not
	// end cost up to 60 KiB, with what growing them leaves to the collector.
	l.HeaderBytes = 16 << 10
	// Proxies add a dozen. Without this bound 16 KiB of headers with one letter each cost 400 KiB.
	l.HeaderLines = 128
	// The server does not know of them, so that one costs 5 KiB. More than the clients that wait, for
	// these may all come back at once.
	l.Silent = 6144
	// A newcomer takes the place of one whose request has not come whole within 100 ms, so that 10,000
	// connections a second keep nobody with a key out. These cost 22 MiB.
	l.Unproven = 1024
	// More than a few proxies keep open for later. These cost 22 MiB.
	l.Idle = 1024
	// Few requests have so much, and theirs ends within a packet or two. At worst these cost 15 MiB,
	// and 32 MiB in the kernel.
	l.LargeHeads = 256
	// All of Unproven, Idle, InFlight and Waiting, and some that are being closed.
	l.Connections = 8192
}

// answerSlack is for writing an answer to a slow client.
const answerSlack = 15 * time.Second

// headerSlop is what net/http allows beyond MaxHeaderBytes, in bytes.
const headerSlop = 4 << 10

// Apply sets the limits that the server has to keep, since they come before any handler.
func (l Limits) Apply(s *http.Server) {
	s.MaxHeaderBytes = l.HeaderBytes - headerSlop
	s.ReadHeaderTimeout = l.HeaderTimeout
	s.ReadTimeout = l.HeaderTimeout + l.BodyTimeout
	s.WriteTimeout = l.BodyTimeout + l.HoldBudget + answerSlack
	s.IdleTimeout = l.IdleTimeout
}

const (
	// maxRequestID bounds the X-Request-Id that is taken over from a client: it ends in logs.
	maxRequestID = 128

	// maxWaitingURL bounds the path and the query of a request that waits, in bytes: net/http keeps them
	// until it is answered.
	maxWaitingURL = 1 << 10

	// maxIdempotencyKey is the bound in the HTTP contract.
	maxIdempotencyKey = 255

	// retryAfter is what a client is told where the API server named no time: the pause of the
	// clients that retry at all.
	retryAfter = 10 * time.Second

	// renewEvery is how exact the end of an ephemeral Environment is. It keeps a burst of
	// notifications for one deployment from writing it again and again.
	renewEvery = time.Minute

	// maxAuditedSuites bounds the audit line of a notification that matched very many Triggers.
	maxAuditedSuites = 100
)
