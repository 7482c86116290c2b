package announce

import (
	"context"
	"slices"

	conflict "k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// A message of a thread is sent once, also if the manager is killed: the status of the Trigger names the message before it is sent, and a
// manager that finds it there without a result looks into the chat first. Only one message to a chat is in flight, so no other worker
// writes these threads.

// converse does one thing in a thread.
func (r *Reconciler) converse(
	ctx context.Context, a announcement, to announce.Receiver, e announce.Event, action announce.ThreadAction, release func(*report.Error),
) (ctrl.Result, error) {
	where, problem, err := reconcile.MessageTarget(ctx, r.Live, a.Suite.Namespace, to)
	if err != nil {
		return ctrl.Result{}, err
	}
	t, failure := a.trigger.DeepCopy(), rejected(problem)
	if failure == nil {
		c := announce.Conversation{
			Target: where, Trigger: string(t.UID), Run: a.Suite, Options: r.Config.Options, Now: r.Clock.Now(),
		}
		failure, err = r.say(ctx, t, to, c, action)
		r.observeThread(to, failure, err)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if failure != nil {
		release(&failure.Why)
		return r.failed(ctx, a, to, e, failure)
	}
	release(nil)
	r.memory.stored(client.ObjectKeyFromObject(a.Suite), to.Name)
	if a.Threads = t.Status.Threads; a.NextThread(to) == nil && !a.Summarized(to) {
		d := announce.DeliveryTo(a.Suite, to)
		d.Event, d.Problem = e.Name, ""
		return r.remember(ctx, a, d)
	}
	return ctrl.Result{RequeueAfter: retry.AtOnce}, nil
}

func rejected(problem string) *announce.Failure {
	if problem == "" {
		return nil
	}
	return &announce.Failure{Why: report.Error{Kind: report.Rejected, Message: problem}}
}

func (r *Reconciler) observeThread(to announce.Receiver, failure *announce.Failure, err error) {
	if err == nil {
		r.Metrics.observe(to, failure)
	}
}

// say does the action, and changes the threads in the status of t.
func (r *Reconciler) say(
	ctx context.Context, t *v1alpha1.Trigger, to announce.Receiver, c announce.Conversation, action announce.ThreadAction,
) (*announce.Failure, error) {
	thread := action.Thread
	if !slices.Contains(t.Status.Threads, thread) {
		// It is decided by what was read: if that changed, nothing is sent.
		locked := client.MergeFromWithOptions(t.DeepCopy(), client.MergeFromWithOptimisticLock{})
		t.Status.Threads = announce.WithThread(t.Status.Threads, thread)
		if err := r.Status().Patch(ctx, t, locked); err != nil {
			return nil, apierror.IgnoreNotFound(err)
		}
	}
	found := ""
	if action.Unsure {
		ts, err := r.Config.Chat.Find(ctx, c.Search(thread), c.Now)
		if failure, err := failureIn(ctx, err); err != nil || failure != nil {
			return r.abandoned(ctx, t, to, thread, failure, err)
		}
		found = ts
	}
	switch {
	case thread.TS == "" && found != "":
		thread.TS = found // and if it is to be closed, that is next
		return nil, r.storeThread(ctx, t, thread)
	case action.Failure != nil:
		return r.open(ctx, t, c, action)
	case thread.TS == "":
		return nil, r.dropThread(ctx, t, thread) // it was never sent
	default:
		return r.close(ctx, t, to, c, thread, found != "")
	}
}

func (r *Reconciler) open(
	ctx context.Context, t *v1alpha1.Trigger, c announce.Conversation, action announce.ThreadAction,
) (*announce.Failure, error) {
	thread := action.Thread
	ts, err := r.Config.Chat.Send(ctx, c.Open(thread, *action.Failure))
	failure, err := failureIn(ctx, err)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		if failure.Why.Kind == report.Unavailable {
			return failure, nil // it may have been sent
		}
		return failure, r.dropThread(ctx, t, thread)
	}
	thread.TS = ts
	return nil, r.storeThread(ctx, t, thread)
}

// close changes the first message, which can be repeated, and then answers it.
func (r *Reconciler) close(
	ctx context.Context, t *v1alpha1.Trigger, to announce.Receiver, c announce.Conversation, thread v1alpha1.TestThread, answered bool,
) (*announce.Failure, error) {
	root, reply := c.Close(thread)
	messages := []announce.Message{root}
	if !answered {
		messages = append(messages, reply)
	}
	for _, m := range messages {
		_, err := r.Config.Chat.Send(ctx, m)
		failure, err := failureIn(ctx, err)
		if err != nil || failure != nil && !failure.Fixed() {
			return r.abandoned(ctx, t, to, thread, failure, err)
		}
	}
	return nil, r.dropThread(ctx, t, thread)
}

// abandoned drops a thread that can never be closed, because people deleted it, or the Trigger names another channel now.
func (r *Reconciler) abandoned(
	ctx context.Context, t *v1alpha1.Trigger, to announce.Receiver, thread v1alpha1.TestThread, failure *announce.Failure, err error,
) (*announce.Failure, error) {
	if failure != nil && (failure.Lost() || failure.Elsewhere() && thread.Channel != to.Channel) {
		return nil, r.dropThread(ctx, t, thread)
	}
	return failure, err
}

func (r *Reconciler) storeThread(ctx context.Context, t *v1alpha1.Trigger, thread v1alpha1.TestThread) error {
	return r.writeThreads(ctx, t, func(all []v1alpha1.TestThread) []v1alpha1.TestThread { return announce.WithThread(all, thread) })
}

func (r *Reconciler) dropThread(ctx context.Context, t *v1alpha1.Trigger, thread v1alpha1.TestThread) error {
	return r.writeThreads(ctx, t, func(all []v1alpha1.TestThread) []v1alpha1.TestThread { return announce.WithoutThread(all, thread.ID) })
}

// writeThreads changes the threads as they are now: the cache may be behind, and an earlier leader may still wait for the chat.
func (r *Reconciler) writeThreads(
	ctx context.Context, t *v1alpha1.Trigger, change func([]v1alpha1.TestThread) []v1alpha1.TestThread,
) error {
	err := conflict.RetryOnConflict(conflict.DefaultRetry, func() error {
		live := &v1alpha1.Trigger{}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(t), live); err != nil {
			return err
		}
		if live.UID != t.UID {
			return nil
		}
		locked := client.MergeFromWithOptions(live.DeepCopy(), client.MergeFromWithOptimisticLock{})
		live.Status.Threads = change(live.Status.Threads)
		t.Status.Threads = live.Status.Threads
		return r.Status().Patch(ctx, live, locked)
	})
	if apierror.NotFound(err) { // it was deleted meanwhile
		t.Status.Threads = change(t.Status.Threads)
	}
	return apierror.IgnoreNotFound(err)
}
