package endpoint

import "slices"

// record counts what came of a notification, and adds it to the audit line. A dry run is not
// counted: nothing came of it.
func (a *API) record(r *Request, o *order, outcomes []outcome) {
	counts := map[decision]int{}
	var suites []string
	for _, outcome := range outcomes {
		counts[outcome.decision]++
		if outcome.suiteID != "" {
			suites = append(suites, outcome.suiteID)
		}
	}
	if len(outcomes) == 0 {
		counts[noMatch] = 1
	}
	r.audit = append(r.audit, "dryRun", o.dryRun, "sha", o.notification.SHA, "branch", o.notification.Branch)
	for _, d := range []decision{created, duplicate, failed, unknown, gone, noMatch} {
		if counts[d] > 0 {
			r.audit = append(r.audit, string(d), counts[d])
		}
		if !o.dryRun {
			a.metrics.notifications.WithLabelValues(string(d)).Add(float64(counts[d]))
		}
	}
	r.audit = append(r.audit, "suites", slices.Clip(suites[:min(len(suites), maxAuditedSuites)]))
}
