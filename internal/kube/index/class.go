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

// Triggers lists the Triggers of a namespace with what they inherit. If a Trigger lacks it, its condition Ready says why.
func Triggers(ctx context.Context, c client.Reader, namespace string) ([]*v1alpha1.Trigger, error) {
	list := &v1alpha1.TriggerList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	all := make([]*v1alpha1.Trigger, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
		if complete, _, err := Complete(ctx, c, all[i]); err == nil { // otherwise Ready says why
			all[i] = complete
		}
	}
	return all, nil
}

// Environments lists the Environments of a namespace.
func Environments(
	ctx context.Context, c client.Reader, namespace string, options ...client.ListOption,
) ([]*v1alpha1.Environment, error) {
	list := &v1alpha1.EnvironmentList{}
	if err := c.List(ctx, list, append(options, client.UnsafeDisableDeepCopy, client.InNamespace(namespace))...); err != nil {
		return nil, err
	}
	all := make([]*v1alpha1.Environment, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, nil
}
