package report

import "github.com/postflight-dev/postflight/api/v1alpha1"

// Request is a check to post.
type Request struct {
	Target
	Credentials Credentials
	Check       Check

	// Last is what was posted before, as far as the Suite knows.
	Last v1alpha1.SuiteReport

	// Unsure says that more may have been posted than Last: the outcome of a request is unknown, or another leader
	// began. The code host is asked before anything is written.
	Unsure bool
}

// Shown is what the code host shows after a request.
func (r Request) Shown(phase v1alpha1.ReportPhase, checkID int64) v1alpha1.SuiteReport {
	return v1alpha1.SuiteReport{HostingService: r.Service, Repository: r.Repository, Phase: phase, CheckID: checkID}
}

// Missing reports whether a phase that the code host shows is earlier than that of the check.
func (r Request) Missing(shown v1alpha1.ReportPhase) bool { return after(r.Check.Phase, shown) }
