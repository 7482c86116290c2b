package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/command"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

const (
	// askTimeout bounds all questions about an event together: GitHub waits for ten seconds, and the runs are changed after them.
	askTimeout = 6 * time.Second
	// reactTimeout bounds a reaction, which comes when all is done.
	reactTimeout = 3 * time.Second
	// asksPerMinute bounds the events of a source about which a code host is asked, and as many may come at once. Each takes up to four
	// requests, and GitHub answers 5,000 an hour to one credential.
	asksPerMinute = 15
	// strangersPerHour bounds the reactions to comments of people without rights, with strangersAtOnce at once: GitHub takes 500
	// posts an hour from one credential, and checks need them.
	strangersPerHour = 30
	strangersAtOnce  = 10
	maxSources       = 4096 // whose paces are kept
	sourcesOfOne     = 200  // of them for a namespace
)

// CodeHost answers questions about pull requests. Its errors are *report.Error.
type CodeHost interface {
	// Said returns nil if there is no such comment.
	Said(ctx context.Context, q command.Question) (*command.Said, error)
	// PullRequest returns the pull request that the Target names, or nil.
	PullRequest(ctx context.Context, r report.Request) (*report.PullRequest, error)
	// React adds a reaction to a comment. It does nothing if the reaction is there.
	React(ctx context.Context, q command.Question, reaction command.Reaction) error
}

// CodeHosts are asked with the credentials with which Postflight posts there.
type CodeHosts struct {
	ByName map[v1alpha1.HostingService]CodeHostConfig
	// Credentials reads the credentials of a Trigger from its Secret. The problem is a sentence that says why there are none.
	Credentials func(
		ctx context.Context, host v1alpha1.HostingService, secret client.ObjectKey,
	) (c report.Credentials, problem string, err error)
}

// CodeHostConfig is a code host, and the manager's own credentials for it.
type CodeHostConfig struct {
	CodeHost
	Name string                             // its host, as entries of Teams name it
	Own  func() (report.Credentials, error) // nil: the manager has none
}

// asked is a code host with the credentials of a team for a repository.
type asked struct {
	CodeHost
	report.Request
	triggers map[string]*v1alpha1.Trigger // of the team that post to the repository, by name
}

// askFor returns whom to ask about a pull request of the event, or why a team must not ask.
func (r *Receiver) askFor(ctx context.Context, s Source, repository string, number int64) (a asked, ignored string, err error) {
	host := gate.HostOf(s.Object)
	known, has := r.CodeHosts.ByName[host]
	if !has || r.CodeHosts.Credentials == nil {
		return a, "Postflight asks no code host about comments and pull requests of this source.", nil
	}
	list := &v1alpha1.TriggerList{}
	if err := r.Cache.List(ctx, list, client.InNamespace(s.Object.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return a, "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	slices.SortFunc(list.Items, func(x, y v1alpha1.Trigger) int { return strings.Compare(x.Name, y.Name) })
	ignored = "No Trigger of the team names this repository in spec.repository."
	for i := range list.Items {
		t := &list.Items[i]
		on := t.Spec.Repository
		if on == nil || t.DeletionTimestamp != nil || cmp.Or(on.HostingService, v1alpha1.GitHub) != host ||
			!commit.SameRepository(on.Name, repository) {
			continue
		}
		// The name is the Trigger's: the event only chooses among them.
		target := report.Target{Host: host, Repository: on.Name, PullRequest: number}
		credentials, problem, err := r.credentials(ctx, known, target, t, s.Team)
		if err != nil {
			return a, "", fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if problem != "" {
			ignored = cmp.Or(problem, ignored)
			continue
		}
		if a.triggers == nil {
			a = asked{CodeHost: known, Request: report.Request{Target: target, Credentials: credentials, Purpose: report.Comments}}
			a.triggers = map[string]*v1alpha1.Trigger{}
		}
		a.triggers[t.Name] = t
	}
	if a.triggers == nil {
		return a, ignored, nil
	}
	return a, "", nil
}

func (r *Receiver) credentials(
	ctx context.Context, host CodeHostConfig, target report.Target, t *v1alpha1.Trigger, team *v1alpha1.Team,
) (c report.Credentials, problem string, err error) {
	if ref := t.Spec.Repository.Credentials; ref != nil {
		return r.CodeHosts.Credentials(ctx, target.Host, client.ObjectKey{Namespace: t.Namespace, Name: ref.SecretRef.Name})
	}
	if host.Own == nil || !report.Allowed(target, host.Name, team.Spec.Repositories) {
		return c, "The Trigger names no credentials, and the manager's own are not for this repository: the Team must list it.", nil
	}
	if c, err = host.Own(); err != nil {
		return c, fmt.Sprintf("The manager cannot read its own credentials for %s.", target.Host), nil
	}
	return c, "", nil
}

// refusal tells what a sender can repeat from what stays as it is until people change something.
func refusal(err error) (ignored string, _ error) {
	failure, ok := errors.AsType[*report.Error](err)
	if ok && (failure.Kind == report.Rejected || failure.Kind == report.NotPending) {
		return "The code host does not answer: " + failure.Message + ".", nil
	}
	return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// pace returns an error if a source has asked too often.
func (r *Receiver) pace(s Source) error {
	if r.asks.allow(s) {
		return nil
	}
	return &dispatch.Error{Kind: dispatch.Overloaded, Message: fmt.Sprintf(
		"The EventSource %s has sent more comments and closed pull requests than code hosts are asked about: %d a minute. "+
			"Deliver the event again in a minute.", s.Object.Name, asksPerMinute)}
}

// paces bound what the events of each source cause, in one replica.
type paces struct {
	clock    clock.PassiveClock
	limit    rate.Limit
	burst    int
	bySource *fairness.Cache[string, *rate.Limiter]
}

func newPaces(c clock.PassiveClock, perSecond float64, burst int) *paces {
	return &paces{clock: c, limit: rate.Limit(perSecond), burst: burst,
		bySource: fairness.NewCache[string, *rate.Limiter](maxSources, sourcesOfOne)}
}

func (p *paces) allow(s Source) bool {
	limiter := p.bySource.GetOrAdd(s.Object.Namespace, s.Object.Name, func() *rate.Limiter { return rate.NewLimiter(p.limit, p.burst) })
	return limiter.AllowN(p.clock.Now(), 1)
}
