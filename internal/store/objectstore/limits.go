package objectstore

import "time"

const (
	// MinLifetime is the shortest validity of a signed URL that SigV4 allows.
	MinLifetime = time.Second

	// MaxLifetime is the longest.
	MaxLifetime = 7 * 24 * time.Hour

	// DefaultUploadLifetime is long enough to start the upload of a file that CI has just built, and
	// so short that a URL in a log is soon useless. An upload that has begun may take longer.
	DefaultUploadLifetime = 15 * time.Minute

	// askTimeout bounds how long the store may be silent. An answer normally takes milliseconds.
	askTimeout = 5 * time.Second

	// putTimeout bounds an upload of the manager, which sends at most the log of a container, 16 MiB: 280 KB/s.
	putTimeout = time.Minute

	// deletesAtOnce is how many objects are deleted at once: with 10 ms each, 1,600 per second.
	deletesAtOnce = 16

	// askAttempts of a request: the second is for the case that the store closed the idle connection.
	askAttempts = 2

	// healthEvery is how old the metric and the readiness detail may be.
	healthEvery = 15 * time.Second

	// silentEvery is how often a store that does not answer is checked, for all runs that wait for it. After its
	// return they wait that much longer.
	silentEvery = 2 * time.Second

	// credentialsEvery is how often files with credentials are checked for a change: a rotation
	// is noticed before the old credentials are withdrawn, and signing needs no system call.
	credentialsEvery = time.Second

	// credentialsTimeout bounds a request to the cloud's own source of credentials.
	credentialsTimeout = 5 * time.Second

	// credentialsPause follows a failure of the source of credentials, so that requests do not queue
	// behind it.
	credentialsPause = 5 * time.Second

	// maxCredentialsFile bounds a file with credentials, in bytes.
	maxCredentialsFile = 64 << 10
)
