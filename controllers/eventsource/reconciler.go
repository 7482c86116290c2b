// Package eventsource says of each EventSource whether its events are accepted, and where to send them.
package eventsource

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// secretEvery is how often a Secret is looked at, because Secrets are not watched.
const secretEvery = 5 * time.Minute

// missingEvery is how often an unusable Secret is read again: it is probably about to be repaired.
const missingEvery = 15 * time.Second

// The reasons of Ready.
const (
	reasonAccepted       = "Accepted"
	reasonTypeUnknown    = "TypeUnknown"
	reasonSuspended      = "TeamSuspended"
	reasonSecretMissing  = "SecretMissing"
	reasonSecretUnusable = "SecretUnusable"
	reasonAppMissing     = "AppMissing"
	reasonNoRepositories = "NoRepositories"
)

// Config is what the reconciler knows of the manager.
type Config struct {
	Formats  map[v1alpha1.EventSourceType]event.Format
	TakesApp bool // the manager takes events of a GitHub App
	Hook     Hook // of that App, for deliveries that failed; nil: the manager cannot ask for them
}

// Reconciler writes the status of EventSources. Receiving events does not depend on it.
type Reconciler struct {
	client.Client
	Live   client.Reader // reads Secrets, which are not cached
	Config Config
}

// Add registers the reconciler with a manager, and what asks for events again.
func Add(mgr ctrl.Manager, clock clock.PassiveClock, c Config) error {
	err := (&Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Config: c}).SetupWithManager(mgr)
	if err == nil && c.Hook != nil {
		err = mgr.Add(&Redeliverer{Hook: c.Hook, Clock: clock})
	}
	return err
}

// +kubebuilder:rbac:groups=postflight.dev,resources=eventsources,verbs=list;watch
// +kubebuilder:rbac:groups=postflight.dev,resources=eventsources/status,verbs=patch

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.EventSource{}, reconcile.SpecChanged).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(r.ofTeam)).
		Complete(retry.Conflicts(r))
}

func (r *Reconciler) ofTeam(ctx context.Context, obj client.Object) []ctrl.Request {
	list := &v1alpha1.EventSourceList{}
	err := reconcile.Known(r).List(ctx, list, client.InNamespace(obj.(*v1alpha1.Team).NamespaceName()), client.UnsafeDisableDeepCopy)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the EventSources of a Team", "team", obj.GetName())
		return nil
	}
	return reconcile.RequestsOfItems(list.Items)
}

// Reconcile writes the status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := reconcile.Get[v1alpha1.EventSource](ctx, r, req.Namespace, req.Name)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	condition, err := r.ready(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := ctrl.Result{}
	switch {
	case s.Spec.Secret == nil:
	case condition.Status == metav1.ConditionTrue:
		next.RequeueAfter = wait.Jitter(secretEvery, retry.Spread)
	default:
		next.RequeueAfter = wait.Jitter(missingEvery, retry.Spread)
	}
	return next, r.write(ctx, s, condition)
}

func (r *Reconciler) write(ctx context.Context, s *v1alpha1.EventSource, condition metav1.Condition) error {
	before := s.DeepCopy()
	s.Status.URL = path(s)
	condition.ObservedGeneration = s.Generation
	meta.SetStatusCondition(&s.Status.Conditions, condition)
	if equality.Semantic.DeepEqual(before.Status, s.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return apierror.IgnoreNotFound(r.Status().Patch(ctx, s, patch))
}

func path(s *v1alpha1.EventSource) string {
	if s.OfApp() {
		return "/api/events/github"
	}
	return "/api/events/" + s.Namespace + "/" + s.Name
}

func (r *Reconciler) ready(ctx context.Context, s *v1alpha1.EventSource) (metav1.Condition, error) {
	teams, err := index.Claimants(ctx, r, s.Namespace)
	if err != nil {
		return metav1.Condition{}, err
	}
	team := v1alpha1.Owner(teams)
	unowned, why := v1alpha1.OwnerProblem(s.Namespace, teams)
	switch {
	case unowned != "":
		then := "events are refused with 404"
		if s.OfApp() { // which have one path for all teams
			then = "events of the GitHub App start nothing here"
		}
		return reconcile.NotReady(unowned, fmt.Sprintf("Because %s, %s.", why, then)), nil
	case r.Config.Formats[s.Spec.Type].SecretProblem == nil:
		return reconcile.NotReady(reasonTypeUnknown, fmt.Sprintf("This version of the manager does not know the type %q.", s.Spec.Type)), nil
	case s.OfApp():
		return r.appReady(team), nil
	}
	problem, reason, err := r.secretProblem(ctx, s)
	switch {
	case err != nil:
		return metav1.Condition{}, err
	case problem != "":
		return reconcile.NotReady(reason, problem+" Until then, events are refused with 404."), nil
	case team.Spec.Suspended:
		return reconcile.NotReady(reasonSuspended, "The team is suspended, so events are refused with 403."), nil
	default:
		return reconcile.Ready(reasonAccepted, "Events that are signed with the secret are accepted."), nil
	}
}

func (r *Reconciler) appReady(team *v1alpha1.Team) metav1.Condition {
	switch {
	case !r.Config.TakesApp:
		return reconcile.NotReady(reasonAppMissing, "The manager takes no events of a GitHub App, "+
			"because it has no --github-webhook-secret-file. "+
			"Ask the operator of this service, or name a secret, and let a webhook of the repository send the events.")
	case len(team.Spec.Repositories) == 0:
		return reconcile.NotReady(reasonNoRepositories, "spec.repositories of the Team is empty, "+
			"so no event of the GitHub App is for this team. "+
			"Ask the operator of this service to list your repositories.")
	case team.Spec.Suspended:
		return reconcile.NotReady(reasonSuspended, "The team is suspended, so events start nothing.")
	default:
		return reconcile.Ready(reasonAccepted,
			"Events of the GitHub App are accepted, of the repositories that spec.repositories of the Team lists.")
	}
}

func (r *Reconciler) secretProblem(ctx context.Context, s *v1alpha1.EventSource) (problem, reason string, err error) {
	ref := s.Spec.Secret
	data, problem, err := reconcile.ReadSecret(ctx, r.Live, client.ObjectKey{Namespace: s.Namespace, Name: ref.Name}, "spec.secret")
	if err != nil || problem != "" {
		return problem, reasonSecretMissing, err
	}
	value, has := data[ref.Key]
	if !has {
		return fmt.Sprintf("The Secret %s has no key %s. Add it.", ref.Name, ref.Key), reasonSecretMissing, nil
	}
	if unusable := r.Config.Formats[s.Spec.Type].SecretProblem(value); unusable != "" {
		problem := fmt.Sprintf("The key %s of the Secret %s %s. Replace it, also at the sender.", ref.Key, ref.Name, unusable)
		return problem, reasonSecretUnusable, nil
	}
	return "", "", nil
}
