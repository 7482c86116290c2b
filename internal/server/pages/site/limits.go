package site

import (
	"time"

	"github.com/postflight-dev/postflight/internal/server/signin"
)

// Limits bound what browsers can ask of a replica. A team gets at most 8/9 of each: see fairness.TeamLimiter. Visitors share one part.
type Limits struct {
	Rendering int // pages that are being rendered or sent
	Streaming int // live pages; logs that are being followed have runs.Limits.Logs
	Unsent    int // bytes that were rendered and that browsers have not read
	Sending   int // files and logs that are being sent, which may take long
	Archive   int // lists with runs of the archive, which read records, and pages of tests and insights, which read summaries
	Reading   int // logs that are being read for a page or searched
	Visiting  int // requests that wait for the provider of identities
	Renders   int // how often a second the live pages of one team are rendered

	Interval        time.Duration // between two versions of a live page, at least
	Recheck         time.Duration // between checks whether the reader of a live page may still read it
	Refresh         time.Duration // until a live page is rendered again without an event: files and logs cause none
	Heartbeat       time.Duration // until something is sent on a live page, so that proxies do not close it
	StreamFor       time.Duration // of a live page: the browser then connects again, perhaps to another replica
	ProxiedFor      time.Duration // the same, for readers whom a proxy has authenticated
	ProxiedFilesFor time.Duration // how long they can open links to files, from the full hour on
	UnconfirmedFor  time.Duration // how long a live page continues while its reader's rights cannot be looked up
	WriteTimeout    time.Duration // for a browser to read an answer, or a version of a live page
	SessionFor      time.Duration

	FormBytes int64
	PageRuns  int // runs of a list
}

// DefaultLimits are the limits, each with its reason.
func DefaultLimits() Limits {
	return Limits{
		Rendering: 72, // A page of runs takes 2 ms and some 300 KiB: 64 at once are 20 MiB, and more than two cores can do.
		// 1,000 for a team that is alone. A live page keeps a connection and two stacks, and what it shows only until it is read.
		Streaming: 1125,
		// A live page or page of 50 KiB for 500 browsers that do not read, or lines of a log for all who follow one.
		Unsent: 32 << 20,
		// Each has a connection to the store and buffers of 100 KiB: 14 MiB. Browsers load six pictures at once.
		Sending: 144,
		// Each reads up to 8 records at once, of 250 KiB if their variables are as large as they may be: 18 MiB at worst.
		Archive: 9,
		Reading: 9, // Each reads up to 16 MiB, which takes a tenth of a second, and keeps 1 MiB of it.
		// Each may wait for 10 s, and costs a connection to the provider. Signing in with a key waits for none of them.
		Visiting:  72,
		Renders:   50,                     // At 2 ms each, a tenth of a core. A page of a busy team that many watch comes a little later.
		Interval:  time.Second,            // A person cannot read faster, and a busy team has several changes a second.
		Recheck:   500 * time.Millisecond, // A key that was revoked ends its live pages within a second.
		Refresh:   15 * time.Second,       // People look again after a while.
		Heartbeat: 20 * time.Second,       // Common proxies close a silent connection after 60 s.
		// Long enough to be rare, and short enough to spread live pages over replicas after a rollout.
		StreamFor: 30 * time.Minute,
		// A person who loses a group at the proxy loses open pages soon, at two requests a minute.
		ProxiedFor:      30 * time.Second,
		ProxiedFilesFor: 2 * time.Hour,    // At least an hour, for a report that loads its parts when they are looked at.
		UnconfirmedFor:  time.Minute,      // Longer than a provider or an API server needs to restart.
		WriteTimeout:    30 * time.Second, // A page of 100 KiB at 4 KiB/s, on the worst phone network.
		SessionFor:      signin.SessionFor,
		FormBytes:       16 << 10, // The longest API key has 4 KiB.
		PageRuns:        50,       // Several screens, and 6 KiB compressed.
	}
}
