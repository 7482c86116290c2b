package run

import (
	"context"
	"errors"
	"net/http"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

func (u *Pages) job(ctx context.Context, s *v1alpha1.Suite) (*batchv1.Job, error) {
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

// revision returns what a run tested, unless its Environment is gone.
func (u *Pages) revision(r *site.Request, s *v1alpha1.Suite) (string, error) {
	e := &v1alpha1.Environment{}
	err := u.Cache.Get(r.Context(), client.ObjectKey{Namespace: r.Namespace(), Name: s.Spec.Environment}, e, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return s.Spec.Deployment.SHA, err
}

func (u *Pages) find(r *site.Request) (*runs.Run, error) {
	run, err := u.Runs.Find(r.Context(), r.Team, r.PathValue("id"))
	if errors.Is(err, runs.ErrNotFound) {
		return nil, site.NotFound()
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return run, nil
}

// withVariables adds the variables of the notification, unless the Suite was deleted just now.
func (u *Pages) withVariables(r *site.Request, run *runs.Run) (*v1alpha1.Suite, error) {
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
		return &site.Problem{Status: http.StatusServiceUnavailable, Title: "The archive cannot be read",
			Text: "The store: " + away.Error() + ". Try again in a minute.", Cause: err}
	}
	return &site.Problem{Status: http.StatusServiceUnavailable, Title: "The cluster cannot be reached", Text: "Try again in a minute.",
		Cause: err}
}
