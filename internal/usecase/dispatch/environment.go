package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// errEnvironmentTerminating is retryable: the name will be free.
var errEnvironmentTerminating = errors.New("the Environment of that name is being deleted")

// ensureEnvironment returns the Trigger's Environment or an ephemeral one derived from it. With an error it may return the Trigger's.
func (o *operation) ensureEnvironment(ctx context.Context, t *v1alpha1.Trigger) (*v1alpha1.Environment, error) {
	base, err := o.findEnvironment(ctx, t.Spec.Environment)
	if err != nil {
		return nil, err
	}
	if base == nil {
		return nil, reject("The Environment %q of the Trigger %q does not exist. "+
			"Create it, or name another one in the Trigger.", t.Spec.Environment, t.Name)
	}
	if base.Spec.Cluster != "" {
		return nil, reject("The Environment %s of the Trigger %q is in the cluster %s. Move the Trigger there: runs are where their "+
			"Environment is.", base.Name, t.Name, base.Spec.Cluster)
	}
	// Before anything is created: without a run, nothing would bound the Environments.
	if err := o.checkVariables(t); err != nil || !o.Notification.EphemeralEnvironment {
		return base, err
	}
	env, err := o.ensureEphemeral(ctx, base)
	if err != nil {
		return base, err
	}
	return env, nil
}

// elsewhereProblem is why no run of an Environment starts in this cluster, or "".
func elsewhereProblem(e *v1alpha1.Environment) string {
	if e.Spec.Cluster == "" {
		return ""
	}
	return fmt.Sprintf("The Environment %s is in the cluster %s now. Notify of the deployment again: it is handed on.", e.Name, e.Spec.Cluster)
}

// findEnvironment asks the API server if the cache lacks the Environment, which may be new. Nil: there is none.
func (o *operation) findEnvironment(ctx context.Context, name string) (*v1alpha1.Environment, error) {
	key := client.ObjectKey{Namespace: o.namespace, Name: name}
	env := &v1alpha1.Environment{}
	err := o.Cache.Get(ctx, key, env)
	if apierror.NotFound(err) {
		err = o.retrier.do(ctx, func(ctx context.Context) error {
			env = &v1alpha1.Environment{}
			return o.Live.Get(ctx, key, env)
		})
	}
	if apierror.NotFound(err) {
		return nil, nil
	}
	return env, err
}

// ensureEphemeral creates the Environment of the deployment URL, or prolongs its life.
func (o *operation) ensureEphemeral(ctx context.Context, base *v1alpha1.Environment) (*v1alpha1.Environment, error) {
	desired := suite.EphemeralEnvironment(base, o.Notification.DeploymentURL, o.serverTime.Add(o.ttls[base.Name]))
	cached := &v1alpha1.Environment{}
	err := o.Cache.Get(ctx, client.ObjectKeyFromObject(desired), cached)
	if err == nil && o.current(cached, desired) {
		return cached, nil
	}
	// A team that can have no more runs needs no more Environments for them.
	if o.Mode == DryRun || (err != nil && o.suites.full(o.namespace, o.bounds, o.Clock.Now()) != nil) {
		desired.UID = cached.UID
		return desired, nil
	}
	var env *v1alpha1.Environment
	err = o.retrier.do(ctx, func(ctx context.Context) (err error) {
		env, err = o.createOrRenew(ctx, desired)
		return err
	})
	if errors.Is(err, errEnvironmentTerminating) {
		return nil, reject("The ephemeral Environment %s expired, or was deleted, and is not gone yet. "+
			"Send the notification again in a minute.", desired.Name)
	}
	return env, rejection(err, "the ephemeral Environment")
}

// createOrRenew does not change an Environment that only has the name. Like suiteCreation.attempt, it looks whatever the refusal.
func (o *operation) createOrRenew(ctx context.Context, desired *v1alpha1.Environment) (*v1alpha1.Environment, error) {
	env := desired.DeepCopy()
	refusal := o.Writer.Create(ctx, env)
	if refusal == nil || retryable(refusal) {
		return env, refusal
	}
	env = &v1alpha1.Environment{}
	err := o.Live.Get(ctx, client.ObjectKeyFromObject(desired), env)
	if apierror.NotFound(err) && !apierrors.IsAlreadyExists(refusal) {
		return nil, refusal
	}
	switch {
	case err != nil:
		return nil, vanished(err)
	case !sameEphemeral(env, desired):
		return nil, reject("The name %s belongs to an Environment that was not made for this deployment URL. "+
			"Delete that Environment, and send the notification again.", desired.Name)
	case env.DeletionTimestamp != nil:
		return nil, errEnvironmentTerminating
	case o.current(env, desired):
		return env, nil
	}
	return o.renew(ctx, env, desired)
}

// renew fails with a retryable conflict if another request renews at the same time: otherwise the earlier end might win.
func (o *operation) renew(ctx context.Context, env, desired *v1alpha1.Environment) (*v1alpha1.Environment, error) {
	patch := client.MergeFromWithOptions(env.DeepCopy(), client.MergeFromWithOptimisticLock{})
	end := env.Spec.Ephemeral.ExpiresAt
	held := env.Spec.Hold
	env.Spec = *desired.Spec.DeepCopy()
	env.Spec.Hold = held
	if env.Spec.Ephemeral.ExpiresAt.Before(&end) {
		env.Spec.Ephemeral.ExpiresAt = end
	}
	delete(env.Annotations, v1alpha1.AnnotationTerminatedBy)
	if err := o.Writer.Patch(ctx, env, patch); err != nil {
		return nil, vanished(err)
	}
	if env.DeletionTimestamp != nil {
		return nil, errEnvironmentTerminating
	}
	return env, nil
}

// vanished makes the deletion of an Environment retryable.
func vanished(err error) error {
	if apierror.NotFound(err) && !apierror.NamespaceGone(err) {
		return errEnvironmentTerminating
	}
	return err
}

func sameEphemeral(env, desired *v1alpha1.Environment) bool {
	return env.Spec.Ephemeral != nil && env.Spec.Ephemeral.DeploymentURL == desired.Spec.Ephemeral.DeploymentURL &&
		metav1.GetControllerOf(env) != nil &&
		metav1.GetControllerOf(env).UID == metav1.GetControllerOf(desired).UID
}

// current reports whether the Environment needs no renewal.
func (o *operation) current(env, desired *v1alpha1.Environment) bool {
	if !sameEphemeral(env, desired) || env.DeletionTimestamp != nil {
		return false
	}
	wanted := *desired.Spec.DeepCopy()
	wanted.Ephemeral, wanted.Hold = env.Spec.Ephemeral, env.Spec.Hold
	late := desired.Spec.Ephemeral.ExpiresAt.Sub(env.Spec.Ephemeral.ExpiresAt.Time)
	return late < min(renewEvery, desired.Spec.Ephemeral.ExpiresAt.Sub(o.serverTime)/10) && equality.Semantic.DeepEqual(env.Spec, wanted)
}

// longestTTLs returns how long ephemeral Environments live, by the name of the static one that Triggers share.
func longestTTLs(triggers []*v1alpha1.Trigger) map[string]time.Duration {
	ttls := map[string]time.Duration{}
	for _, t := range triggers {
		ttls[t.Spec.Environment] = max(ttls[t.Spec.Environment], t.EphemeralTTL())
	}
	return ttls
}
