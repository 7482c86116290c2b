package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// Clusters hand requests on to other clusters. Their errors are *delegation.Error.
type Clusters interface {
	Notify(ctx context.Context, cluster string, h delegation.Notification) (*httpapi.NotificationResult, error)
	// Terminate returns nothing if the cluster has no such Environment.
	Terminate(ctx context.Context, cluster string, h delegation.Command, t *notification.Termination) (*httpapi.TerminationResult, error)
}

// errLoop keeps hubs from handing on to each other for ever.
var errLoop = &Error{Kind: Loop, Message: "A hub sent this request, and its Environments are in yet another cluster. " +
	"Name that one in spec.cluster of the hub's Environments."}

// targets returns the clusters that the notification is handed on to, and the Environments elsewhere that do not take its type. What starts
// in this cluster concerns no other.
func (o *operation) targets(ctx context.Context) (targets []delegation.Target, withheld []string, err error) {
	if o.OnlyHere || o.Origin.trigger != nil || o.Origin.environment != "" {
		return nil, nil, nil
	}
	all, err := o.elsewhere(ctx)
	if err != nil {
		return nil, nil, err
	}
	return delegation.TargetsOf(all, o.Notification.DeploymentType), delegation.Withheld(all, o.Notification.DeploymentType), nil
}

// elsewhere returns the Environments of the team in other clusters that exist for the sender.
func (o *operation) elsewhere(ctx context.Context) ([]*v1alpha1.Environment, error) {
	if o.Clusters == nil {
		return nil, nil
	}
	all, err := index.Elsewhere(ctx, o.Cache, o.namespace)
	if err == nil && len(all) > 0 && o.Grant.Delegated() {
		all = slices.DeleteFunc(all, func(e *v1alpha1.Environment) bool { return !o.Grant.Knows(e.Name) })
		if len(all) > 0 {
			return nil, errLoop
		}
	}
	return all, err
}

// handOn asks all clusters at once, so that an unavailable cluster delays no other.
func (o *operation) handOn(ctx context.Context, targets []delegation.Target) ([]TriggerResult, []httpapi.Explanation) {
	results, explanations := make([][]TriggerResult, len(targets)), make([][]httpapi.Explanation, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() {
			answer, err := o.handOnTo(ctx, t)
			if err != nil {
				results[i] = []TriggerResult{o.handOnFailure(ctx, t, err)}
				return
			}
			results[i], explanations[i] = resultsOf(t.Cluster, answer), answer.Explanations
		})
	}
	all.Wait()
	return slices.Concat(results...), slices.Concat(explanations...)
}

func (o *operation) handOnTo(ctx context.Context, t delegation.Target) (answer *httpapi.NotificationResult, err error) {
	h := delegation.Notification{
		Command: o.handedOn(t), Notification: o.Notification, DryRun: o.Mode == DryRun, Rerun: o.Request.Rerun,
		// Without a key, an attempt whose answer was lost would be another deployment, or another rerun.
		IdempotencyKey: cmp.Or(o.IdempotencyKey, "hub/"+o.RequestID),
	}
	h.Delegation.Event, h.Delegation.DeployedAt = o.Origin.Kind() == v1alpha1.OriginEvent, o.Origin.deployedAt
	h.Delegation.Post = o.Origin.post
	err = o.retrier.do(ctx, o.guarded(func(ctx context.Context) (err error) {
		h.Delegation.HeldFor = o.Clock.Since(o.ReceivedAt)
		answer, err = o.Clusters.Notify(ctx, t.Cluster, h)
		if failed, ok := errors.AsType[*delegation.Error](err); ok {
			failed.Final = o.Mode == DryRun // a person waits for it
		}
		return err
	}))
	return answer, err
}

// FromHub adds what a hub says about the notification: it may have held it while the cluster did not answer, and what was deployed since
// may have come before it.
func (r Request) FromHub(d *delegation.Delegation) Request {
	r.heldFor = min(max(d.HeldFor, 0), delegation.MaxHeld)
	if d.Event {
		r.Origin = FromEvent(d.DeployedAt)
	}
	return r
}

func (o *operation) handedOn(t delegation.Target) delegation.Command {
	return delegation.Command{Team: o.Team, RequestID: o.RequestID, Delegation: delegation.Delegation{
		For: o.By, Environments: t.Environments,
		Bounds: grant.Bounds{DeploymentTypes: o.Grant.DeploymentTypes, Environments: o.Grant.Environments},
	}}
}

func (o *operation) handOnFailure(ctx context.Context, t delegation.Target, err error) TriggerResult {
	result := TriggerResult{Cluster: t.Cluster, Trigger: t.Cluster, Decision: Unknown, Environment: &v1alpha1.Environment{}}
	failed, _ := errors.AsType[*delegation.Error](err)
	logr.FromContextOrDiscard(ctx).Info("a notification was not handed on", "cluster", t.Cluster, "cause", err.Error())
	switch {
	case o.Mode == DryRun && failed != nil && !failed.Refused:
		result.Decision = Failed
		result.Reason = failed.Sentence(t.Cluster) + ", so it is not known which of its Triggers match. Ask again."
	case failed == nil:
		result.Reason = o.unknownBecause(fmt.Sprintf("The cluster %s did not answer within %s", t.Cluster, o.Budget))
	case failed.Refused:
		result.Decision, result.Reason = Failed, failed.Sentence(t.Cluster)+"."
	default:
		result.Reason = o.unknownBecause(failed.Sentence(t.Cluster))
	}
	return result
}

// resultsOf returns what a cluster answered as if it was done here.
func resultsOf(cluster string, answer *httpapi.NotificationResult) []TriggerResult {
	env := &v1alpha1.Environment{}
	if e := answer.Environment; e != nil {
		env.Name, env.UID = e.Alias, types.UID(e.ID)
		if !e.IsStatic {
			env.Spec.Ephemeral = &v1alpha1.EphemeralEnvironment{}
		}
	}
	results := make([]TriggerResult, len(answer.Results))
	for i, r := range answer.Results {
		t := TriggerResult{
			Cluster: cluster, Trigger: r.TriggerID, Decision: Failed, SuiteID: r.RunID(), Reason: r.FailureReason, Environment: env, Handed: &r,
		}
		switch {
		case r.CreatedSuiteID != "":
			t.Decision = Created
		case r.DuplicateSuiteID != "":
			t.Decision = Duplicate
			if r.DuplicateEndedAt != nil {
				t.EndedAt = &metav1.Time{Time: *r.DuplicateEndedAt}
			}
		}
		results[i] = t
	}
	return results
}

// explained adds what other clusters say of their Triggers.
func explained(own iter.Seq[match.Explanation], others []httpapi.Explanation) iter.Seq[match.Explanation] {
	return func(yield func(match.Explanation) bool) {
		for e := range own {
			if !yield(e) {
				return
			}
		}
		for _, e := range others {
			if !yield(match.ExplanationOf(e)) {
				return
			}
		}
	}
}

// terminateElsewhere asks all clusters at once, because only they know whether they have an ephemeral Environment. The first that had it
// is enough: others may be unavailable.
func (o *operation) terminateElsewhere(ctx context.Context, t *notification.Termination) (ended []Terminated, err error) {
	elsewhere, err := o.elsewhere(ctx)
	if err != nil {
		return nil, err
	}
	targets := delegation.Targets(elsewhere)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers, errs := make([]*httpapi.TerminationResult, len(targets)), make([]error, len(targets))
	var all sync.WaitGroup
	for i, target := range targets {
		all.Go(func() {
			errs[i] = o.retrier.do(ctx, o.guarded(func(ctx context.Context) (err error) {
				answers[i], err = o.Clusters.Terminate(ctx, target.Cluster, o.handedOn(target), t)
				return err
			}))
			if answers[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	for i, target := range targets {
		ended = append(ended, terminatedOf(answers[i])...)
		if errs[i] != nil {
			err = terminationError(target.Cluster, errs[i])
		}
	}
	if len(ended) > 0 {
		err = nil
	}
	return ended, err
}

// guarded keeps a panic over the answer of one cluster from hiding the answers of others.
func (o *operation) guarded(ask func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				logr.FromContextOrDiscard(ctx).Error(fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "the answer of a cluster could not be read")
				err = &delegation.Error{Final: true, Message: "gave an answer that cannot be read"}
			}
		}()
		return ask(ctx)
	}
}

// terminationError has the kinds that questions to the cluster have.
func terminationError(cluster string, err error) error {
	failed, ok := errors.AsType[*delegation.Error](err)
	if !ok || !failed.Refused {
		return &Error{Kind: ClusterUnavailable, cause: err, Message: fmt.Sprintf("The cluster %s does not answer, so it is not known whether it "+
			"has this environment. Send the request again: it does the same however often it is sent.", cluster)}
	}
	return &Error{Kind: ClusterRefused, cause: err, Message: failed.Sentence(cluster) + "."}
}

func terminatedOf(answer *httpapi.TerminationResult) (ended []Terminated) {
	if answer == nil {
		return nil
	}
	for _, r := range answer.Results {
		ended = append(ended, Terminated{Runs: r.Runs, Environment: &v1alpha1.Environment{
			ObjectMeta: metav1.ObjectMeta{Name: r.EnvironmentAlias, UID: types.UID(r.EnvironmentID)},
		}})
	}
	return ended
}
