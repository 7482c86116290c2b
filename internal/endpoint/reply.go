package endpoint

import (
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// What travels over HTTP.
type (
	reply       = httpapi.NotificationResult
	result      = httpapi.Result
	environment = httpapi.Environment
	problem     = httpapi.Problem
)

func named(name string) *environment { return &environment{Alias: name, IsStatic: true} }

func describe(e *v1alpha1.Environment) *environment {
	return &environment{ID: string(e.UID), Alias: e.Name, IsStatic: e.Spec.Ephemeral == nil}
}

// reply makes one answer of all outcomes. A run that is known is always told: its id may be the only
// thing that leads to it. So a notification of which some Triggers' outcome is not known fails as a
// whole only where there is no run to tell of; otherwise those Triggers have a failure_reason, which
// says that it is not known.
func (o *order) reply(outcomes []outcome) (*reply, error) {
	results := make([]result, len(outcomes))
	for i, outcome := range outcomes {
		results[i] = outcome.result()
	}
	if !has(outcomes, created) && !has(outcomes, duplicate) {
		switch {
		case has(outcomes, unknown):
			return nil, o.failAsAWhole(outcomes)
		case has(outcomes, gone):
			return nil, &failure{code: "run_not_found",
				message: "Run not found: the namespace of the team is missing or being deleted. Ask the operator of this service."}
		}
	}
	return &reply{Results: results, Environment: firstEnvironment(outcomes)}, nil
}

// failAsAWhole tells a server that had no room from a cluster that did not answer.
func (o *order) failAsAWhole(outcomes []outcome) error {
	f := &failure{code: "unavailable", results: settled(outcomes), message: o.undecided()}
	if o.hold.wasTurnedAway() {
		f.code = "overloaded"
	}
	return f
}

func (o outcome) result() result {
	r := result{TriggerID: o.trigger}
	switch o.decision {
	case created:
		r.CreatedSuiteID = o.suiteID
	case duplicate:
		r.DuplicateSuiteID = o.suiteID
	default:
		r.FailureReason = o.reason
	}
	return r
}

func has(outcomes []outcome, d decision) bool {
	return slices.ContainsFunc(outcomes, func(o outcome) bool { return o.decision == d })
}

// settled are the results that are known for good, for a client that is told of a failure.
func settled(outcomes []outcome) []result {
	var results []result
	for _, o := range outcomes {
		if o.decision != unknown {
			results = append(results, o.result())
		}
	}
	return results
}

// firstEnvironment is that of the first Trigger whose Environment exists, or else of the first.
// Clients want one; Triggers of one notification mostly share theirs.
func firstEnvironment(outcomes []outcome) *environment {
	for _, o := range outcomes {
		if o.environment.ID != "" {
			return o.environment
		}
	}
	if len(outcomes) == 0 {
		return nil
	}
	return outcomes[0].environment
}
