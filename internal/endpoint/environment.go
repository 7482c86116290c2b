package endpoint

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/suite"
)

// errTerminating says that an Environment of the wanted name is on its way out.
var errTerminating = &passing{"the Environment of that name is being deleted"}

// environment is where the run of a Trigger is: its Environment, or an ephemeral one that derives
// from it.
func (o *order) environment(ctx context.Context, t *v1alpha1.Trigger) (*v1alpha1.Environment, error) {
	base, err := o.find(ctx, t.Spec.Environment)
	if err != nil {
		return nil, err
	}
	if base == nil {
		return nil, refusef("The Environment %q of the Trigger %q does not exist. Create it, or name another one in the Trigger.", t.Spec.Environment, t.Name)
	}
	if !o.notification.EphemeralEnvironment {
		return base, nil
	}
	if err := o.checkVariables(t); err != nil { // no run comes of it, so nothing would bound the Environments
		return base, err
	}
	env, err := o.ephemeral(ctx, base)
	if err != nil {
		return base, err
	}
	return env, nil
}

// find reads the cache, and asks the API server where that has no such Environment: it may have been
// created a moment ago. Nil: there is none.
func (o *order) find(ctx context.Context, name string) (*v1alpha1.Environment, error) {
	key := client.ObjectKey{Namespace: o.namespace, Name: name}
	env := &v1alpha1.Environment{}
	err := o.api.Cache.Get(ctx, key, env)
	if apierror.NotFound(err) {
		err = o.hold.do(ctx, func(ctx context.Context) error {
			env = &v1alpha1.Environment{}
			return o.api.Live.Get(ctx, key, env)
		})
	}
	if apierror.NotFound(err) {
		return nil, nil
	}
	return env, err
}

// ephemeral creates the Environment of the deployment URL, or moves its end on.
func (o *order) ephemeral(ctx context.Context, base *v1alpha1.Environment) (*v1alpha1.Environment, error) {
	wanted := suite.EphemeralEnvironment(base, o.notification.DeploymentURL, o.serverTime.Add(o.api.Limits.EphemeralFor))
	cached := &v1alpha1.Environment{}
	err := o.api.Cache.Get(ctx, client.ObjectKeyFromObject(wanted), cached)
	if err == nil && current(cached, wanted) {
		return cached, nil
	}
	// A team that can have no more runs needs no more Environments for them.
	if o.dryRun || (err != nil && o.api.suites.full(o.namespace, o.bounds, o.api.Now()) != nil) {
		wanted.UID = cached.UID
		return wanted, nil
	}
	var env *v1alpha1.Environment
	err = o.hold.do(ctx, func(ctx context.Context) (err error) {
		env, err = o.createOrRenew(ctx, wanted)
		return err
	})
	if errors.Is(err, errTerminating) {
		return nil, refusef("The ephemeral Environment %s expired, or was deleted, and is not gone yet. Send the notification again in a minute.", wanted.Name)
	}
	return env, final(err, "the ephemeral Environment")
}

// createOrRenew leaves an Environment alone that only has the name. One that is being deleted must
// be gone before it can be created anew. Like placement.attempt, it looks also where it was refused.
func (o *order) createOrRenew(ctx context.Context, wanted *v1alpha1.Environment) (*v1alpha1.Environment, error) {
	env := wanted.DeepCopy()
	refusal := o.api.Writer.Create(ctx, env)
	if refusal == nil || transient(refusal) {
		return env, refusal
	}
	env = &v1alpha1.Environment{}
	err := o.api.Live.Get(ctx, client.ObjectKeyFromObject(wanted), env)
	if apierror.NotFound(err) && !apierrors.IsAlreadyExists(refusal) {
		return nil, refusal
	}
	if err != nil {
		return nil, vanished(err)
	}
	switch {
	case !sameEphemeral(env, wanted):
		return nil, refusef("The name %s belongs to an Environment that was not made for this deployment URL. Delete that Environment, and send the notification again.", wanted.Name)
	case env.DeletionTimestamp != nil:
		return nil, errTerminating
	case current(env, wanted):
		return env, nil
	}
	return o.renew(ctx, env, wanted)
}

// renew has no resource version: of two that renew at once, either end is right.
func (o *order) renew(ctx context.Context, env, wanted *v1alpha1.Environment) (*v1alpha1.Environment, error) {
	patch := client.MergeFrom(env.DeepCopy())
	env.Spec = wanted.Spec
	if err := o.api.Writer.Patch(ctx, env, patch); err != nil {
		return nil, vanished(err)
	}
	if env.DeletionTimestamp != nil {
		return nil, errTerminating
	}
	return env, nil
}

// vanished makes of an Environment that is not there any more one to be created.
func vanished(err error) error {
	if apierror.NotFound(err) && !apierror.NamespaceGone(err) {
		return errTerminating
	}
	return err
}

// sameEphemeral reports whether the Environment stands for the same deployment URL of the same base.
func sameEphemeral(env, wanted *v1alpha1.Environment) bool {
	return env.Spec.Ephemeral != nil &&
		env.Spec.Ephemeral.DeploymentURL == wanted.Spec.Ephemeral.DeploymentURL &&
		metav1.GetControllerOf(env) != nil &&
		metav1.GetControllerOf(env).UID == metav1.GetControllerOf(wanted).UID
}

// current reports whether the Environment needs no renewal.
func current(env, wanted *v1alpha1.Environment) bool {
	return sameEphemeral(env, wanted) && env.DeletionTimestamp == nil &&
		wanted.Spec.Ephemeral.ExpiresAt.Sub(env.Spec.Ephemeral.ExpiresAt.Time) < renewEvery
}
