// Package limits bounds what clients can ask of the HTTP API, each bound with its reason.
package limits

import (
	"net/http"
	"time"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// Limits bound what clients can ask of a replica over HTTP; dispatch.Limits bound the notifications.
type Limits struct {
	HeaderBytes, HeaderLines int
	// Silent, Unproven, Idle and LargeHeads set listen.Bounds, and Connections its Total.
	Silent, Unproven, Idle, LargeHeads, Connections int
	BodyBytes                                       int64
	// InputBytes bounds a file to upload, if the request says its size, which InputSizeRequired demands; 0: no limit.
	InputBytes        int64
	InputSizeRequired bool
	// CollectBytes bounds the list of files of a pod, Collecting how many are answered at once, and CollectWait the wait of others.
	CollectBytes               int64
	Collecting                 int
	CollectWait                time.Duration
	HeaderTimeout, BodyTimeout time.Duration
	IdleTimeout                time.Duration
	// InFlight bounds the authenticated requests in flight. Of it, Large and Waiting, a team gets at most 8/9: see fairness.TeamLimiter.
	InFlight int
	// Large bounds those, and requests of pods, with a body of more than SmallBodyBytes or of unknown length, and dry runs.
	Large          int
	SmallBodyBytes int64
	// Waiting bounds the requests that wait for a run to end, which are not in flight, and MaxWait how long each waits.
	Waiting int
	MaxWait time.Duration
	runs.Limits
	// Archive bounds the requests that read from the archive.
	Archive int
	// HandedOn bounds the requests that other clusters are answering, without waits and logs. For one cluster, it is at most 8/9.
	HandedOn int
	// Agents bounds the requests of agents.
	Agents int
	// EventBytes bounds the body of an event, EventTimeout the time for it, and Events how many are answered at once. Of bodies whose
	// signature is not checked yet, UnverifiedBytes are in memory, and as much of sources that verified an event lately.
	EventBytes, UnverifiedBytes int64
	EventTimeout                time.Duration
	Events                      int
	// MaxFollow bounds how long a run is followed, PodPoll is how often to look for the next container, and LogWrite bounds each write.
	MaxFollow, PodPoll, LogWrite time.Duration
}

// Default returns the limits of the HTTP contract, and limits that follow from it. At rest, a manager takes 25 MiB, and 4 KiB per run.
// Its 256 MiB have room for each bound alone, and for 3,500 waiting requests with all that needs no key (TestFloods). With 5,000,
// answers took up to 2 s. All bounds at once do not fit, which takes a key and the intent to do harm.
func Default() Limits {
	l := Limits{
		BodyBytes: 256 << 10, // Four times the largest set of variables, for their JSON escapes and for unknown members.
		// 1,000 files with paths of 480 bytes. The collector asks for those with longer ones in several requests.
		CollectBytes:  512 << 10,
		Collecting:    8,                // The largest answer takes 5 MiB, so all take 40 MiB. One with 500 files takes a few milliseconds.
		CollectWait:   10 * time.Second, // Less than the time after which collectors send a request again.
		HeaderTimeout: 10 * time.Second, // A client that needs longer is broken, or an attack.
		BodyTimeout:   30 * time.Second, // 256 KiB at 9 KiB/s: slower than any network that CI runs in.
		// Longer than the 60 s of common proxies in front, so that they close a connection first.
		IdleTimeout: 75 * time.Second,
		// 1,024 for one team. With usual bodies of 1 KiB they cost 30 MiB; bodies of SmallBodyBytes are in memory twice: another 36 MiB.
		InFlight: 1152,
		// Few notifications have more than 1 KiB. 64 of 256 KiB, which may stall for BodyTimeout, cost 40 MiB. Dry runs look at each Trigger.
		Large:          64,
		SmallBodyBytes: 16 << 10,
		// 5,000 for one team. Each costs 26 KiB, 11 of them stacks, and up to 33 with garbage: 145 to 180 MiB, the most of all bounds.
		Waiting: 5625,
		MaxWait: 55 * time.Second, // Below the 60 s after which clients and proxies give up on a silent connection.
		Limits:  runs.DefaultLimits(),
		Archive: 18, // 16 for one team. Each reads up to 8 records of at most 250 KiB at once: 36 MiB.
		// 1,024 for one cluster: as many as may be in flight of one team.
		HandedOn: 1152,
		Agents:   16, // 14 for one team. Answers of MaxAgentAnswer are in memory as text and decoded: all of the largest take 110 MiB.
	}
	l.setConnections()
	l.setEvents()
	l.setLogs()
	return l
}

func (l *Limits) setConnections() {
	// Room for a bearer token of 8 KiB and the headers of a few proxies. Unfinished headers cost up to 60 KiB each, with garbage.
	l.HeaderBytes = 16 << 10
	l.HeaderLines = 128 // Proxies add a dozen. Without this bound 16 KiB of headers with one letter each cost 400 KiB.
	// net/http does not have them yet, so one costs 5 KiB. More than the waiting clients, which may all come back at once.
	l.Silent = 6144
	// A new connection replaces one without a whole head after 100 ms: 10,000 connections/s do not lock out clients with a key. 22 MiB.
	l.Unproven = 1024
	l.Idle = 1024 // More than a few proxies keep open for later. These cost 22 MiB.
	// Few requests have so much, and theirs ends within a packet or two. At worst these cost 15 MiB, and 32 MiB in the kernel.
	l.LargeHeads = 256
	l.Connections = 8192 // All of Unproven, Idle, InFlight and Waiting, and some that are being closed.
}

func (l *Limits) setEvents() {
	// Events take 10 to 30 KiB. The event of a check run also has its summary and its text, each of up to 65,535 characters, which may take
	// several bytes each. GitHub itself would send up to 25 MB, of events that start nothing.
	l.EventBytes = 512 << 10
	// Of 250 usual events, or 16 of the largest. To keep out a usual event of a source that takes nothing else, strangers must fill the
	// shares of 250 namespaces with such sources, or send all of it while the event arrives.
	l.UnverifiedBytes = 8 << 20
	l.EventTimeout = 5 * time.Second // Senders give up after ten seconds, and half of these are for the answer.
	l.Events = 64                    // 56 for one team. All of the largest take 32 MiB, usual ones 2 MiB.
}

func (l *Limits) setLogs() {
	l.MaxFollow = 4 * time.Hour // Longer than nearly all runs. A client that finds its connection broken follows again.
	// A person does not notice the delay, and 200 requests ask the API server 100 times a second.
	l.PodPoll = 2 * time.Second
	l.LogWrite = 30 * time.Second // 32 KiB at 1 KiB/s. A client that reads slower holds a connection to a node.
}

// answerSlack is for writing to a slow client.
const answerSlack = 15 * time.Second

// headerSlop is what net/http allows beyond MaxHeaderBytes, in bytes.
const headerSlop = 4 << 10

// Apply sets the limits that precede any handler. The Dispatcher has the budget.
func (l Limits) Apply(s *http.Server, budget time.Duration) {
	s.MaxHeaderBytes = l.HeaderBytes - headerSlop
	s.ReadHeaderTimeout = l.HeaderTimeout
	s.ReadTimeout = l.HeaderTimeout + l.BodyTimeout
	s.WriteTimeout = l.BodyTimeout + budget + answerSlack
	s.IdleTimeout = l.IdleTimeout
}

// Bounds that no installation changes.
const (
	MaxWaitingURL     = 1 << 10             // bounds the URL of a waiting request, in bytes: net/http keeps it until the answer
	MaxIdempotencyKey = 255                 // the bound in the HTTP contract
	RetryAfter        = 10 * time.Second    // the Retry-After of most answers: the pause of clients that retry
	MaxCollectFiles   = record.MaxArtifacts // bounds the files of one request of a pod: as many as a run may keep
	// DefaultRuns fit on two screens; MaxRuns take 100 KiB.
	DefaultRuns = 50
	MaxRuns     = 100
	// DefaultEnvironments and MaxEnvironments bound a page of Environments, which ends early with more than MaxPageWorkloads:
	// one takes half a KiB, of the images of its containers.
	DefaultEnvironments = 50
	MaxEnvironments     = 100
	MaxPageWorkloads    = 2000
	// DefaultTests and MaxTests bound a page of tests: each needs a request or two to the store. MaxTestName is the bound of reports, in
	// bytes.
	DefaultTests = 20
	MaxTests     = 100
	MaxTestName  = 512
	// DefaultDeployments and MaxDeployments bound a list of deployments: the archive has an object for each.
	DefaultDeployments = 50
	MaxDeployments     = 200
	// DefaultArtifacts and MaxArtifacts bound a page of files: a run has at most 1,000. With its URL one takes 1 KiB.
	DefaultArtifacts = 100
	MaxArtifacts     = 1000
	// MinVerdictAge and MaxVerdictAge bound maxAge of a verdict, as in spec.gate of an Environment: a run takes a minute, and no Suite is
	// kept for longer than a year.
	MinVerdictAge = time.Minute
	MaxVerdictAge = 8760 * time.Hour
	// ClusterTimeout is for an answer of another cluster, without what it was asked to wait: each look-up there has its own timeout, of 5 s.
	// ClusterGrace is how long a cluster that has a run waits for the others to deny it: most answer within a tenth of that.
	ClusterGrace   = time.Second
	ClusterTimeout = 15 * time.Second
	MaxTail        = 100_000 // more lines than a person reads
	// MaxLogBytes bounds an answer with logs. A container's log has at most 16 MiB in the archive, and by default 10 MiB on a node.
	MaxLogBytes       = 1 << 30
	LogBuffer         = 32 << 10 // how much of a log is in memory, in bytes
	MaxNamedLogs      = 20       // bounds how many logs a message names
	MaxTerminatedRuns = 100      // bounds how many runs an answer names that end with their Environment
	MaxAuditedSuites  = 100      // bounds the audit line of a notification that matched very many Triggers
	// MaxAgentBody bounds a request of an agent, in bytes: a manifest of 256 KiB with the escapes of JSON. MaxAgentAnswer bounds what a tool
	// reads of one answer of the API into memory: a page of runs has 100 KiB, and the explanations of 1,000 Triggers have 2 MiB. Logs are read
	// line by line.
	MaxAgentBody   = 512 << 10
	MaxAgentAnswer = 2 << 20
	// MaxAgentElements bounds the same by delegation.Elements, because another cluster may send anything: 1,000 explanations have 50,000.
	MaxAgentElements = 100_000
)
