package ready

import "time"

const (
	requestTimeout = 10 * time.Second // of a request with its redirects: a server that needs longer is not ready
	maxBody        = 64 << 10         // bytes that are read of an answer: the version is at its beginning, or in a document of its own
	maxHeader      = 64 << 10         // bytes
	maxRedirects   = 5                // to another port, to https, to a language, to a slash, and one to spare

	maxQuote   = 100              // bytes of a message that quotes a server
	logAtLeast = 30 * time.Second // the interval of log lines while nothing changes
)
