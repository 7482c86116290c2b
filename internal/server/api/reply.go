package api

import (
	"errors"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

type (
	reply       = httpapi.NotificationResult
	result      = httpapi.Result
	environment = httpapi.Environment
	problem     = httpapi.Problem
)

var differences = map[v1alpha1.Difference]httpapi.Difference{
	v1alpha1.DifferentURL:       httpapi.DifferentURL,
	v1alpha1.DifferentVariables: httpapi.DifferentVariables,
	v1alpha1.DifferentInputs:    httpapi.DifferentInputs,
	v1alpha1.UnknownInputs:      httpapi.UnknownInputs,

	v1alpha1.DifferentRepository:  httpapi.DifferentRepository,
	v1alpha1.DifferentEnvironment: httpapi.DifferentEnvironment,
}

func newReply(r dispatch.Result) *reply {
	reply := &reply{Results: make([]result, len(r.Triggers)), Environment: firstEnvironment(r)}
	for i, t := range r.Triggers {
		reply.Results[i] = newResult(t)
	}
	return reply
}

func newResult(t dispatch.TriggerResult) result {
	r := result{TriggerID: t.Trigger}
	switch t.Decision {
	case dispatch.Created:
		r.CreatedSuiteID = t.SuiteID
	case dispatch.Duplicate:
		r.DuplicateSuiteID = t.SuiteID
		if t.EndedAt != nil {
			r.DuplicateEndedAt = new(t.EndedAt.UTC())
		}
		for _, d := range t.Differs {
			r.DuplicateDiffers = append(r.DuplicateDiffers, differences[d])
		}
	default:
		r.FailureReason = t.Reason
	}
	return r
}

// firstEnvironment prefers one that exists. Clients want one, and the Triggers of a notification mostly share theirs.
func firstEnvironment(r dispatch.Result) *environment {
	for _, t := range r.Triggers {
		if t.Environment.UID != "" {
			return newEnvironment(t.Environment)
		}
	}
	if len(r.Triggers) == 0 || r.Triggers[0].Environment.Name == "" { // that of a Trigger that was left out is not known
		return nil
	}
	return newEnvironment(r.Triggers[0].Environment)
}

func newEnvironment(e *v1alpha1.Environment) *environment {
	return &environment{ID: string(e.UID), Alias: e.Name, IsStatic: e.Spec.Ephemeral == nil}
}

var dispatchCodes = map[dispatch.ErrorKind]string{
	dispatch.Overloaded:    "overloaded",
	dispatch.Unavailable:   "unavailable",
	dispatch.NamespaceGone: "run_not_found",
	dispatch.Forbidden:     "forbidden",

	dispatch.Rejected:            "refused",
	dispatch.RunNotFound:         "run_not_found",
	dispatch.RunFinished:         "run_finished",
	dispatch.RunUnfinished:       "run_unfinished",
	dispatch.EnvironmentNotFound: "environment_not_found",
	dispatch.EnvironmentStatic:   "environment_static",
}

// dispatchFailure has the known results, unless they are gone with the namespace.
func dispatchFailure(err error, r dispatch.Result) error {
	whole, ok := errors.AsType[*dispatch.Error](err)
	if !ok {
		return err
	}
	f := &failure{code: dispatchCodes[whole.Kind], message: whole.Message, cause: whole.Unwrap()}
	for _, t := range r.Triggers {
		if t.Decision != dispatch.Unknown && whole.Kind != dispatch.NamespaceGone {
			f.results = append(f.results, newResult(t))
		}
	}
	return f
}
