package deploymentgate

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

const (
	pollEvery   = 30 * time.Second // a deployment waits for so long at most until it is found
	pollTimeout = 25 * time.Second // of a round, which the next one continues
	// maxPolled bounds the places of one gate that are looked at in a round: gates with more take turns.
	maxPolled = 10
	// maxFound bounds the deployments of a place that are asked about in a round. Manual jobs wait until a person runs them.
	maxFound = 10
	// maxSkipped bounds what is known not to wait for an approval.
	maxSkipped = 10_000
)

// Poller looks for deployments that wait on code hosts whose versions may send no event for them.
type Poller struct {
	client.Client
	Clock  clock.PassiveClock
	Opener Opener

	hosts   hosts
	budgets *report.Budgets
	turns   map[client.ObjectKey]int // how many places of a gate were looked at
	skipped map[string]time.Time     // reviews that are not opened, until a time
}

// Start runs in the leader until the context is done.
func (p *Poller) Start(ctx context.Context) error {
	p.turns, p.skipped = map[client.ObjectKey]int{}, map[string]time.Time{}
	wait.JitterUntilWithContext(ctx, p.round, pollEvery, retry.Spread, true)
	return nil
}

func (p *Poller) round(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	log := ctrl.Log.WithName("deploymentgates")
	list := &v1alpha1.DeploymentGateList{}
	if err := p.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		log.Error(err, "cannot list the DeploymentGates")
		return
	}
	for i := range list.Items {
		g := &list.Items[i]
		if err := p.gate(ctx, g); err != nil && ctx.Err() == nil {
			log.Info("the deployments that wait for a gate cannot be listed", "namespace", g.Namespace, "gate", g.Name, "cause", err.Error())
		}
	}
}

// search is for the deployments that wait for a gate.
type search struct {
	gate   *v1alpha1.DeploymentGate
	source *v1alpha1.EventSource
	team   *v1alpha1.Team
	host   CodeHostConfig
	lister Lister
}

func (p *Poller) gate(ctx context.Context, g *v1alpha1.DeploymentGate) error {
	source, err := reconcile.Shared[v1alpha1.EventSource](ctx, p, g.Namespace, g.Spec.Source)
	if err != nil || source == nil {
		return err
	}
	host := p.hosts.byName[gate.HostOf(source)]
	lister, ok := host.CodeHost.(Lister)
	team, err := index.Owner(ctx, p, g.Namespace)
	if err != nil || !ok || team == nil || team.Spec.Suspended {
		return err
	}
	places, key := polled(g, source), client.ObjectKeyFromObject(g)
	for range min(len(places), maxPolled) {
		place := places[p.turns[key]%len(places)]
		p.turns[key]++
		if err := p.place(ctx, search{g, source, team, host, lister}, place); err != nil {
			return err
		}
	}
	return nil
}

func (p *Poller) place(ctx context.Context, s search, at gate.Place) error {
	target := report.Target{Host: at.Host, Repository: at.Repository}
	credentials, problem, err := p.hosts.credentials(ctx, target, s.gate, s.team)
	if err != nil || problem != "" { // which is in the status of the gate
		return err
	}
	now := p.Clock.Now()
	budget := p.budgets.Of(string(at.Host)+" "+credentials.Key(), s.host.Limits, now)
	if budget.Take(100, now) > 0 {
		return nil
	}
	request := report.Request{Target: target, Credentials: credentials, Purpose: report.Approvals}
	found, err := s.lister.Blocked(ctx, request, at.Environment)
	if err == nil {
		err = p.open(ctx, s, at, request, found)
	}
	if failure := (*report.Error)(nil); errors.As(err, &failure) {
		budget.Done(failure, p.Clock.Now())
		return err
	}
	budget.Return()
	return err
}

// open creates the reviews of deployments that are new, and wait for an approval.
func (p *Poller) open(ctx context.Context, s search, at gate.Place, request report.Request, found []event.Review) error {
	now, asked := p.Clock.Now(), 0
	p.forget(now)
	for _, review := range found {
		name := gate.Name(s.source.UID, at.Host, at.Repository, review, "")
		known, err := reconcile.Shared[v1alpha1.DeploymentReview](ctx, p, s.gate.Namespace, name)
		if err != nil || asked == maxFound {
			return err
		}
		if _, skipped := p.skipped[name]; known != nil || skipped || now.Sub(review.CreatedAt) > gate.Expiry {
			continue
		}
		asked++
		pending, err := s.host.Pending(ctx, report.ApprovalRequest{
			Request: request, Environment: at.Environment, DeploymentID: review.DeploymentID,
		})
		if err != nil {
			return err
		}
		if !pending.Waiting { // such as a manual job that needs no approval
			p.skipped[name] = now.Add(gate.PendingFor)
			continue
		}
		if err := p.Opener.Open(ctx, s.source, s.team, at.Repository, review); err != nil {
			return err
		}
	}
	return nil
}

func (p *Poller) forget(now time.Time) {
	for name, until := range p.skipped {
		if now.After(until) || len(p.skipped) > maxSkipped {
			delete(p.skipped, name)
		}
	}
}
