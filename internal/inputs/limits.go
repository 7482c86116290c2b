package inputs

import "time"

const (
	// MinLifetime is the shortest validity of a signed URL that SigV4 allows.
	MinLifetime = time.Second

	// MaxLifetime is the longest.
	MaxLifetime = 7 * 24 * time.Hour

	// DefaultUploadLifetime is long enough to start the upload of a file that CI has just built, and
	// so short that a URL found in a log is of no use. An upload that has begun may take longer.
	DefaultUploadLifetime = 15 * time.Minute

	// askTimeout bounds one question to the store. It answers in milliseconds, or is in trouble.
	askTimeout = 5 * time.Second

	// askAttempts of a question: the second meets a connection that the store closed while idle.
	askAttempts = 2

	// healthEvery is how old the metric and the readiness detail may be.
	healthEvery = 15 * time.Second

	// silentEvery is how often a store that gives no answer is asked, on behalf of all runs that wait
	// for it: about as long as they then wait for nothing.
	silentEvery = 2 * time.Second

	// credentialsEvery is how often files with credentials are looked at for a change: a rotation
	// is noticed before the old credentials are withdrawn, and signing costs no system call.
	credentialsEvery = time.Second

	// credentialsTimeout bounds a question to the cloud's own source of credentials.
	credentialsTimeout = 5 * time.Second

	// credentialsPause keeps requests from piling up behind a source of credentials that fails: it
	// is not asked again before.
	credentialsPause = 5 * time.Second

	// maxCredentialsFile bounds what is read of a file with credentials.
	maxCredentialsFile = 64 << 10
)
