package api

import "github.com/postflight-dev/postflight/internal/usecase/dispatch"

const noMatch dispatch.Decision = "no_match"

var decisions = []dispatch.Decision{dispatch.Created, dispatch.Duplicate, dispatch.Failed, dispatch.Unknown, dispatch.Gone, noMatch}

// record adds the decisions to the audit line and, except in a dry run, to the metrics.
func (a *API) record(r *Request, sent dispatch.Request, result dispatch.Result) {
	counts := map[dispatch.Decision]int{}
	var suites []string
	for _, t := range result.Triggers {
		counts[t.Decision]++
		if t.SuiteID != "" && len(suites) < maxAuditedSuites {
			suites = append(suites, t.SuiteID)
		}
	}
	if len(result.Triggers) == 0 {
		counts[noMatch] = 1
	}
	dryRun := sent.Mode == dispatch.DryRun
	r.audit = append(r.audit, "dryRun", dryRun, "sha", sent.Notification.SHA, "branch", sent.Notification.Branch)
	for _, d := range decisions {
		if counts[d] > 0 {
			r.audit = append(r.audit, string(d), counts[d])
		}
		if !dryRun {
			a.metrics.notifications.WithLabelValues(string(d)).Add(float64(counts[d]))
		}
	}
	r.audit = append(r.audit, "suites", suites)
}
