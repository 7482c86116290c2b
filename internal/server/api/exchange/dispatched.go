package exchange

import (
	"errors"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

type result = httpapi.Result

var differences = map[v1alpha1.Difference]httpapi.Difference{
	v1alpha1.DifferentURL:       httpapi.DifferentURL,
	v1alpha1.DifferentVariables: httpapi.DifferentVariables,
	v1alpha1.DifferentInputs:    httpapi.DifferentInputs,
	v1alpha1.UnknownInputs:      httpapi.UnknownInputs,

	v1alpha1.DifferentRepository:  httpapi.DifferentRepository,
	v1alpha1.DifferentEnvironment: httpapi.DifferentEnvironment,
}

// NewReply is the answer to a notification.
func NewReply(r dispatch.Result) *httpapi.NotificationResult {
	reply := &httpapi.NotificationResult{Results: make([]result, len(r.Triggers)), Environment: firstEnvironment(r)}
	for i, t := range r.Triggers {
		reply.Results[i] = NewResult(t)
	}
	return reply
}

// NewResult is the part of the answer for one Trigger.
func NewResult(t dispatch.TriggerResult) result {
	if t.Handed != nil {
		return *t.Handed
	}
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

// firstEnvironment prefers an Environment that exists. Clients want one, and the Triggers of a notification mostly share it.
func firstEnvironment(r dispatch.Result) *httpapi.Environment {
	for _, t := range r.Triggers {
		if t.Environment.UID != "" {
			return newEnvironment(t.Environment)
		}
	}
	if len(r.Triggers) == 0 || r.Triggers[0].Environment.Name == "" { // unknown for a Trigger that was left out
		return nil
	}
	return newEnvironment(r.Triggers[0].Environment)
}

func newEnvironment(e *v1alpha1.Environment) *httpapi.Environment {
	return &httpapi.Environment{ID: string(e.UID), Alias: e.Name, IsStatic: e.Spec.Ephemeral == nil}
}

var dispatchCodes = map[dispatch.ErrorKind]string{
	dispatch.Overloaded:    "overloaded",
	dispatch.Unavailable:   "unavailable",
	dispatch.NamespaceGone: "run_not_found",
	dispatch.Forbidden:     "forbidden",
	dispatch.Loop:          "loop",

	dispatch.ClusterRefused:     "cluster_refused",
	dispatch.ClusterUnavailable: "cluster_unavailable",

	dispatch.Rejected:            "refused",
	dispatch.RunNotFound:         "run_not_found",
	dispatch.RunFinished:         "run_finished",
	dispatch.RunUnfinished:       "run_unfinished",
	dispatch.EnvironmentNotFound: "environment_not_found",
	dispatch.EnvironmentStatic:   "environment_static",
}

// DispatchFailure has the known results, unless they are gone with the namespace.
func DispatchFailure(err error, r dispatch.Result) error {
	failed, ok := errors.AsType[*dispatch.Error](err)
	if !ok {
		return err
	}
	f := &Failure{Code: dispatchCodes[failed.Kind], Message: failed.Message, Cause: failed.Unwrap()}
	for _, t := range r.Triggers {
		if t.Decision != dispatch.Unknown && failed.Kind != dispatch.NamespaceGone {
			f.Results = append(f.Results, NewResult(t))
		}
	}
	return f
}

const noMatch dispatch.Decision = "no_match"

var decisions = []dispatch.Decision{dispatch.Created, dispatch.Duplicate, dispatch.Failed, dispatch.Unknown, dispatch.Gone, noMatch}

// Record adds the decisions to the audit line and, except in a dry run, to the metrics.
func (s *Server) Record(r *Request, sent dispatch.Request, result dispatch.Result) {
	counts := map[dispatch.Decision]int{}
	var suites []string
	for _, t := range result.Triggers {
		counts[t.Decision]++
		if t.SuiteID != "" && len(suites) < limits.MaxAuditedSuites {
			suites = append(suites, t.SuiteID)
		}
	}
	if len(result.Triggers) == 0 {
		counts[noMatch] = 1
	}
	dryRun := sent.Mode == dispatch.DryRun
	r.AddToAudit("dryRun", dryRun, "sha", sent.Notification.SHA, "branch", sent.Notification.Branch)
	for _, d := range decisions {
		if counts[d] > 0 {
			r.AddToAudit(string(d), counts[d])
		}
		if !dryRun {
			s.metrics.notifications.WithLabelValues(string(d)).Add(float64(counts[d]))
		}
	}
	r.AddToAudit("suites", suites)
}

// InvalidBody is the failure of a body that was read and says something wrong.
func InvalidBody(err error) error {
	f := &Failure{Code: "invalid_body", Message: err.Error()}
	if invalid, ok := errors.AsType[*notification.InvalidError](err); ok {
		f.Field = invalid.Field
	}
	return f
}

// Command is for what the sender does to runs.
func (r *Request) Command() dispatch.Command {
	return dispatch.Command{
		Team: r.Principal.Team, By: r.Principal.Sender.Text, RequestID: r.ID, ReceivedAt: r.ReceivedAt, Grant: r.Principal.Grant,
	}
}
