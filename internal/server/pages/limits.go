package pages

import (
	"time"

	"github.com/postflight-dev/postflight/internal/server/signin"
)

// Limits bound what browsers can ask of a replica. They are the same in every replica.
type Limits struct {
	// Rendering bounds the pages that are being rendered or sent. Of it and of Streaming, one team gets at most 8/9:
	// see fairness.TeamLimiter. Visitors without a team share one part.
	Rendering int

	// Streaming bounds the live pages. Logs that are being followed have runs.Limits.Logs.
	Streaming int

	// Unsent bounds, in bytes, what has been rendered and not been read by the browsers that it is for.
	Unsent int

	// Sending bounds the files and logs that are being sent, which may take long.
	Sending int

	// Listing bounds the lists with runs of the archive, which read records.
	Listing int

	// Reading bounds the logs that are being read for a page or searched.
	Reading int

	// Visiting bounds the requests that wait for the provider of identities.
	Visiting int

	// Renders bounds how often a second the live pages of one team are rendered, at first or again.
	Renders int

	// Interval is the shortest time between two versions of a live page.
	Interval time.Duration

	// Recheck is how often a live page checks whether its reader may still read it.
	Recheck time.Duration

	// Refresh is how often a live page is rendered again without an event: of durations, of files that are uploaded
	// and of logs that begin, no event tells.
	Refresh time.Duration

	// Heartbeat is how often something is sent on a live page, so that proxies do not close it.
	Heartbeat time.Duration

	// StreamFor bounds a live page: the browser then connects again, perhaps to another replica. ProxiedFor is the same
	// for readers whom a proxy has authenticated.
	StreamFor, ProxiedFor time.Duration

	// ProxiedFilesFor is how long, from the full hour on, they can open links to files: nobody says what became of them.
	ProxiedFilesFor time.Duration

	// UnconfirmedFor is how long a live page goes on while its reader's rights cannot be looked up.
	UnconfirmedFor time.Duration

	// WriteTimeout is how long a browser may take to read an answer, or a version of a live page.
	WriteTimeout time.Duration

	// SessionFor is how long somebody stays signed in.
	SessionFor time.Duration

	// FormBytes bounds a form.
	FormBytes int64

	// PageRuns is how many runs a list shows at once.
	PageRuns int
}

// DefaultLimits are the limits, each with its reason.
func DefaultLimits() Limits {
	return Limits{
		// A page of runs takes 2 ms and some 300 KiB: 64 at once are 20 MiB, and more than two cores can do.
		Rendering: 72,
		// 1,000 for a team that is alone. A live page keeps a connection and two stacks, and what it shows only until it is read.
		Streaming: 1125,
		// A live page or page of 50 KiB for 500 browsers that do not read, or lines of a log for all who follow one.
		Unsent: 32 << 20,
		// Each has a connection to the store and buffers of 100 KiB: 14 MiB. Browsers load six pictures at once.
		Sending: 144,
		// Each reads up to 8 records at once, of 250 KiB if their variables are as large as they may be: 18 MiB at worst.
		Listing: 9,
		// Each reads up to 16 MiB, which takes a tenth of a second, and keeps 1 MiB of it.
		Reading: 9,
		// Each may wait for 10 s, and costs a connection to the provider. Who signs in with a key waits for none of them.
		Visiting: 72,
		// At 2 ms each, a tenth of a core. A page of a busy team that many watch comes a little later.
		Renders: 50,
		// A person cannot read faster, and a busy team has several changes a second.
		Interval: time.Second,
		// A key that was revoked ends its live pages within a second.
		Recheck: 500 * time.Millisecond,
		// People look again after a while.
		Refresh: 15 * time.Second,
		// Common proxies close a silent connection after 60 s.
		Heartbeat: 20 * time.Second,
		// Long enough to be rare, and short enough to spread live pages over replicas after a rollout.
		StreamFor: 30 * time.Minute,
		// Whoever loses a group at the proxy loses open pages soon, for two requests a minute.
		ProxiedFor: 30 * time.Second,
		// At least an hour, for a report that loads its parts when they are looked at.
		ProxiedFilesFor: 2 * time.Hour,
		// Longer than a provider or an API server needs to restart.
		UnconfirmedFor: time.Minute,
		// A page of 100 KiB at 4 KiB/s, on the worst phone network.
		WriteTimeout: 30 * time.Second,
		SessionFor:   signin.SessionFor,
		// The longest API key has 4 KiB.
		FormBytes: 16 << 10,
		// Several screens, and 6 KiB compressed.
		PageRuns: 50,
	}
}
