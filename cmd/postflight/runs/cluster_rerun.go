package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// Rerun follows the rules of the server, and names the attempt as the server does.
func (c *ClusterRuns) Rerun(ctx context.Context, id string) (*client.Run, error) {
	return c.rerun(ctx, id, rerun.NextAttempt)
}

// RerunFailed is Rerun of only the failed tests.
func (c *ClusterRuns) RerunFailed(ctx context.Context, id string) (*client.Run, error) {
	return c.rerun(ctx, id, rerun.NextFailed)
}

type nextAttempt func(s *v1alpha1.Suite, t *v1alpha1.Trigger, by string) (next *v1alpha1.Suite, problem string)

func (c *ClusterRuns) rerun(ctx context.Context, id string, attemptOf nextAttempt) (*client.Run, error) {
	s, err := c.getSuite(ctx, id)
	if err != nil {
		return nil, err
	}
	if problem := rerun.UnfinishedProblem(s); problem != "" {
		return nil, problemError(problem)
	}
	trigger, err := find[v1alpha1.Trigger](ctx, c, "Trigger", s.Namespace, s.Spec.Trigger.Name)
	if err != nil {
		return nil, err
	}
	desired, problem := attemptOf(s, trigger, c.UserName(ctx))
	if problem != "" {
		return nil, problemError(problem)
	}
	runs, err := c.runsIn(ctx, s)
	if err != nil {
		return nil, err
	}
	desired.Name = suite.KnownName(desired, runs)
	next, err := c.attempt(ctx, desired, runs)
	if err == nil && next == nil {
		next, err = c.createAttempt(ctx, trigger, s, desired, runs)
	}
	if err != nil {
		return nil, err
	}
	if !next.Finished() {
		c.WarnUnowned(ctx, "the run queues")
	}
	return new(record.RunOf(c.Teams(ctx)[next.Namespace], next)), nil
}

// find reads an object in the namespace of a run. It returns nil if there is none.
func find[T any, P interface {
	*T
	crclient.Object
}](ctx context.Context, c *ClusterRuns, kind, namespace, name string) (P, error) {
	object := P(new(T))
	err := c.Client.Get(ctx, crclient.ObjectKey{Namespace: namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, c.ExplainError(err, fmt.Sprintf("%s %q", kind, name))
}

// attempt is the desired one if it exists, and nil if nothing has its name.
func (c *ClusterRuns) attempt(ctx context.Context, desired *v1alpha1.Suite, runs []*v1alpha1.Suite) (*v1alpha1.Suite, error) {
	s, err := find[v1alpha1.Suite](ctx, c, "run", desired.Namespace, desired.Name)
	if s == nil || err != nil {
		return nil, err
	}
	if problem := rerun.NextProblem(s, desired, runs); problem != "" {
		return nil, problemError(problem)
	}
	return s, nil
}

func (c *ClusterRuns) createAttempt(
	ctx context.Context, trigger *v1alpha1.Trigger, earlier, desired *v1alpha1.Suite, runs []*v1alpha1.Suite,
) (*v1alpha1.Suite, error) {
	e, err := find[v1alpha1.Environment](ctx, c, "Environment", earlier.Namespace, earlier.Spec.Environment)
	if err != nil {
		return nil, err
	}
	if e == nil {
		e = &v1alpha1.Environment{}
		e.Name = earlier.Spec.Environment
	}
	l := ledger.Of(e, runs)
	if problem := rerun.SetDeployed(desired, earlier, l, time.Now()); problem != "" {
		return nil, problemError(problem)
	}
	if desired.Spec.OnlyFailedOf != nil {
		request := rerun.FailedRequest{Suite: desired, Trigger: trigger, Environment: e, Ledger: l, Runs: runs}
		if err := c.checkFailed(ctx, request); err != nil {
			return nil, err
		}
	}
	next := desired.DeepCopy()
	err = c.Client.Create(ctx, next)
	if !apierrors.IsAlreadyExists(err) {
		return next, c.ExplainError(err, "a run")
	}
	next, getErr := c.attempt(ctx, desired, runs)
	if next == nil && getErr == nil { // it was deleted meanwhile
		return nil, c.ExplainError(err, fmt.Sprintf("run %q", desired.Name))
	}
	return next, getErr
}

// checkFailed refuses a rerun of failed tests that could not be green, as far as you have the rights to read what decides that.
func (c *ClusterRuns) checkFailed(ctx context.Context, r rerun.FailedRequest) (err error) {
	if r.Trigger, err = c.CompleteTrigger(ctx, r.Trigger); apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Digest = job.TestsDigest(r.Suite, r.Trigger, r.Environment)
	getJob := func(name string) (*batchv1.Job, error) {
		j, err := find[batchv1.Job](ctx, c, "Job", r.Suite.Namespace, name)
		if apierrors.IsForbidden(err) {
			r.Digest = ""
			return nil, nil
		}
		return j, err
	}
	r.Chain, err = rerun.FailedLinks(r.Suite, func(name string) (*v1alpha1.Suite, error) {
		return find[v1alpha1.Suite](ctx, c, "run", r.Suite.Namespace, name)
	}, getJob)
	if err != nil {
		return err
	}
	if problem := rerun.FailedObstacle(r); problem != "" {
		return problemError(problem)
	}
	return nil
}

// runsIn returns the runs of the Environment of a run.
func (c *ClusterRuns) runsIn(ctx context.Context, s *v1alpha1.Suite) (all []*v1alpha1.Suite, err error) {
	var list v1alpha1.SuiteList
	if err := c.Client.List(ctx, &list, crclient.InNamespace(s.Namespace)); err != nil {
		return nil, c.ExplainError(err, "runs")
	}
	for i := range list.Items {
		if list.Items[i].Spec.Environment == s.Spec.Environment {
			all = append(all, &list.Items[i])
		}
	}
	return all, nil
}

// problemError makes an error of a sentence.
func problemError(sentence string) error {
	return errors.New(strings.ToLower(sentence[:1]) + strings.TrimSuffix(sentence[1:], "."))
}
