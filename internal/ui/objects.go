package ui

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Objects that these functions return belong to the cache: read them, never change them.

func (u *UI) triggers(ctx context.Context, namespace string) ([]*v1alpha1.Trigger, error) {
	list := &v1alpha1.TriggerList{}
	if err := u.Cache.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list Triggers: %w", err)
	}
	return pointers(list.Items), nil
}

func (u *UI) environments(ctx context.Context, namespace string) ([]*v1alpha1.Environment, error) {
	list := &v1alpha1.EnvironmentList{}
	if err := u.Cache.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list Environments: %w", err)
	}
	return pointers(list.Items), nil
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// job is the Job of a run; nil if there is none.
func (u *UI) job(ctx context.Context, s *v1alpha1.Suite) (*batchv1.Job, error) {
	if s.Status.JobName == "" {
		return nil, nil
	}
	j := &batchv1.Job{}
	err := u.Cache.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Status.JobName}, j)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return j, err
}

// suite finds a run in the cluster, or in the archive. The cache may not have a run yet that an answer has just named,
// so the API server is asked before there is none.
func (u *UI) suite(r *request) (*v1alpha1.Suite, error) {
	id := r.PathValue("id")
	s := &v1alpha1.Suite{}
	key := client.ObjectKey{Namespace: r.namespace(), Name: id}
	err := u.Cache.Get(r.Context(), key, s)
	if apierrors.IsNotFound(err) {
		err = u.Live.Get(r.Context(), key, s)
	}
	switch {
	case err == nil:
		return s, nil
	case !apierrors.IsNotFound(err):
		return nil, unavailable(err)
	case u.Archive == nil:
		return nil, notFound()
	}
	archived, err := u.Archive.Run(r.Context(), r.team, id)
	if err == nil && archived == nil {
		err = notFound()
	}
	return archived, err
}

// withVariables is the run with the variables of its notification, which the cache drops at its end.
func (u *UI) withVariables(r *request, s *v1alpha1.Suite) (*v1alpha1.Suite, error) {
	if !s.Finished() {
		return s, nil
	}
	whole := &v1alpha1.Suite{}
	err := u.Live.Get(r.Context(), client.ObjectKeyFromObject(s), whole)
	if apierrors.IsNotFound(err) { // it is archived
		return s, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return whole, nil
}

func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &problem{Status: 503, Title: "The cluster cannot be reached", Text: "Try again in a minute.", cause: err}
}
