package report

import (
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
)

// The bounds of a check. Lengths are in bytes. Its summary is a document of at most failure.MaxBytes and links: GitHub accepts 65,535
// characters.
const (
	maxTitle = 140 // of the description of a commit status on GitHub; the other bounds are longer

	// The fields of the Suite are longer than people want to read in a list.
	maxTestMessage     = 512
	maxAnnotationTitle = 255 // GitHub's, in characters
	maxURL             = 255 // of a commit status on GitLab
	maxPath            = 512 // as in the schema of the Suite
	maxShown           = 256 // of texts from a notification
	maxService         = 50  // in the name of a check: GitLab's has at most 255 characters, and the other parts may take 204

	// These are the bounds of the schema of the Suite.
	maxProblem        = 1024
	maxPullRequestURL = 1024
	maxRows           = 50  // of a comment: a row has at most 1.2 KiB, and GitHub accepts 65,536 characters
	maxRowMessage     = 256 // of a run in a row
	maxAnnotations    = 50  // what GitHub accepts in one request
)

// How often a request is sent to the code host.
const (
	queuedAfter   = 10 * time.Second // how long a run is queued before its check is written: most runs start sooner
	giveUpAfter   = 24 * time.Hour   // how long after its end a run is reported: outages of code hosts last hours
	rejectedRetry = 2 * time.Minute  // people change a token or a grant in minutes
)

// Limits bound what one credential writes on one host.
type Limits struct {
	PerMinute, PerHour int // content-creating requests
	InFlight           int // at once
}

// LimitsOf returns the limits of a code host.
func LimitsOf(service v1alpha1.HostingService) Limits {
	host := codehost.Of(service)
	return Limits{PerMinute: host.PerMinute, PerHour: host.PerHour, InFlight: 4}
}

const (
	// These bound the pause after a host failed, which doubles each time.
	blockMin  = time.Second
	blockMax  = 30 * time.Second
	busyRetry = time.Second // while other requests are in flight

	// ShortWait bounds waits that hundreds of runs may share. Longer ones are for one credential, which may be replaced meanwhile.
	ShortWait  = blockMax
	budgetKept = time.Hour // how long an unused Budget is kept: the longest window
)
