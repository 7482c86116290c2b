package index

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/triggerclass"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// Complete is triggerclass.Complete for the manager.
func Complete(ctx context.Context, c client.Reader, t *v1alpha1.Trigger) (complete *v1alpha1.Trigger, problem string, err error) {
	complete, problem, err = triggerclass.Complete(t, func(name string) (*v1alpha1.TriggerClass, error) {
		class := &v1alpha1.TriggerClass{}
		return class, c.Get(ctx, client.ObjectKey{Name: name}, class, client.UnsafeDisableDeepCopy)
	})
	if apierror.MissingRight(err) {
		return t, triggerclass.Unreadable(t), nil
	}
	return complete, problem, err
}
