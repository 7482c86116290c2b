package deploymentgate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

const (
	secretEvery  = 5 * time.Minute  // how often a Secret is looked at, because Secrets are not watched
	missingEvery = 15 * time.Second // how often an unusable one is: it is probably about to be repaired
	reviewEvery  = 10 * time.Minute // how often lastReviewTime is written
)

// The reasons of Ready.
const (
	reasonReviewing          = "Reviewing"
	reasonSourceMissing      = "SourceMissing"
	reasonSourceUnready      = "SourceNotReady"
	reasonEnvironmentMissing = "EnvironmentMissing"
	reasonNoTrigger          = "NoTrigger"
	reasonNoCredentials      = "CredentialsMissing"
	reasonNoRepositories     = "NoRepositories"
	reasonSuspended          = "TeamSuspended"
)

// Gates writes the status of DeploymentGates.
type Gates struct {
	client.Client
	hosts hosts
}

// +kubebuilder:rbac:groups=postflight.dev,resources=deploymentgates,verbs=list;watch
// +kubebuilder:rbac:groups=postflight.dev,resources=deploymentgates/status,verbs=patch

// SetupWithManager registers the reconciler.
func (r *Gates) SetupWithManager(mgr ctrl.Manager) error {
	inNamespace := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []ctrl.Request {
		return r.gatesOf(ctx, o.GetNamespace())
	})
	created := predicate.Funcs{
		UpdateFunc: func(event.UpdateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.DeploymentGate{}, reconcile.SpecChanged).
		Watches(&v1alpha1.EventSource{}, inNamespace).
		Watches(&v1alpha1.Environment{}, inNamespace, reconcile.SpecChanged).
		Watches(&v1alpha1.Trigger{}, inNamespace, reconcile.SpecChanged).
		Watches(&v1alpha1.DeploymentReview{}, inNamespace, builder.WithPredicates(created)).
		Watches(&v1alpha1.Team{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []ctrl.Request {
			return r.gatesOf(ctx, o.(*v1alpha1.Team).NamespaceName())
		})).
		Complete(retry.Conflicts(r))
}

func (r *Gates) gatesOf(ctx context.Context, namespace string) []ctrl.Request {
	list := &v1alpha1.DeploymentGateList{}
	if err := reconcile.Known(r).List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the DeploymentGates of a namespace", "namespace", namespace)
		return nil
	}
	return reconcile.RequestsOfItems(list.Items)
}

// Reconcile writes the status.
func (r *Gates) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	g, err := reconcile.Get[v1alpha1.DeploymentGate](ctx, r, req.Namespace, req.Name)
	if err != nil || g == nil {
		return ctrl.Result{}, err
	}
	condition, err := r.ready(ctx, g)
	if err != nil {
		return ctrl.Result{}, err
	}
	last, err := r.lastReview(ctx, g)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := ctrl.Result{RequeueAfter: wait.Jitter(secretEvery, retry.Spread)}
	if condition.Status != metav1.ConditionTrue {
		next.RequeueAfter = wait.Jitter(missingEvery, retry.Spread)
	}
	before := g.DeepCopy()
	condition.ObservedGeneration = g.Generation
	meta.SetStatusCondition(&g.Status.Conditions, condition)
	if known := g.Status.LastReviewTime; last != nil && (known == nil || last.Sub(known.Time) >= reviewEvery) {
		g.Status.LastReviewTime = last
	}
	if equality.Semantic.DeepEqual(before.Status, g.Status) {
		return next, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return next, apierror.IgnoreNotFound(r.Status().Patch(ctx, g, patch))
}

func (r *Gates) lastReview(ctx context.Context, g *v1alpha1.DeploymentGate) (last *metav1.Time, err error) {
	list := &v1alpha1.DeploymentReviewList{}
	err = r.List(ctx, list, client.InNamespace(g.Namespace), client.UnsafeDisableDeepCopy)
	for i := range list.Items {
		created := list.Items[i].CreationTimestamp
		if list.Items[i].Spec.Gate == g.Name && (last == nil || last.Before(&created)) {
			last = &created
		}
	}
	return last, err
}

func (r *Gates) ready(ctx context.Context, g *v1alpha1.DeploymentGate) (metav1.Condition, error) {
	teams, err := index.Claimants(ctx, r, g.Namespace)
	if err != nil {
		return metav1.Condition{}, err
	}
	if unowned, why := v1alpha1.OwnerProblem(g.Namespace, teams); unowned != "" {
		return reconcile.NotReady(unowned, fmt.Sprintf("Because %s, nothing is approved.", why)), nil
	}
	team := v1alpha1.Owner(teams)
	source, err := reconcile.Shared[v1alpha1.EventSource](ctx, r, g.Namespace, g.Spec.Source)
	if err != nil {
		return metav1.Condition{}, err
	}
	if reason, problem := sourceProblem(g, source); problem != "" {
		return reconcile.NotReady(reason, problem), nil
	}
	if team.Spec.Suspended {
		return reconcile.NotReady(reasonSuspended, "The team is suspended, so nothing is approved."), nil
	}
	for _, check := range []func(context.Context, *v1alpha1.DeploymentGate, *v1alpha1.EventSource, *v1alpha1.Team) (string, string, error){
		r.requiredProblem, r.credentialsProblem,
	} {
		reason, problem, err := check(ctx, g, source, team)
		if err != nil {
			return metav1.Condition{}, err
		}
		if problem != "" {
			return reconcile.NotReady(reason, problem), nil
		}
	}
	message := "Deployments to these environments are approved or rejected."
	if gate.HostOf(source) == v1alpha1.GitLab && polled(g, source) == nil {
		message += " GitLab before 19.3 sends no event for them. Name each environment and repository without \"*\", so that they are looked for."
	}
	return reconcile.Ready(reasonReviewing, message), nil
}

func sourceProblem(g *v1alpha1.DeploymentGate, s *v1alpha1.EventSource) (reason, problem string) {
	switch {
	case s == nil:
		return reasonSourceMissing, fmt.Sprintf("The EventSource %s does not exist. Create it, or change spec.source.", g.Spec.Source)
	case gate.HostOf(s) == "":
		return reasonSourceMissing, fmt.Sprintf("The EventSource %s is of the type %s, and only GitHub and GitLab ask about deployments.",
			s.Name, s.Spec.Type)
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c == nil || c.Status != metav1.ConditionTrue {
		problem = fmt.Sprintf("The EventSource %s is not Ready.", s.Name)
		if c != nil {
			problem += " " + c.Message
		}
	}
	return reasonSourceUnready, problem
}

func (r *Gates) requiredProblem(
	ctx context.Context, g *v1alpha1.DeploymentGate, _ *v1alpha1.EventSource, _ *v1alpha1.Team,
) (reason, problem string, err error) {
	for _, required := range g.Spec.Requires {
		e, err := reconcile.Shared[v1alpha1.Environment](ctx, r, g.Namespace, required.Environment)
		if err != nil {
			return "", "", err
		}
		if e == nil {
			return reasonEnvironmentMissing, fmt.Sprintf("The Environment %s, which spec.requires names, does not exist. Create it.",
				required.Environment), nil
		}
		triggers := &v1alpha1.TriggerList{}
		err = r.List(ctx, triggers, client.InNamespace(g.Namespace), client.MatchingFields{index.Environment: suite.BaseOf(e)},
			client.UnsafeDisableDeepCopy)
		if err != nil {
			return "", "", err
		}
		if len(triggers.Items) == 0 {
			return reasonNoTrigger, fmt.Sprintf("No Trigger starts runs in the Environment %s, so no commit ever passes there. Create one.",
				e.Name), nil
		}
	}
	return "", "", nil
}

func (r *Gates) credentialsProblem(
	ctx context.Context, g *v1alpha1.DeploymentGate, s *v1alpha1.EventSource, team *v1alpha1.Team,
) (reason, problem string, err error) {
	service := gate.HostOf(s)
	c, problem, err := r.hosts.credentials(ctx, report.Target{Host: service}, g, team)
	if err != nil || problem != "" {
		return reasonNoCredentials, problem, err
	}
	if codehost.Of(service).ReviewsRuns && !c.IsApp() {
		return reasonNoCredentials, fmt.Sprintf("%s takes decisions only from the App whose rule the environment has, and these credentials "+
			"are a token.", service), nil
	}
	if len(team.Spec.Repositories) == 0 && (s.OfApp() || g.Spec.Credentials == nil) {
		return reasonNoRepositories, "spec.repositories of the Team is empty, so the manager's own credentials are not used. " +
			"Ask the operator of this service to list your repositories, or name credentials.", nil
	}
	return "", "", nil
}

// polled are the places that are looked at, in which no name has a "*".
func polled(g *v1alpha1.DeploymentGate, s *v1alpha1.EventSource) (places []gate.Place) {
	repositories := g.Spec.Repositories
	if len(repositories) == 0 {
		repositories = s.Spec.Repositories
	}
	exact := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasSuffix(name, "*") })
	}
	for _, repository := range exact(repositories) {
		for _, environment := range exact(g.Spec.Environments) {
			places = append(places, gate.Place{Source: s.Name, Host: gate.HostOf(s), Repository: repository, Environment: environment})
		}
	}
	return places
}
