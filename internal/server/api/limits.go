package api

import (
	"net/http"
	"time"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// Limits bound what clients can ask of a replica over HTTP; dispatch.Limits bound the notifications. They are
// the same in every replica, and do not depend on anything that a restart loses.
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

	// InputBytes bounds a file that is to be uploaded, if the request says how large it is; 0: no limit. InputSizeRequired refuses
	// requests that do not.
	InputBytes        int64
	InputSizeRequired bool

	// CollectBytes bounds the body in which a pod lists its files. Collecting bounds how many of them are answered at
	// the same time, and CollectWait how long the others wait, which takes no memory but that of their headers.
	CollectBytes int64
	Collecting   int
	CollectWait  time.Duration

	// HeaderTimeout and BodyTimeout are how long a client may take to send each.
	HeaderTimeout, BodyTimeout time.Duration

	// IdleTimeout closes connections that carry no request.
	IdleTimeout time.Duration

	// InFlight bounds the requests with a good key that are answered at the same time. Of it, of Large and of
	// Waiting, one team gets at most 8/9: see fairness.TeamLimiter.
	InFlight int

	// Large bounds those of them, and of pods, that have a body of more than SmallBodyBytes, or of unknown length, or
	// are dry runs.
	Large          int
	SmallBodyBytes int64

	// Waiting bounds the requests that wait for a run to end, which are not among those in flight.
	Waiting int

	// MaxWait bounds how long one of them waits.
	MaxWait time.Duration

	// How long to wait for a run and its logs, and how many logs are sent at once. Those are not among the requests in flight.
	runs.Limits

	// Listing bounds the requests that list runs with those in the archive at the same time.
	Listing int

	// MaxFollow bounds how long one of them follows a run, and PodPoll is how often it looks for the next container.
	// LogWrite bounds each write to the client.
	MaxFollow, PodPoll, LogWrite time.Duration
}

// DefaultLimits are the limits of the HTTP contract, and those that follow from it.
//
// A manager at rest takes 25 MiB, and 6 KiB for each run that exists. In the 256 MiB of its container
// there is room beside that for each of these bounds alone, and for 3,500 requests that wait together with
// all that can be done without a key (TestFloods). With 5,000 that took 230 MiB, and answers took up to 2 s,
// because the collector hardly rested. There is no room for all bounds at once, which takes a key and the
// intent to do harm.
func DefaultLimits() Limits {
	l := Limits{
		// Four times the largest set of variables, for their JSON escapes and for unknown members.
		BodyBytes: 256 << 10,
		// 1,000 files with paths of 480 bytes. The collector asks for those with longer ones in several requests.
		CollectBytes: 512 << 10,
		// The largest list and its signed URLs take some 5 MiB, so that all take 40 MiB. One with 500 files takes a few
		// milliseconds, and two requests to the store.
		Collecting: 8,
		// Less than the time after which collectors send a request again.
		CollectWait: 10 * time.Second,
		// A client that needs longer is broken, or an attack.
		HeaderTimeout: 10 * time.Second,
		// 256 KiB at 9 KiB/s: slower than any network that CI runs in.
		BodyTimeout: 30 * time.Second,
		// Longer than the 60 s of common proxies in front, so that they close a connection first.
		IdleTimeout: 75 * time.Second,
		// 1,024 for a single team. At a usual body of 1 KiB these cost some 30 MiB. A body of
		// SmallBodyBytes is in memory twice, as it came and as it is meant: another 36 MiB.
		InFlight: 1152,
		// Few notifications have more than 1 KiB. 64 of 256 KiB, which may stall for all of
		// BodyTimeout, cost some 40 MiB; without this bound InFlight of them would be 600 MiB, which
		// is more than the container has. Dry runs are among them because they look at each Trigger.
		Large:          64,
		SmallBodyBytes: 16 << 10,
		// 5,000 for a single team. A waiting request costs 26 KiB, 11 of them stacks, and up to 33
		// until the collector has run: all cost 145 to 180 MiB, the most of all bounds.
		Waiting: 5625,
		// Below the 60 s after which clients and proxies give up on a silent connection.
		MaxWait: 55 * time.Second,
		Limits:  runs.DefaultLimits(),
		// 16 for a single team. Each reads up to 8 records at once, of 250 KiB if its variables are as
		// large as they may be: 36 MiB at worst.
		Listing: 18,
	}
	l.setConnections()
	l.setLogs()
	return l
}

// setConnections sets what bounds connections and the heads of their requests.
func (l *Limits) setConnections() {
	// Room for the longest bearer token, 4 KiB, and the headers of a few proxies. Headers that do not
	// end cost up to 60 KiB, with what growing them leaves to the collector.
	l.HeaderBytes = 16 << 10
	// Proxies add a dozen. Without this bound 16 KiB of headers with one letter each cost 400 KiB.
	l.HeaderLines = 128
	// net/http does not have them yet, so one costs 5 KiB. More than the clients that wait, because these may
	// all come back at once.
	l.Silent = 6144
	// A new one replaces one whose request is not complete within 100 ms, so that 10,000 connections a second
	// do not lock out clients with a key. These cost 22 MiB.
	l.Unproven = 1024
	// More than a few proxies keep open for later. These cost 22 MiB.
	l.Idle = 1024
	// Few requests have so much, and theirs ends within a packet or two. At worst these cost 15 MiB,
	// and 32 MiB in the kernel.
	l.LargeHeads = 256
	// All of Unproven, Idle, InFlight and Waiting, and some that are being closed.
	l.Connections = 8192
}

// setLogs sets what bounds requests that read logs.
func (l *Limits) setLogs() {
	// Longer than nearly all runs. A client that finds its connection broken follows again.
	l.MaxFollow = 4 * time.Hour
	// A person does not notice the delay, and 200 requests that wait for pods ask the API server 100 times a second.
	l.PodPoll = 2 * time.Second
	// 32 KiB at 1 KiB/s. A client that reads slower holds a connection to a node.
	l.LogWrite = 30 * time.Second
}

// answerSlack is for writing an answer to a slow client.
const answerSlack = 15 * time.Second

// headerSlop is what net/http allows beyond MaxHeaderBytes, in bytes.
const headerSlop = 4 << 10

// Apply sets the limits that come before any handler. A notification may take the budget of its Dispatcher.
func (l Limits) Apply(s *http.Server, budget time.Duration) {
	s.MaxHeaderBytes = l.HeaderBytes - headerSlop
	s.ReadHeaderTimeout = l.HeaderTimeout
	s.ReadTimeout = l.HeaderTimeout + l.BodyTimeout
	s.WriteTimeout = l.BodyTimeout + budget + answerSlack
	s.IdleTimeout = l.IdleTimeout
}

const (
	// maxWaitingURL bounds the path and the query of a request that waits, in bytes: net/http keeps them
	// until it is answered.
	maxWaitingURL = 1 << 10

	// maxIdempotencyKey is the bound in the HTTP contract.
	maxIdempotencyKey = 255

	// retryAfter is the Retry-After of most answers: the pause of the clients that retry.
	retryAfter = 10 * time.Second

	// maxCollectFiles bounds the files of one request of a pod: as many as a run may keep.
	maxCollectFiles = record.MaxArtifacts

	// defaultRuns fit on two screens; maxRuns take 100 KiB.
	defaultRuns, maxRuns = 50, 100

	// defaultArtifacts and maxArtifacts bound a page of files: a run has at most 1,000. With its URL one takes 1 KiB.
	defaultArtifacts, maxArtifacts = 100, 1000

	// maxTail is more lines than a person reads.
	maxTail = 100_000

	// maxLogBytes bounds an answer with logs, in bytes. The log of a container is at most 16 MiB in the archive, and
	// by default 10 MiB on a node.
	maxLogBytes = 1 << 30

	// logBuffer is how much of a log is in memory, in bytes.
	logBuffer = 32 << 10

	// maxNamedLogs bounds how many logs a message names.
	maxNamedLogs = 20

	// maxTerminatedRuns bounds how many runs an answer names that end with their Environment.
	maxTerminatedRuns = 100

	// maxAuditedSuites bounds the audit line of a notification that matched very many Triggers.
	maxAuditedSuites = 100
)
