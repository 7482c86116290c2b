package events

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/report/command"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// closed ends what a closed pull request leaves behind, after the code host has said that it is closed.
func (r *Receiver) closed(ctx context.Context, s Source, d Delivery, a *Answer) error {
	number := a.Event.Closed
	host, ignored, err := r.askFor(ctx, s, a.Event.Repository, number)
	if err != nil || ignored != "" {
		a.Ignored = ignored
		return err
	}
	runs, err := r.runsOf(ctx, s, host, index.PullRequest, index.PullRequestKey(number))
	if err != nil {
		return err
	}
	named := command.Named(runs, host.Target, number)
	if len(named) == 0 { // of most pull requests, so that nothing is asked about them
		a.Ignored = "No run names this pull request."
		return nil
	}
	if err := r.pace(s); err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := host.PullRequest(asking, host.Request)
	if err != nil {
		a.Ignored, err = refusal(err)
		return err
	}
	if request == nil || request.Open {
		a.Ignored = "The code host says that this pull request is open."
		return nil
	}
	closing := command.Close(named, *request)
	c := dispatch.Command{Team: s.Team, By: command.ClosedBy(host.Host, number), RequestID: d.RequestID, ReceivedAt: d.ReceivedAt}
	if _, err := r.cancel(ctx, c, closing.Cancel, a); err != nil {
		return err
	}
	for _, name := range closing.Environments {
		if err := r.end(ctx, c, name, named, a); err != nil {
			return err
		}
	}
	return nil
}

// end lets an ephemeral Environment expire, if the pull request was the last to be deployed there.
func (r *Receiver) end(ctx context.Context, c dispatch.Command, name string, named []*v1alpha1.Suite, a *Answer) error {
	namespace := c.Team.NamespaceName()
	env := &v1alpha1.Environment{}
	err := r.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, env, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	there, err := index.Suites(ctx, r.Cache, namespace, index.Deployed, name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if env.Spec.Ephemeral == nil || !command.Owns(named, there) {
		return nil
	}
	_, err = r.Dispatcher.Terminate(ctx, c, &notification.Termination{EnvironmentAlias: name})
	if failure, ok := errors.AsType[*dispatch.Error](err); ok && final(failure.Kind) { // it was deleted meanwhile
		return nil
	}
	if err == nil {
		a.Environments = append(a.Environments, name)
	}
	return err
}
