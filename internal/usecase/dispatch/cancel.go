package dispatch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

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
		return nil, &Error{Kind: RunFinished, Message: fmt.Sprintf("The run %s has ended already: %s. There is nothing to cancel.", run, s.State())}
	}
	patch := client.MergeFrom(s.DeepCopy())
	s.Spec.Cancel = true
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationCanceledBy, by)
	return s, changeRejection(o.Writer.Patch(ctx, s, patch), "cancel the run")
}
