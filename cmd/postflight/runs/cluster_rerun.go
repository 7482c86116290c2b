package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/record"
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
	trigger, err := c.triggerOf(ctx, s)
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
	next, err := c.attempt(ctx, desired)
	if err == nil && next == nil {
		next, err = c.createAttempt(ctx, s, desired, runs)
	}
	if err != nil {
		return nil, err
	}
	return new(record.RunOf(c.Teams(ctx)[next.Namespace], next)), nil
}

// triggerOf returns nil if there is none.
func (c *ClusterRuns) triggerOf(ctx context.Context, s *v1alpha1.Suite) (*v1alpha1.Trigger, error) {
	t := &v1alpha1.Trigger{}
	err := c.Client.Get(ctx, crclient.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Trigger.Name}, t)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return t, c.ExplainError(err, fmt.Sprintf("Trigger %q", s.Spec.Trigger.Name))
}

// attempt is the desired one if it exists, and nil if nothing has its name.
func (c *ClusterRuns) attempt(ctx context.Context, desired *v1alpha1.Suite) (*v1alpha1.Suite, error) {
	s := &v1alpha1.Suite{}
	err := c.Client.Get(ctx, crclient.ObjectKeyFromObject(desired), s)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.ExplainError(err, fmt.Sprintf("run %q", desired.Name))
	}
	if problem := rerun.NextProblem(s, desired); problem != "" {
		return nil, problemError(problem)
	}
	return s, nil
}

func (c *ClusterRuns) createAttempt(
	ctx context.Context, earlier, desired *v1alpha1.Suite, runs []*v1alpha1.Suite,
) (*v1alpha1.Suite, error) {
	e := &v1alpha1.Environment{}
	err := c.Client.Get(ctx, crclient.ObjectKey{Namespace: earlier.Namespace, Name: earlier.Spec.Environment}, e)
	if apierrors.IsNotFound(err) {
		e.Name, err = earlier.Spec.Environment, nil
	}
	if err != nil {
		return nil, c.ExplainError(err, fmt.Sprintf("Environment %q", earlier.Spec.Environment))
	}
	if problem := rerun.SetDeployed(desired, earlier, ledger.Of(e, runs), time.Now()); problem != "" {
		return nil, problemError(problem)
	}
	next := desired.DeepCopy()
	err = c.Client.Create(ctx, next)
	if !apierrors.IsAlreadyExists(err) {
		return next, c.ExplainError(err, "a run")
	}
	next, getErr := c.attempt(ctx, desired)
	if next == nil && getErr == nil { // it was deleted meanwhile
		return nil, c.ExplainError(err, fmt.Sprintf("run %q", desired.Name))
	}
	return next, getErr
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
