package report

import (
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// The bounds of a check. Lengths are in bytes.
const (
	// maxSummary is below GitHub's bound of 65,535 characters, and leaves room for what surrounds the failures.
	maxSummary = 60000

	// maxTitle is the bound of the description of a commit status on GitHub, which is the shorter one.
	maxTitle = 140

	// maxMessage bounds the message of a run, and maxTestName and maxTestMessage that of a test. The fields of the
	// Suite are longer than people want to read in a list.
	maxMessage     = 1024
	maxTestName    = 256
	maxTestMessage = 512

	// maxAnnotationTitle is GitHub's bound, in characters.
	maxAnnotationTitle = 255

	// maxURL is the bound of the URL of a commit status on GitLab.
	maxURL = 255

	// maxPath is the bound of the file of a failure in the schema of the Suite.
	maxPath = 512

	// maxShown bounds texts from a notification.
	maxShown = 256

	// maxProblem is the bound of a problem in the schema of the Suite, and maxPullRequestURL that of the URL.
	maxProblem        = 1024
	maxPullRequestURL = 1024

	// maxRows bounds the runs of a comment. A row has at most 1.2 KiB, and GitHub accepts 65,536 characters.
	maxRows = 50

	// maxRowMessage bounds the message of a run in a row.
	maxRowMessage = 256

	// maxAnnotations is what GitHub accepts in one request.
	maxAnnotations = 50
)

// How often the code host is asked, and how patiently.
const (
	// queuedAfter is how long a run is queued before its check is written: most runs start sooner.
	queuedAfter = 10 * time.Second

	// GiveUpAfter is how long after its end a run is reported. Outages of code hosts last hours.
	GiveUpAfter = 24 * time.Hour

	// RejectedRetry is the wait after a rejection: people change a token or a grant in minutes.
	RejectedRetry = 2 * time.Minute
)

// Limits bound what one credential writes on one host.
type Limits struct {
	PerMinute, PerHour int // content-creating requests
	InFlight           int // at once
}

// LimitsOf returns the Limits of a code host. GitHub's documentation allows 80 content-creating requests a minute and 500 an hour.
// GitLab.com allows 2,000 requests a minute; these limits protect small servers.
func LimitsOf(service v1alpha1.HostingService) Limits {
	if service == v1alpha1.GitLab {
		return Limits{PerMinute: 300, PerHour: 6000, InFlight: 4}
	}
	return Limits{PerMinute: 80, PerHour: 500, InFlight: 4}
}

const (
	// blockMin and blockMax bound the pause after a host failed, which doubles each time.
	blockMin = time.Second
	blockMax = 30 * time.Second

	// busyRetry is when to ask again while others are in flight.
	busyRetry = time.Second

	// ShortWait bounds waits that hundreds of runs may share. Longer ones are for one credential, which may be replaced
	// meanwhile.
	ShortWait = blockMax

	// budgetKept is how long an unused Budget is kept: the longest window.
	budgetKept = time.Hour
)
