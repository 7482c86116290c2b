package model

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/report/greenlight"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/schedule"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/events"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// product is what is tested. Only this file and that of the hub call it, as the managers and the controllers do.
type product struct {
	*dispatch.Dispatcher
	receiver  *events.Receiver
	reader    *runs.Reader
	delivered event.Event // the next one
}

// site is where a product runs.
type site struct {
	store    *store
	triggers []*v1alpha1.Trigger
	clock    clock.PassiveClock
	clusters dispatch.Clusters // nil: it is no hub
	sleep    func(context.Context, time.Duration) error
}

func noSleep(context.Context, time.Duration) error { return nil }

func newProduct(c site) (*product, error) {
	p, s := &product{}, c.store
	index := &match.Index{}
	for _, t := range c.triggers {
		index.Set(t)
	}
	limits := dispatch.DefaultLimits()
	limits.TriggersAtOnce = 1 // so that a seed always plays the same
	same := func(t time.Time) time.Time { return t }
	var err error
	p.Dispatcher, err = dispatch.New(dispatch.Config{
		Cache: s, Live: s, Writer: s, Triggers: index, Budget: 45 * time.Second, Limits: limits, Clusters: c.clusters,
		Clock: c.clock, ServerTime: same, Sleep: c.sleep,
	})
	if err != nil {
		return nil, err
	}
	p.receiver, err = events.New(events.Config{
		Dispatcher: p.Dispatcher, Cache: s, Live: s, Used: func(*v1alpha1.EventSource) {}, Clock: c.clock, ServerTime: same,
		Formats: map[v1alpha1.EventSourceType]event.Format{v1alpha1.EventsOfGitHub: {
			Decode: func(event.Header, []byte, event.Options) (event.Event, error) { return p.delivered, nil },
		}},
	})
	p.reader = &runs.Reader{Config: runs.Config{Cache: s, Live: s, Limits: runs.DefaultLimits()}}
	return p, err
}

// request is one of a pipeline.
func (w *world) request(n *notification.Notification, key string, rerun bool, id string) dispatch.Request {
	return dispatch.Request{
		Team: w.team, Notification: n, Rerun: rerun, IdempotencyKey: key, RequestID: id, ReceivedAt: w.clock.Now(),
	}
}

// fire starts the runs of a schedule whose time has come.
func (w *world) fire(t *v1alpha1.Trigger) (why string, err error) {
	at := w.clock.Now().Truncate(time.Second)
	all, why := schedule.Runs(schedule.Observed{Trigger: t, Environment: w.environment(), Team: w.team, Suites: w.store.all()})
	for _, run := range all {
		_, err := w.Dispatch(context.Background(), dispatch.Request{
			Team: w.team, Notification: run.Notification, IdempotencyKey: schedule.Key(at), RequestID: w.id("schedule"),
			ReceivedAt: w.clock.Now(), Origin: dispatch.FromSchedule(t, at, run.DeployedAt),
		})
		if err != nil {
			return why, err
		}
	}
	return why, nil
}

// deliver is an event of a code host, which it sends to one of the products.
func (w *world) deliver(p *product, e event.Event, id string) (events.Answer, error) {
	p.delivered = e
	source := events.Source{Team: w.team, Object: &v1alpha1.EventSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "github", UID: "uid-github"},
		Spec:       v1alpha1.EventSourceSpec{Type: v1alpha1.EventsOfGitHub},
	}}
	return p.receiver.Receive(context.Background(), source, events.Delivery{RequestID: id, ReceivedAt: w.clock.Now()})
}

// rerun is a press of the button, and perhaps another one for lack of an answer.
func (w *world) rerun(run string, onlyFailed bool) (next *v1alpha1.Suite, err error) {
	c, lost := w.handedOn(w.command(onlyFailed))
	for range 1 + lost {
		next, _, err = w.Rerun(context.Background(), c, run)
	}
	return next, err
}

func (w *world) command(onlyFailed bool) dispatch.Command {
	return dispatch.Command{Team: w.team, By: "kim", RequestID: w.id("command"), ReceivedAt: w.clock.Now(), OnlyFailed: onlyFailed}
}

// gate is what a pipeline is told that waits for a run.
func (w *world) gate(root *v1alpha1.Suite) (httpapi.Greenlight, error) {
	successors, err := w.reader.Successors(context.Background(), root)
	return greenlight.Of(root, verdict.Relevant(root, successors), func(*v1alpha1.Suite) string { return "" }), err
}

// origin is who asked for a run.
func origin(s *v1alpha1.Suite) string {
	if s.Spec.OnlyFailedOf != nil {
		return "Rerun of failed tests"
	}
	return string(s.Origin())
}

// observe is what the controller of Suites knows of a run.
func (w *world) observe(s *v1alpha1.Suite) lifecycle.Observation {
	o := lifecycle.Observation{Suite: s, Definition: lifecycle.Definition{Trigger: w.trigger(s), Environment: w.environment(), Team: w.team}, JobInfo: lifecycle.JobInfo{KeepsResults: true}}
	for _, other := range w.store.all() {
		if key := suite.StreamKey(s); key != "" && key == suite.StreamKey(other) {
			o.Stream = append(o.Stream, other)
		}
	}
	j := w.jobs[s.Name]
	if j == nil {
		return o
	}
	o.Job, o.Condition, o.Interrupted, o.Plan = j.object(s), j.progress, j.interrupted, j.plan
	o.Stopping.Requested, o.UnderTest.Start = j.stopped, j.start
	if j.report != nil {
		o.Collected = &results.Collected{Summary: j.report.Summary(), OnlyTests: true}
		o.DecidedBy, o.Judged = v1alpha1.DecidedByTests, true
	}
	return o
}

// findFailed is the action FindFailed.
func (w *world) findFailed(o *lifecycle.Observation) {
	var chain []*v1alpha1.Suite
	for ref := o.Suite.Spec.OnlyFailedOf; ref != nil && w.store.suites[ref.Name] != nil; ref = chain[len(chain)-1].Spec.OnlyFailedOf {
		chain = append(chain, w.store.suites[ref.Name])
	}
	if problem := rerun.ClaimProblem(o.Suite, chain); problem != "" {
		o.Failed = &rerun.FailedTests{Impossible: problem}
		return
	}
	r := rerun.FailedRequest{Suite: o.Suite, Trigger: o.Trigger, Digest: "tests", Environment: o.Environment}
	w.readLedger(o)
	r.Ledger = o.Ledger
	for _, s := range chain {
		link := rerun.Link{Suite: s}
		if report := w.reports[s.UID]; report != nil {
			summary := report.Summary()
			link.Digest = "tests"
			link.Documents = []results.Document{{Counts: report.Counts, Failures: report.Failures, RerunPassed: summary.RerunPassed}}
		}
		r.Chain = append(r.Chain, link)
	}
	for _, s := range w.store.all() {
		if s.Spec.Trigger.Name == o.Trigger.Name {
			r.Runs = append(r.Runs, s)
		}
	}
	o.Failed, o.FailedChain = rerun.PlanFailed(r), chain
}

// readLedger is the action ReadLedger.
func (w *world) readLedger(o *lifecycle.Observation) {
	o.Ledger = ledger.Of(w.environment(), w.store.all())
}

// createSuccessor is the action CreateSuccessor.
func (w *world) createSuccessor(o *lifecycle.Observation) {
	next, problem := lifecycle.NextSuccessor(*o, w.clock.Now())
	if problem != "" {
		o.Successor.Problem = problem
		return
	}
	if err := w.store.Create(context.Background(), next); err != nil {
		if problem = rerun.SuccessorProblem(w.store.suites[next.Name], next, o.Suite); problem != "" {
			o.Successor.Problem = problem
			return
		}
	}
	o.Successor.Run = next.Name
}

// act does what the controller of Suites does, apart from the Job.
func (w *world) act(o *lifecycle.Observation, action lifecycle.Action) error {
	switch action {
	case lifecycle.RequestSlot:
		o.Position = &queue.Position{}
	case lifecycle.FindFailed:
		w.findFailed(o)
	case lifecycle.CreateJob:
		w.begin(o)
	case lifecycle.StopPods:
		w.stop(o.Suite)
		o.StopRequested(w.clock.Now())
	case lifecycle.DeleteJob:
		w.stop(o.Suite)
		o.JobDeleted(w.clock.Now())
	case lifecycle.CreateSuccessor:
		w.createSuccessor(o)
	case lifecycle.ReadLedger, lifecycle.CompleteLedger:
		w.readLedger(o)
		o.Complete = action == lifecycle.CompleteLedger
	case lifecycle.CompareWorkloads:
		w.compareWorkloads(o)
	default:
		return fmt.Errorf("%s: unexpected action %s", o.Suite.Name, action)
	}
	return nil
}

// reconcile is the controller of Suites, and reports whether the run changed.
func (w *world) reconcile(s *v1alpha1.Suite) (changed bool, err error) {
	o := w.observe(s)
	d := lifecycle.Decide(o, w.clock.Now())
	for ; d.Action != lifecycle.Report; d = lifecycle.Decide(o, w.clock.Now()) {
		if d.Action == lifecycle.DeleteSuite {
			return false, nil // it has been kept for as long as it should: nobody is in a hurry
		}
		if err := w.act(&o, d.Action); err != nil {
			return false, err
		}
	}
	if d.Deferred {
		return true, nil
	}
	is := s.DeepCopy()
	lifecycle.SetStatus(is, o, d, w.clock.Now())
	if !lifecycle.StatusChanged(s, is) {
		return false, nil
	}
	return true, w.store.Status().Patch(context.Background(), is, nil)
}
