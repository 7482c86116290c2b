package announce

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// sendOnce sends nothing if the receiver accepted the event, and that could not be stored.
func (r *Reconciler) sendOnce(
	ctx context.Context, a announcement, to announce.Receiver, e announce.Event,
) (*announce.Failure, error) {
	key, id := client.ObjectKeyFromObject(a.Suite), e.ID(a.Suite.UID)
	if r.memory.accepted(key, to.Name) == id {
		return nil, nil
	}
	failure, err := r.send(ctx, a, to, e)
	if err != nil {
		return nil, err
	}
	r.Metrics.observe(to, failure)
	if failure == nil {
		r.memory.accept(key, to.Name, id)
	}
	return failure, nil
}

// A Secret that lacks something is a failure, too.
func (r *Reconciler) send(ctx context.Context, a announcement, to announce.Receiver, e announce.Event) (*announce.Failure, error) {
	where, problem, err := reconcile.MessageTarget(ctx, r.Live, a.Suite.Namespace, to)
	if err != nil {
		return nil, err
	}
	if failure := rejected(problem); failure != nil {
		return failure, nil
	}
	if to.Channel != "" {
		_, err = r.Config.Chat.Send(ctx, announce.Compose(to, where, a.team, a.Summary(), e, r.Config.Options, r.Clock.Now()))
	} else {
		err = r.Config.Sender.Send(ctx, announce.Compose(to, where, a.team, a.Suite, e, r.Config.Options, r.Clock.Now()))
	}
	return failureIn(ctx, err)
}

// failureIn tells failures of receivers from other errors.
func failureIn(ctx context.Context, err error) (*announce.Failure, error) {
	if failure := (*announce.Failure)(nil); errors.As(err, &failure) && ctx.Err() == nil {
		return failure, nil
	}
	return nil, err
}
