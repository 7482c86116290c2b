package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// Terminated is an ephemeral Environment that the reconciler deletes, and its unfinished runs, which it cancels.
type Terminated struct {
	Environment *v1alpha1.Environment
	Runs        []string // ordered
}

// Terminate lets ephemeral Environments expire. An error that the sender can do something about is an *Error.
func (d *Dispatcher) Terminate(ctx context.Context, c Command, t *notification.Termination) ([]Terminated, error) {
	o := d.command(c)
	defer o.retrier.release()
	found, err := o.terminate(ctx, t, c.By)
	if missing, ok := errors.AsType[*Error](err); ok && missing.Kind == EnvironmentNotFound {
		elsewhere, failed := o.terminateElsewhere(ctx, t)
		if found = elsewhere; len(elsewhere) > 0 || failed != nil {
			err = failed
		}
	}
	return found, o.commandError(err, "the environment is being deleted")
}

func (o *operation) terminate(ctx context.Context, t *notification.Termination, by string) ([]Terminated, error) {
	environments, err := o.terminated(ctx, t)
	if err != nil {
		return nil, err
	}
	all := make([]Terminated, len(environments))
	for i := range environments {
		env := &environments[i]
		if err := o.retrier.do(ctx, func(ctx context.Context) error { return o.expire(ctx, env.DeepCopy(), by) }); err != nil {
			return nil, err
		}
		runs, err := o.unfinishedRuns(ctx, env)
		if err != nil {
			return nil, err
		}
		all[i] = Terminated{Environment: env, Runs: runs}
	}
	return all, nil
}

// terminated asks the API server for Environments that the cache lacks, because they may be new. They are shared with the cache.
func (o *operation) terminated(ctx context.Context, t *notification.Termination) ([]v1alpha1.Environment, error) {
	found, err := o.environmentsNamed(ctx, o.Cache, t, client.UnsafeDisableDeepCopy)
	if err == nil && len(found) == 0 {
		err = o.retrier.do(ctx, func(ctx context.Context) error {
			found, err = o.environmentsNamed(ctx, o.Live, t, client.HasLabels{v1alpha1.LabelEnvironment}, client.Limit(maxListed))
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &Error{Kind: EnvironmentNotFound,
			Message: "Environment not found: this team has no such ephemeral Environment. It may have been deleted already. If not, check its " +
				"URL, id or alias."}
	}
	for _, env := range found {
		if env.Spec.Ephemeral == nil {
			return nil, &Error{Kind: EnvironmentStatic,
				Message: fmt.Sprintf("The Environment %s is not ephemeral, so it does not end with a deployment. Nothing was changed.", env.Name)}
		}
		if err := o.checkTermination(ctx, &env); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b v1alpha1.Environment) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

func (o *operation) checkTermination(ctx context.Context, env *v1alpha1.Environment) error {
	var types []string
	if len(o.Grant.DeploymentTypes) > 0 {
		runs, err := o.runsIn(ctx, env.Name)
		if err != nil {
			return err
		}
		for _, s := range runs {
			types = append(types, s.Spec.Deployment.Type)
		}
	}
	if problem := o.Grant.TerminationProblem(env.Name, suite.BaseOf(env), types); problem != "" {
		return &Error{Kind: Forbidden, Message: problem}
	}
	return nil
}

func (o *operation) environmentsNamed(
	ctx context.Context, reader client.Reader, t *notification.Termination, options ...client.ListOption,
) (found []v1alpha1.Environment, err error) {
	var list v1alpha1.EnvironmentList
	if err := reader.List(ctx, &list, append(options, client.InNamespace(o.namespace))...); err != nil {
		return nil, err
	}
	for _, env := range list.Items {
		if !o.Grant.Knows(suite.BaseOf(&env)) {
			continue
		}
		byURL := t.DeploymentURL != "" && env.Spec.Ephemeral != nil && env.Spec.Ephemeral.DeploymentURL == t.DeploymentURL
		if byURL || env.Name == t.EnvironmentAlias || string(env.UID) == t.EnvironmentID {
			found = append(found, env)
		}
	}
	return found, nil
}

func (o *operation) expire(ctx context.Context, env *v1alpha1.Environment, by string) error {
	now := metav1.NewTime(o.serverTime.UTC()).Rfc3339Copy()
	if env.DeletionTimestamp != nil || !now.Before(&env.Spec.Ephemeral.ExpiresAt) {
		return nil
	}
	patch := client.MergeFrom(env.DeepCopy())
	env.Spec.Ephemeral.ExpiresAt = now
	metav1.SetMetaDataAnnotation(&env.ObjectMeta, v1alpha1.AnnotationTerminatedBy, by)
	err := apierror.IgnoreNotFound(o.Writer.Patch(ctx, env, patch))
	return changeRejection(err, "end the Environment "+env.Name)
}

func (o *operation) unfinishedRuns(ctx context.Context, env *v1alpha1.Environment) (names []string, err error) {
	var list v1alpha1.SuiteList
	selector := client.MatchingFields{index.Environment: env.Name}
	if err := o.Cache.List(ctx, &list, client.InNamespace(o.namespace), selector, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for _, s := range list.Items {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names, nil
}
