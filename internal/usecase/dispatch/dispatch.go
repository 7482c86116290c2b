// Package dispatch makes Suites of the notifications of a team, whatever their format and transport. While the API server is unavailable,
// it tries the same names again, so that neither a retry nor another replica creates a second Suite.
package dispatch

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// Config is what a Dispatcher needs.
type Config struct {
	Cache client.Reader // with the indexes of index.Setup

	Live   client.Reader
	Writer Writer
	// Inputs finds the files that runs got; nil: no store is configured.
	Inputs Inputs

	Triggers Matcher
	// LeftOut returns the Triggers of a namespace that Triggers lacks because of their size; nil: it has all.
	LeftOut func(namespace string) match.LeftOut
	// Clusters have Environments of teams of this cluster; nil: there are none.
	Clusters Clusters
	// Journal is told of each notification that was dispatched; nil: there is none.
	Journal Journal
	// Budget is how long after its receipt a notification is still tried.
	Budget time.Duration

	Limits Limits

	// ServerTime converts times of Clock to the API server's, because replicas must agree on stored times.
	Clock      clock.PassiveClock
	ServerTime func(time.Time) time.Time

	Tracer trace.Tracer // nil: no traces
	Sleep  func(context.Context, time.Duration) error
	Jitter func() float64 // a random number in [0, 1); nil: a real one
}

// Writer changes objects of the API server.
type Writer interface {
	client.Writer
	client.StatusClient
}

// Inputs is the store of the files that runs get.
type Inputs interface {
	// Stat returns fs.ErrNotExist if the team has no such file.
	Stat(ctx context.Context, team *v1alpha1.Team, path string) (v1alpha1.SuiteInput, error)
}

// Journal keeps lines of notifications.
type Journal interface {
	// Record never waits.
	Record(team string, n record.Notification)
}

// Dispatcher makes Suites of notifications.
type Dispatcher struct {
	Config
	retrying *fairness.TeamLimiter
	matching *fairness.Semaphore
	creating *fairness.YieldingLimiter
	suites   *suiteCounter

	unreachable atomic.Pointer[time.Time] // when the API server last was
}

// New returns a Dispatcher. Call its WatchSuites before Dispatch.
func New(c Config) (*Dispatcher, error) {
	if c.Cache == nil || c.Live == nil || c.Writer == nil || c.Triggers == nil || c.Budget <= 0 || c.Clock == nil || c.ServerTime == nil {
		return nil, errors.New("a Dispatcher needs a cache, a live reader, a writer, the triggers, a budget and clocks")
	}
	if c.Tracer == nil {
		c.Tracer = noop.Tracer{}
	}
	if c.Sleep == nil {
		c.Sleep = transfer.Sleep
	}
	if c.Jitter == nil {
		c.Jitter = mathrand.Float64
	}
	return &Dispatcher{
		Config:   c,
		retrying: fairness.NewTeamLimiter(c.Limits.Retrying),
		matching: fairness.NewSemaphore(runtime.GOMAXPROCS(0)),
		creating: fairness.NewYieldingLimiter(c.Limits.CreatesAtOnce),
		suites:   newSuiteCounter(),
	}, nil
}

// Retrying returns how many notifications wait for the API server.
func (d *Dispatcher) Retrying() int { return d.retrying.InUse() }

// Mode says whether Dispatch writes.
type Mode int

// The modes.
const (
	Create Mode = iota
	DryRun      // finds out what Create would do
)

// Request is a notification that a Team sent. Team and Notification are only read.
type Request struct {
	Team           *v1alpha1.Team
	Grant          grant.Grant // of the sender; only which Environments it may reach matters here
	By             string      // the sender, for people in other clusters
	Notification   *notification.Notification
	Mode           Mode
	OnlyHere       bool      // hand the notification on to no other cluster
	Rerun          bool      // start another attempt of runs with a result
	IdempotencyKey string    // takes the place of an absent SHA; may be empty
	RequestID      string    // for the Suite; clients may give several requests one
	ReceivedAt     time.Time // by Clock
	Origin         Origin    // the zero value: a client sent the notification

	heldFor time.Duration // by a hub, before the receipt
}

type operation struct {
	*Dispatcher
	Request
	namespace  string
	bounds     suiteBounds
	serverTime time.Time                // of the receipt, by the API server's clock
	matched    []*v1alpha1.Trigger      // all of the notification
	ttls       map[string]time.Duration // of ephemeral Environments, by the name of the static one
	retrier    *retrier
}

// newOperation makes the request id unique, so that this call recognizes the Suites that it created.
func (d *Dispatcher) newOperation(r Request) *operation {
	r.RequestID += "." + rand.Text()
	return &operation{
		Dispatcher: d,
		Request:    r,
		namespace:  r.Team.NamespaceName(),
		bounds:     boundsOf(r.Team),
		serverTime: d.ServerTime(r.ReceivedAt.Add(-r.heldFor)),
		retrier:    newRetrier(d, r.Team.Name, r.ReceivedAt.Add(d.Budget)),
	}
}

// Dispatch creates a Suite for each matching Trigger. If it fails as a whole, the error is an *Error, and the Result has what is known.
func (d *Dispatcher) Dispatch(ctx context.Context, r Request) (Result, error) {
	o := d.newOperation(r)
	defer o.retrier.release()
	before := o.leftOut()
	triggers, err := o.match(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := o.checkEnvironments(triggers); err != nil {
		return Result{}, err
	}
	left, err := o.findLeftOut(before)
	if err != nil {
		return Result{}, err
	}
	targets, withheld, err := o.targets(ctx)
	if err != nil {
		return Result{}, err
	}
	o.matched, o.ttls = triggers, longestTTLs(triggers)
	var handed []TriggerResult
	var explanations []httpapi.Explanation
	var others sync.WaitGroup
	others.Go(func() { handed, explanations = o.handOn(ctx, targets) })
	result := Result{Withheld: withheld, Triggers: append(o.ensureSuites(ctx, triggers), leftOutResults(left)...)}
	others.Wait()
	result.Triggers = append(result.Triggers, handed...)
	if r.Mode == DryRun {
		result.Explanations = explained(o.explanations(ctx, triggers, left), explanations)
	}
	err = o.failure(result)
	if err == nil { // otherwise it is sent again
		o.record(triggers)
	}
	return result, err
}

// ensureSuites returns results in the order of the Triggers.
func (o *operation) ensureSuites(ctx context.Context, triggers []*v1alpha1.Trigger) []TriggerResult {
	results := make([]TriggerResult, len(triggers))
	if len(triggers) == 1 {
		results[0] = o.dispatchTo(ctx, triggers[0])
		return results
	}
	var all errgroup.Group
	all.SetLimit(o.atOnce())
	for i, t := range triggers {
		all.Go(func() error {
			results[i] = o.dispatchTo(ctx, t)
			return nil
		})
	}
	_ = all.Wait() // nil: errors are among the results
	return results
}

// atOnce is lower for large Suites, because each is in memory as JSON until the API server has accepted it.
func (o *operation) atOnce() int {
	variables, err := json.Marshal(o.Notification.Variables)
	if err != nil { // a map of strings is always JSON
		return 1
	}
	return max(1, min(o.Limits.TriggersAtOnce, o.Limits.SuiteBytesAtOnce/len(variables)))
}

// dispatchTo keeps a panic over one Trigger from hiding the results of others.
func (o *operation) dispatchTo(ctx context.Context, t *v1alpha1.Trigger) (result TriggerResult) {
	result = newResult(t)
	ctx, span := o.Tracer.Start(ctx, "create suite")
	defer func() { endCreate(span, result) }()
	defer func() {
		if p := recover(); p != nil {
			result.Decision, result.Reason = o.explain(ctx, fmt.Errorf("panic over the Trigger %s: %v\n%s", t.Name, p, debug.Stack()))
		}
	}()
	if err := o.ensureRun(ctx, t, &result); err != nil {
		result.Decision, result.Reason = o.explain(ctx, err)
	}
	return result
}

func (o *operation) ensureRun(ctx context.Context, t *v1alpha1.Trigger, result *TriggerResult) error {
	t, err := o.complete(ctx, t)
	if err != nil {
		return err
	}
	env, err := o.ensureEnvironment(ctx, t)
	if env != nil {
		result.Environment = env
	}
	if err != nil {
		return err
	}
	return o.ensureSuite(ctx, t, env, result)
}

// complete asks the API server if the cache lacks the TriggerClass, which may be new.
func (o *operation) complete(ctx context.Context, t *v1alpha1.Trigger) (*v1alpha1.Trigger, error) {
	complete, problem, err := index.Complete(ctx, o.Cache, t)
	if err == nil && problem != "" {
		err = o.retrier.do(ctx, func(ctx context.Context) (err error) {
			complete, problem, err = index.Complete(ctx, o.Live, t)
			return err
		})
	}
	if err == nil && problem != "" {
		err = rejectedError(problem)
	}
	return complete, err
}

// explain also logs errors that only the operator can fix.
func (o *operation) explain(ctx context.Context, err error) (Decision, string) {
	if rejected, ok := errors.AsType[rejectedError](err); ok {
		return Failed, rejected.Error()
	}
	switch {
	case errors.Is(err, errNamespaceGone):
		return Gone, "The namespace of the team is missing or being deleted, and the run with it."
	case errors.Is(err, errOutcomeUnknown):
		logr.FromContextOrDiscard(ctx).Info("the API server did not take a Suite in time", "cause", err.Error())
		return Unknown, o.unknown()
	default:
		logr.FromContextOrDiscard(ctx).Error(err, "a Suite could not be created")
		return Failed, "The server failed to create the run. Give the operator of this service the X-Request-Id of this answer."
	}
}
