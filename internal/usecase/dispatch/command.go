package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// Command is a request to change a run or an Environment. Team is only read.
type Command struct {
	Team       *v1alpha1.Team
	Grant      grant.Grant // of the sender; only which Environments it may end, and the bounds of its commands, matter here
	By         string      // the sender, for people who look at the run
	RequestID  string      // clients may give several requests one
	ReceivedAt time.Time   // by Clock

	OnlyFailed bool // of Rerun: only the failed tests are repeated
}

// command returns an operation, whose retrier has to be released.
func (d *Dispatcher) command(c Command) *operation {
	return d.newOperation(Request{Team: c.Team, Grant: c.Grant, By: c.By, Notification: &notification.Notification{}, RequestID: c.RequestID,
		ReceivedAt: c.ReceivedAt})
}

// run asks the API server, because the cache may lag, and lacks the variables of finished runs.
func (o *operation) run(ctx context.Context, name string) (*v1alpha1.Suite, error) {
	s := &v1alpha1.Suite{}
	err := o.Live.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: name}, s)
	if apierror.NotFound(err) {
		return nil, &Error{Kind: RunNotFound, Message: "Run not found.", cause: err}
	}
	if err != nil {
		return nil, err
	}
	return s, o.checkReach(ctx, s)
}

// checkReach refuses a command on a run that the sender may not reach. An ephemeral Environment counts as the Environment that it derives
// from.
func (o *operation) checkReach(ctx context.Context, s *v1alpha1.Suite) error {
	if !o.Grant.KnowsRun(s.Spec.Environment, s.Spec.Deployment.URL) {
		return &Error{Kind: RunNotFound, Message: "Run not found."}
	}
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: s.Spec.Environment}}
	if len(o.Grant.Acts.Environments) > 0 {
		err := o.Cache.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: env.Name}, env)
		if apierror.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if problem := o.Grant.RunProblem(suite.BaseOf(env), s.Spec.Deployment.Type); problem != "" {
		return &Error{Kind: Forbidden, Message: problem}
	}
	return nil
}

// commandError makes an *Error if the sender can do something about it. The unknown completes "it is not known whether ...".
func (o *operation) commandError(err error, unknown string) error {
	rejected, ok := errors.AsType[rejectedError](err)
	said, _ := errors.AsType[*Error](err)
	switch {
	case said != nil:
		return said
	case ok:
		return &Error{Kind: Rejected, Message: rejected.Error()}
	case errors.Is(err, errNamespaceGone):
		return &Error{Kind: NamespaceGone, cause: err,
			Message: "Run not found: the namespace of the team is missing or being deleted. Ask the operator of this service."}
	case errors.Is(err, errOutcomeUnknown):
		kind := Unavailable
		if o.retrier.turnedAway.Load() {
			kind = Overloaded
		}
		return &Error{Kind: kind, cause: err, Message: fmt.Sprintf("%s, so it is not known whether %s. "+
			"Send the request again: it does the same however often it is sent.", o.whyUnknown(), unknown)}
	default:
		return err
	}
}

func changeRejection(err error, change string) error {
	switch {
	case err == nil:
		return nil
	case apierror.MissingRight(err):
		return reject("The manager may not %s. Ask the operator of this service to check its role.", change)
	case apierror.NamespaceGone(err):
		return fmt.Errorf("%w: %w", errNamespaceGone, err)
	case apierror.Rejected(err):
		return reject("The API server refused to %s: %s.", change, reason(err))
	default:
		return err
	}
}

// Cancel stops a run unless it is canceled. An error that the sender can do something about is an *Error.
func (d *Dispatcher) Cancel(ctx context.Context, c Command, run string) (*v1alpha1.Suite, error) {
	o := d.command(c)
	defer o.retrier.release()
	var s *v1alpha1.Suite
	err := o.retrier.do(ctx, func(ctx context.Context) (err error) {
		s, err = o.cancel(ctx, run, c.By)
		return err
	})
	return s, o.commandError(err, "the run is being canceled")
}

func (o *operation) cancel(ctx context.Context, run, by string) (*v1alpha1.Suite, error) {
	s, err := o.run(ctx, run)
	switch {
	case err != nil:
		return nil, err
	case s.State() == v1alpha1.ReasonCanceled || !s.Finished() && s.Spec.Cancel:
		return s, nil
	case s.Finished():
		return nil, &Error{Kind: RunFinished, Message: fmt.Sprintf("The run %s has ended already: %s. There is nothing to cancel.",
			run, s.State())}
	}
	patch := client.MergeFrom(s.DeepCopy())
	s.Spec.Cancel = true
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationCanceledBy, by)
	return s, changeRejection(o.Writer.Patch(ctx, s, patch), "cancel the run")
}
