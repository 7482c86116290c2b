package objectstore

import "time"

const (
	// MinLifetime is the shortest validity of a signed URL that SigV4 allows.
	MinLifetime = time.Second
	// MaxLifetime is the longest.
	MaxLifetime = 7 * 24 * time.Hour

	// DefaultUploadLifetime lets CI start to upload what it has just built, and soon makes a URL in a log useless. An upload may end later.
	DefaultUploadLifetime = 15 * time.Minute

	askTimeout    = 5 * time.Second  // bounds how long the store may be silent. An answer normally takes milliseconds
	putTimeout    = time.Minute      // bounds an upload of the manager, which sends at most the log of a container, 16 MiB: 280 KB/s
	deletesAtOnce = 16               // how many objects are deleted at once: with 10 ms each, 1,600 per second
	askAttempts   = 2                // allows one repetition, in case the store closed the idle connection
	healthEvery   = 15 * time.Second // how old the metric and the readiness detail may be
	silentEvery   = 2 * time.Second  // how often a store that does not answer is checked; runs that wait for it continue so much later

	// credentialsEvery is how often files with credentials are checked: rotations are noticed in time, and signing needs no system call.
	credentialsEvery = time.Second

	// renewEvery is how often credentials that end before a URL are renewed: some sources have no longer ones. It is also the pause after a
	// failed renewal while the old ones are valid: a source that hangs holds up all requests to the store.
	renewEvery = time.Minute

	credentialsTimeout = 5 * time.Second // bounds a request to the cloud's own source of credentials
	credentialsPause   = 5 * time.Second // the pause if there are no valid ones, so that requests do not queue behind the source
	maxCredentialsFile = 64 << 10        // bounds a file with credentials, in bytes
)
