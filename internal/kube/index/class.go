package index

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/apierror"
	"github.com/postflight-dev/postflight/internal/core/triggerclass"
)

// Complete returns a Trigger with what it inherits from its TriggerClass, and the Trigger itself if it names none. The problem says, in
// sentences for the Trigger's author, why the Trigger stays as it is.
func Complete(ctx context.Context, c client.Reader, t *v1alpha1.Trigger) (complete *v1alpha1.Trigger, problem string, err error) {
	if t == nil || t.Spec.TriggerClassName == "" {
		return t, "", nil
	}
	class := &v1alpha1.TriggerClass{}
	err = c.Get(ctx, client.ObjectKey{Name: t.Spec.TriggerClassName}, class, client.UnsafeDisableDeepCopy)
	if apierror.NotFound(err) {
		return t, triggerclass.Missing(t), nil
	}
	if apierror.MissingRight(err) {
		return t, triggerclass.Unreadable(t), nil
	}
	if err != nil {
		return t, "", fmt.Errorf("look up the TriggerClass %s: %w", t.Spec.TriggerClassName, err)
	}
	complete, problem = triggerclass.Merge(class, t)
	return complete, problem, nil
}
