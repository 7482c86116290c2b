package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/notification"
)

// order is one notification on its way to its Suites.
type order struct {
	api            *API
	hold           *hold
	team           string
	namespace      string
	bounds         suiteBounds
	notification   *notification.Notification
	idempotencyKey string
	dryRun         bool
	receivedAt     time.Time // by the clock of this replica, for durations
	serverTime     time.Time // the same by the API server's clock, for what is stored
	id             string    // of this request and no other
}

// decision is what came of a Trigger that matched.
type decision string

const (
	created   decision = "created"
	duplicate decision = "duplicate"
	failed    decision = "failed"
	unknown   decision = "unknown" // the API server did not say
	gone      decision = "gone"    // the namespace vanished
	noMatch   decision = "no_match"
)

// outcome is what came of one Trigger, and why.
type outcome struct {
	trigger     string
	decision    decision
	suiteID     string       // of created and duplicate
	reason      string       // of the others, as a sentence
	environment *environment // where the run is, or would be
}

// carryOut deals with every Trigger, several at a time. The outcomes are in the order of the
// Triggers, and none depends on another.
func (o *order) carryOut(ctx context.Context, triggers []*v1alpha1.Trigger) []outcome {
	o.hold = o.api.newHold(o.team, o.receivedAt)
	defer o.hold.release()
	outcomes := make([]outcome, len(triggers))
	if len(triggers) == 1 {
		outcomes[0] = o.guarded(ctx, triggers[0])
		return outcomes
	}
	slots := make(chan struct{}, o.atOnce())
	var all sync.WaitGroup
	for i, t := range triggers {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			outcomes[i] = o.guarded(ctx, t)
		})
	}
	all.Wait()
	return outcomes
}

// atOnce is how many Triggers are dealt with at the same time: the fewer, the larger their Suites,
// each of which is in memory as JSON while the API server takes it.
func (o *order) atOnce() int {
	variables, err := json.Marshal(o.notification.Variables)
	if err != nil { // a map of strings is always JSON
		return 1
	}
	return max(1, min(o.api.Limits.TriggersAtOnce, o.api.Limits.SuiteBytesAtOnce/len(variables)))
}

// guarded keeps a panic over one Trigger from ending the process, or hiding the others' results.
func (o *order) guarded(ctx context.Context, t *v1alpha1.Trigger) (result outcome) {
	defer func() {
		if p := recover(); p != nil {
			logr.FromContextOrDiscard(ctx).Error(recovered(p), "a Trigger's Suite could not be created", "trigger", t.Name)
			result = outcome{trigger: t.Name, decision: failed, environment: named(t.Spec.Environment),
				reason: "The server failed while it created the run. Give the operator of this service the X-Request-Id of this answer."}
		}
	}()
	return o.outcome(ctx, t)
}

func (o *order) outcome(ctx context.Context, t *v1alpha1.Trigger) outcome {
	result := outcome{trigger: t.Name, environment: named(t.Spec.Environment)}
	env, err := o.environment(ctx, t)
	if env != nil {
		result.environment = describe(env)
	}
	if err == nil {
		err = o.checkVariables(t)
	}
	if err == nil {
		result.suiteID, result.decision, err = o.suite(ctx, t, env.Name)
	}
	if err != nil {
		result.decision, result.reason = o.explainError(ctx, err)
	}
	return result
}

func (o *order) explainError(ctx context.Context, err error) (decision, string) {
	var no *refused
	var late *undecided
	switch {
	case errors.As(err, &no):
		return failed, no.reason
	case errors.Is(err, errGone):
		return gone, "The namespace of the team is missing or being deleted, and the run with it."
	case errors.As(err, &late):
		logr.FromContextOrDiscard(ctx).Info("the API server did not take a Suite in time", "cause", err.Error())
		return unknown, o.undecided()
	default:
		logr.FromContextOrDiscard(ctx).Error(err, "a Suite could not be created")
		return failed, "The server failed to create the run. Give the operator of this service the X-Request-Id of this answer."
	}
}

// undecided says why it is not known whether there is a run.
func (o *order) undecided() string {
	why := fmt.Sprintf("The API server of the cluster did not answer within %s", o.api.Limits.HoldBudget)
	if o.hold.wasTurnedAway() {
		why = "The API server of the cluster is away, and as many notifications wait for it as the server can hold, or as many of this team as leave room for others"
	}
	return why + ", so it is not known whether a run was created. " + o.again()
}

// again says what sending the notification again would do.
func (o *order) again() string {
	if o.notification.SHA != "" || o.idempotencyKey != "" {
		return "Send the notification again: a run that exists is not created twice."
	}
	return "Send the notification again; with a sha or an Idempotency-Key, a run that exists would not be created twice."
}

// checkVariables refuses names by which a notification would take over the process or the platform,
// and those that the Trigger does not accept.
func (o *order) checkVariables(t *v1alpha1.Trigger) error {
	for _, name := range slices.Sorted(maps.Keys(o.notification.Variables)) {
		switch {
		case notification.Reserved(name):
			return refusef("The variable %s is reserved: it would change how the platform runs the tests. Rename it, or set it in the Trigger.", name)
		case !notification.Allowed(name, t.Spec.AllowVariables):
			return refusef("The Trigger %s does not accept the variable %s: leave it out, or add it to allowVariables of the Trigger.", t.Name, name)
		}
	}
	return nil
}
