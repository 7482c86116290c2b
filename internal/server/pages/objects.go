package pages

import (
	"context"
	"errors"
	"net/http"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// Triggers, Environments and Suites that these functions return are shared with the cache and must not be changed.

// triggers returns those of the namespace, with what they inherit. Ready says what is wrong with one that lacks it.
func (u *UI) triggers(r *request) ([]*v1alpha1.Trigger, error) {
	all, err := u.triggersIn(r.Context(), r.namespace())
	for i, t := range all {
		if complete, _, err := index.Complete(r.Context(), u.Cache, t); err == nil { // otherwise Ready says why
			all[i] = complete
		}
	}
	return all, err
}

// triggersIn returns them without what they inherit.
func (u *UI) triggersIn(ctx context.Context, namespace string) ([]*v1alpha1.Trigger, error) {
	list := &v1alpha1.TriggerList{}
	err := u.Cache.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(namespace))
	return pointers(list.Items), err
}

func (u *UI) environments(r *request) ([]*v1alpha1.Environment, error) {
	list := &v1alpha1.EnvironmentList{}
	err := u.Cache.List(r.Context(), list, client.UnsafeDisableDeepCopy, client.InNamespace(r.namespace()))
	return pointers(list.Items), err
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

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

func (u *UI) find(r *request) (*runs.Run, error) {
	run, err := u.Runs.Find(r.Context(), r.team, r.PathValue("id"))
	if errors.Is(err, runs.ErrNotFound) {
		return nil, notFound()
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return run, nil
}

// withVariables adds the variables of the notification, unless the Suite was deleted just now.
func (u *UI) withVariables(r *request, run *runs.Run) (*v1alpha1.Suite, error) {
	if run.Archived() {
		return run.Suite, nil
	}
	s, err := u.Runs.WithVariables(r.Context(), run.Suite)
	if errors.Is(err, runs.ErrNotFound) {
		return run.Suite, nil
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return s, nil
}

func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if away, ok := errors.AsType[*runs.ArchiveError](err); ok {
		return &problem{Status: http.StatusServiceUnavailable, Title: "The archive cannot be read",
			Text: "The store: " + away.Error() + ". Try again in a minute.", cause: err}
	}
	return &problem{Status: http.StatusServiceUnavailable, Title: "The cluster cannot be reached", Text: "Try again in a minute.", cause: err}
}
