package deploymentgate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// The reasons of Decided and Delivered, besides Approved and Rejected.
const (
	reasonWaiting      = "Waiting"
	reasonNotPending   = "NotPending"
	reasonDelivered    = "Delivered"
	reasonNotDelivered = "NotDelivered"
)

// call is one request to the code host of a review.
type call struct {
	gate.Observation
	write   bool                 // it counts as a write
	prepare func() (bool, error) // before it is sent, within the limits; false: do not send it
	send    func(context.Context, CodeHost, report.ApprovalRequest) error
}

// exchange sends a request within the limits of the credentials. It returns when to try again if none was sent, or if the code host has
// answered with a failure.
func (r *Reviews) exchange(ctx context.Context, c call) (failure *report.Error, after time.Duration, err error) {
	credentials, budget, after, err := r.permit(ctx, c.Observation)
	if err != nil || budget == nil {
		return nil, after, err
	}
	if c.prepare != nil {
		if proceed, err := c.prepare(); err != nil || !proceed {
			budget.Return()
			return nil, retry.AtOnce, err
		}
	}
	review := c.Review
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err = c.send(ctx, r.Config.Hosts[review.Spec.HostingService], report.ApprovalRequest{
		Request:     report.Request{Target: targetOf(c.Observation), Credentials: credentials, Purpose: report.Approvals},
		Environment: review.Spec.Environment, RunID: review.Spec.RunID, DeploymentID: review.Spec.DeploymentID,
	})
	if err != nil && !errors.As(err, &failure) {
		budget.Return()
		return nil, 0, err
	}
	if failure == nil && !c.write {
		budget.Return()
	} else {
		budget.Done(failure, r.Clock.Now())
	}
	if failure == nil || failure.Kind == report.NotPending {
		r.memory.succeeded(client.ObjectKeyFromObject(review))
		return failure, 0, nil
	}
	r.Metrics.count(resultFailed)
	ctrl.LoggerFrom(ctx).Info("a code host does not answer a review", "host", review.Spec.HostingService,
		"repository", review.Spec.Repository, "reason", failure.Message, "cause", failure.Cause)
	return failure, r.pause(c.Observation, failure), nil
}

func (r *Reviews) pause(o gate.Observation, failure *report.Error) time.Duration {
	after := r.memory.failed(client.ObjectKeyFromObject(o.Review), o.Answers.Generation, failure, r.Clock.Now())
	return wait.Jitter(after, retry.Spread)
}

func targetOf(o gate.Observation) report.Target {
	return report.Target{Host: o.Review.Spec.HostingService, Repository: o.Review.Spec.Repository, SHA: gate.SHA(o.Review, o.Pending)}
}

// permit returns the credentials for a request, and the budget that has room for it, or when to try again.
func (r *Reviews) permit(ctx context.Context, o gate.Observation) (c report.Credentials, b *report.Budget, after time.Duration, err error) {
	now, target := r.Clock.Now(), targetOf(o)
	if pause := r.memory.pause(client.ObjectKeyFromObject(o.Review), o.Answers.Generation, now); pause > 0 {
		return c, nil, pause, nil
	}
	c, problem, err := r.hosts.credentials(ctx, target, o.Answers, o.Team)
	if err != nil {
		return c, nil, 0, err
	}
	if problem != "" {
		return c, nil, r.pause(o, &report.Error{Kind: report.Rejected}), r.undelivered(ctx, o.Review, problem)
	}
	b = r.budgets.Of(string(target.Host)+" "+c.Key(), r.Config.Hosts[target.Host].Limits, now)
	if delay := b.Take(100, now); delay > 0 {
		return c, nil, wait.Jitter(delay, retry.Spread), nil
	}
	return c, b, 0, nil
}

// ask returns nil if the code host has not answered, and when to try again.
func (r *Reviews) ask(ctx context.Context, o gate.Observation) (*report.Pending, time.Duration, error) {
	var pending report.Pending
	send := func(ctx context.Context, h CodeHost, a report.ApprovalRequest) (err error) {
		pending, err = h.Pending(ctx, a)
		return err
	}
	failure, after, err := r.exchange(ctx, call{Observation: o, send: send})
	switch {
	case err != nil || failure == nil && after > 0:
		return nil, after, err
	case failure != nil && failure.Kind == report.NotPending:
		pending = report.Pending{}
	case failure != nil:
		return nil, after, r.undelivered(ctx, o.Review, sentence(failure))
	}
	r.memory.answered(client.ObjectKeyFromObject(o.Review), pending, r.Clock.Now())
	return &pending, 0, nil
}

// wait stores what is waited for, and reports it.
func (r *Reviews) wait(ctx context.Context, o gate.Observation, step gate.Step) (time.Duration, error) {
	review, reported := o.Review, gate.Reports(o.Review, step.Waits)
	store := func(report bool) error {
		return r.store(ctx, review, func(s *v1alpha1.DeploymentReviewStatus) {
			decided := metav1.Condition{
				Type: v1alpha1.ConditionDecided, Status: metav1.ConditionUnknown, Reason: reasonWaiting, Message: gate.Bounded(step.Waits),
			}
			if s.Decision == nil {
				r.set(review, s, decided)
			}
			if r.memory.healthy(client.ObjectKeyFromObject(review)) {
				meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionDelivered)
			}
			if report {
				s.LastReport, s.Reports = gate.Bounded(step.Waits), s.Reports+1
			}
		})
	}
	if !reported {
		return step.After, store(false)
	}
	failure, after, err := r.exchange(ctx, call{
		Observation: o, write: true, prepare: func() (bool, error) { return true, store(true) },
		send: func(ctx context.Context, h CodeHost, a report.ApprovalRequest) error {
			a.Comment = gate.Progress(step.Waits)
			return h.Review(ctx, a)
		},
	})
	switch {
	case err != nil:
		return 0, err
	case failure != nil && failure.Kind == report.NotPending:
		r.memory.outdated(client.ObjectKeyFromObject(review))
		return step.After, nil
	case failure != nil:
		return min(after, step.After), r.undelivered(ctx, review, sentence(failure))
	case after > 0:
		return min(after, step.After), nil
	default:
		return step.After, nil
	}
}

// tell sends a decision, after it was stored with the attempt.
func (r *Reviews) tell(ctx context.Context, o gate.Observation, step gate.Step) (time.Duration, error) {
	review, decision := o.Review, step.Decision
	failure, after, err := r.exchange(ctx, call{
		Observation: o, write: true, prepare: func() (bool, error) { return r.commit(ctx, o, decision) },
		send: func(ctx context.Context, h CodeHost, a report.ApprovalRequest) error {
			a.State, a.Comment = gate.State(decision), decision.Comment
			return h.Review(ctx, a)
		},
	})
	switch {
	case err != nil:
		return 0, err
	case failure != nil && failure.Kind != report.NotPending:
		return after, r.undelivered(ctx, review, sentence(failure))
	case failure == nil && after > 0:
		return after, nil
	}
	message := fmt.Sprintf("%s has the decision.", review.Spec.HostingService)
	if failure != nil {
		message = fmt.Sprintf("%s waits for no decision any more: it has this one already, or another.", review.Spec.HostingService)
	}
	err = r.store(ctx, review, func(s *v1alpha1.DeploymentReviewStatus) {
		s.DeliveredTime = new(metav1.NewTime(r.Clock.Now()))
		r.set(review, s, metav1.Condition{
			Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionTrue, Reason: reasonDelivered, Message: message,
		})
	})
	if err == nil {
		r.Metrics.count(string(gate.State(decision)))
	}
	return 0, err
}

// commit stores a decision with an attempt to send it, and reports whether to send it. The commit of an approval must be green after that.
func (r *Reviews) commit(ctx context.Context, o gate.Observation, decision *v1alpha1.ReviewDecision) (bool, error) {
	review := o.Review
	err := r.store(ctx, review, func(s *v1alpha1.DeploymentReviewStatus) {
		s.Decision, s.Attempts = decision, s.Attempts+1
		r.set(review, s, metav1.Condition{
			Type: v1alpha1.ConditionDecided, Status: metav1.ConditionTrue, Reason: string(decision.State), Message: decision.Message,
		})
	})
	if err != nil || decision.State != v1alpha1.ReviewApproved {
		return err == nil, err
	}
	now, err := r.observe(ctx, review, o.Pending, true)
	return err == nil && approves(gate.Next(now, r.Clock.Now())), err
}

// end is for a review that needs no decision any more.
func (r *Reviews) end(ctx context.Context, review *v1alpha1.DeploymentReview, why string) error {
	err := r.store(ctx, review, func(s *v1alpha1.DeploymentReviewStatus) {
		s.DeliveredTime = new(metav1.NewTime(r.Clock.Now()))
		if s.Decision == nil {
			r.set(review, s, metav1.Condition{
				Type: v1alpha1.ConditionDecided, Status: metav1.ConditionFalse, Reason: reasonNotPending, Message: why,
			})
		}
		delivered := metav1.ConditionFalse
		if s.Attempts > 0 { // the answer to one was lost
			delivered = metav1.ConditionTrue
		}
		r.set(review, s, metav1.Condition{Type: v1alpha1.ConditionDelivered, Status: delivered, Reason: reasonNotPending, Message: why})
	})
	if err == nil {
		r.Metrics.count(resultEnded)
	}
	return err
}

func (r *Reviews) undelivered(ctx context.Context, review *v1alpha1.DeploymentReview, why string) error {
	return r.store(ctx, review, func(s *v1alpha1.DeploymentReviewStatus) {
		r.set(review, s, metav1.Condition{
			Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionFalse, Reason: reasonNotDelivered, Message: gate.Bounded(why),
		})
	})
}

func sentence(e *report.Error) string { return e.Message + ". Postflight tries again." }

func (r *Reviews) set(review *v1alpha1.DeploymentReview, s *v1alpha1.DeploymentReviewStatus, c metav1.Condition) {
	c.ObservedGeneration, c.LastTransitionTime = review.Generation, metav1.NewTime(r.Clock.Now())
	meta.SetStatusCondition(&s.Conditions, c)
}

// store writes the status if it changes, and fails if another leader has written meanwhile, or if the review is gone.
func (r *Reviews) store(ctx context.Context, review *v1alpha1.DeploymentReview, change func(*v1alpha1.DeploymentReviewStatus)) error {
	before := review.DeepCopy()
	change(&review.Status)
	if equality.Semantic.DeepEqual(before.Status, review.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return r.Status().Patch(ctx, review, patch)
}
