package environments

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
)

// observe reads with the rights of the user what the manager reads with its own.
func (o *ExplainOptions) observe(ctx context.Context, e *v1alpha1.Environment) (observed workloads.Observed, notes []string, err error) {
	observed = workloads.Observed{Environment: e, Now: o.Clock.Now()}
	teams := &v1alpha1.TeamList{}
	err = o.Client.List(ctx, teams)
	teamKnown := err == nil
	if err != nil && !apierrors.IsForbidden(err) {
		return observed, nil, o.ExplainError(err, "Teams")
	}
	observed.Team = v1alpha1.Owner(slices.DeleteFunc(teams.Items, func(t v1alpha1.Team) bool { return t.NamespaceName() != e.Namespace }))
	if observed.Suites, err = o.suites(ctx, e); err != nil {
		return observed, nil, err
	}
	foreign := false
	for _, w := range e.Spec.Workloads {
		s := workloads.SourceOf(e, w)
		team := observed.Team
		if !teamKnown && s.Namespace != e.Namespace {
			foreign = true
			team = &v1alpha1.Team{Spec: v1alpha1.TeamSpec{WorkloadNamespaces: []v1alpha1.WorkloadNamespace{{Name: s.Namespace}}}}
		}
		found, err := o.find(ctx, e, team, w)
		if err != nil {
			return observed, nil, err
		}
		observed.Found = append(observed.Found, found...)
	}
	if foreign {
		notes = append(notes, "You may not read Teams, so it is not known whether the team may name workloads of other namespaces "+
			"(spec.workloadNamespaces).")
	}
	if !teamKnown {
		observed.Team = &v1alpha1.Team{} // nothing is known about it
	}
	return observed, notes, nil
}

// suites say which commits CI has notified. Without the right, tags that are the beginning of a commit are not completed.
func (o *ExplainOptions) suites(ctx context.Context, e *v1alpha1.Environment) (all []*v1alpha1.Suite, err error) {
	list := &v1alpha1.SuiteList{}
	err = o.Client.List(ctx, list, crclient.InNamespace(e.Namespace))
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, o.ExplainError(err, "Suites")
	}
	for i := range list.Items {
		if list.Items[i].Spec.Environment == e.Name {
			all = append(all, &list.Items[i])
		}
	}
	return all, nil
}

// find returns what a workload means: objects, or a problem.
func (o *ExplainOptions) find(
	ctx context.Context, e *v1alpha1.Environment, team *v1alpha1.Team, w v1alpha1.Workload,
) ([]workloads.Found, error) {
	f := workloads.Found{Workload: w, Source: workloads.SourceOf(e, w)}
	problem := func(message, do string) ([]workloads.Found, error) {
		f.Problem, f.Do = message, do
		return []workloads.Found{f}, nil
	}
	if refused := workloads.Allowed(team, f.Source, e, w.Name); refused != "" {
		return problem(refused, workloads.DoAskOperator)
	}
	mapping, err := o.Client.RESTMapper().RESTMapping(f.Source.GroupKind(), f.Source.Version)
	switch {
	case meta.IsNoMatchError(err):
		return problem(workloads.NoKind(f.Source), workloads.DoCorrectKind)
	case err != nil:
		return nil, fmt.Errorf("it cannot be found out whether the cluster has the kind %s: %w", f.Source.Kind, err)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return problem(workloads.NotNamespaced(f.Source, string(mapping.Scope.Name())), workloads.DoCorrectKind)
	}
	objects, err := o.objects(ctx, f.Source, w)
	if apierrors.IsForbidden(err) {
		return problem(fmt.Sprintf("You may not read objects of kind %s in namespace %s.", f.Source.Kind, f.Source.Namespace),
			"Ask for a role that gets and lists them there, such as the ClusterRole view. The manager has rights of its own.")
	}
	if err != nil {
		return nil, fmt.Errorf("objects of kind %s in namespace %s cannot be read: %w", f.Source.Kind, f.Source.Namespace, err)
	}
	var all []workloads.Found
	selection := workloads.SelectionOf(w)
	for i := range objects {
		object := &objects[i]
		if selection.Has(object) && workloads.Allowed(team, f.Source, e, object.GetName()) == "" {
			workloads.Slim(object) // as the manager sees it
			all = append(all, workloads.Found{Workload: w, Source: f.Source, Object: object})
		}
	}
	if len(all) == 0 {
		return problem(workloads.NothingFound(w, f.Source), "")
	}
	return all, nil
}

func (o *ExplainOptions) objects(ctx context.Context, s workloads.Source, w v1alpha1.Workload) ([]unstructured.Unstructured, error) {
	if w.Selector == nil {
		one := &unstructured.Unstructured{}
		one.SetGroupVersionKind(s.GroupVersionKind)
		err := o.Client.Get(ctx, crclient.ObjectKey{Namespace: s.Namespace, Name: w.Name}, one)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return []unstructured.Unstructured{*one}, err
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil || selector.Empty() {
		return nil, nil // it selects nothing
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(s.GroupVersion().WithKind(s.Kind + "List"))
	err = o.Client.List(ctx, list, crclient.InNamespace(s.Namespace), crclient.MatchingLabelsSelector{Selector: selector})
	return list.Items, err
}

// lackingRights are those of the manager: by a review, if you may ask, or else by what the status says.
func (o *ExplainOptions) lackingRights(ctx context.Context, observed workloads.Observed) (problems []workloads.Problem) {
	seen, e, team := map[workloads.Source]bool{}, observed.Environment, observed.Team
	for _, w := range e.Spec.Workloads {
		s := workloads.SourceOf(e, w)
		mapping, err := o.Client.RESTMapper().RESTMapping(s.GroupKind(), s.Version)
		if err != nil || seen[s] || workloads.Allowed(team, s, e, w.Name) != "" && team != nil && team.Name != "" {
			continue
		}
		seen[s] = true
		if o.managerLacks(ctx, e, s, mapping.Resource) {
			problems = append(problems, workloads.Problem{Message: workloads.MayNotRead(s), Do: workloads.Advice(s, o.Manager)})
		}
	}
	return problems
}

func (o *ExplainOptions) managerLacks(
	ctx context.Context, e *v1alpha1.Environment, s workloads.Source, resource schema.GroupVersionResource,
) bool {
	namespace, account, _ := strings.Cut(o.Manager, "/")
	for _, verb := range []string{"list", "watch"} {
		right := authorizationv1.ResourceAttributes{Namespace: s.Namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource}
		allowed, err := o.AccountMay(ctx, namespace, account, right)
		if err != nil {
			return statusSays(e, workloads.MayNotRead(s))
		}
		if !allowed {
			return true
		}
	}
	return false
}

// statusSays reports whether the manager had that problem when it looked last.
func statusSays(e *v1alpha1.Environment, problem string) bool {
	ready := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && strings.Contains(ready.Message, problem) {
		return true
	}
	for _, d := range e.Status.Deployed {
		if slices.ContainsFunc(d.Workloads, func(w v1alpha1.DeployedWorkload) bool { return w.Message == problem }) {
			return true
		}
	}
	return false
}
