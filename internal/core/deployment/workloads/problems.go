package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

// Advice returns what to do about a source that cannot be read.
func Advice(s Source, managerAccount string) string {
	namespace, account, _ := strings.Cut(managerAccount, "/")
	role := "--clusterrole=" + cmp.Or(readerRole(s), "ROLE")
	command := fmt.Sprintf("kubectl create rolebinding postflight-workloads -n %s %s --serviceaccount=%s:%s", s.Namespace, role, namespace,
		account)
	if readerRole(s) == "" {
		return command + ", with a ClusterRole that lists and watches " + s.Kind + " in " + cmp.Or(s.Group, "the core group")
	}
	return command
}

// What to do about problems whose sentences do not say it.
const (
	DoAskOperator = "Only an operator changes a Team. Otherwise, name workloads of the Environment's own namespace."
	DoCorrectKind = "Correct kind and apiVersion, or install the CRD. The manager looks for it every 15 seconds."
	doCorrectName = "Correct the name, the selector or the namespace, or wait until it is deployed."

	doCorrectExpression = "Correct the expression. docs/workloads.md has one for each kind."
	doCheaperExpression = "Make the expression cheaper: read one field, and compare no whole lists or objects in loops."
	doSayWhere          = "Write the annotation, or set sha of the workload: to an annotation, a container whose tag it is, an expression, " +
		"or a value."
)

// problemsOf returns what is wrong with each workload, with what to do.
func problemsOf(o Observed) (all []Problem) {
	seen := map[string]bool{}
	add := func(message, do string) {
		if message != "" && !seen[message] {
			seen[message] = true
			all = append(all, Problem{message, do})
		}
	}
	for _, f := range sorted(o.Found) {
		if f.Object == nil {
			add(f.Problem, cmp.Or(f.Do, doCorrectName))
			continue
		}
		_, problem := f.read()
		switch {
		case strings.Contains(problem, "cost limit exceeded"): // cel-go has no error of its own for it
			add(problem, doCheaperExpression)
		case strings.Contains(problem, namesNoCommit):
			add(problem, doSayWhere)
		default:
			add(problem, doCorrectExpression)
		}
		if r := rolloutOf(f.Object); r.failed {
			add(r.message, "The commit before it counts as deployed. See why it fails: "+describe(f.Object))
		}
	}
	return all
}

func describe(o *unstructured.Unstructured) string {
	return fmt.Sprintf("kubectl describe %s %s -n %s", strings.ToLower(o.GetKind()), o.GetName(), o.GetNamespace())
}

// incomplete says how far rollouts are that have not failed.
func incomplete(o Observed) (notes []string) {
	for _, f := range sorted(o.Found) {
		if f.Object == nil {
			continue
		}
		if r := rolloutOf(f.Object); !r.ready && !r.failed {
			notes = append(notes, r.message+" Until the rollout is complete, the commit before it counts as deployed. If it does not end: "+
				describe(f.Object))
		}
	}
	return notes
}

// invalidExpressions compiles the expressions of workloads without an object, because reading an object did not.
func invalidExpressions(o Observed) (all []Problem) {
	for _, f := range o.Found {
		if f.Object != nil {
			continue
		}
		for _, field := range fieldsOf(f.Workload) {
			if field.where == nil || field.where.Expression == "" {
				continue
			}
			if _, err := f.Expressions.program(field.where.Expression); err != nil {
				all = append(all, Problem{fmt.Sprintf("The %s of %s cannot be read: %s.", field.name, workloadTitle(f.Workload, f.Source), err),
					doCorrectExpression})
			}
		}
	}
	return all
}

// MixedServices says of which repositories only some workloads name a service. That is allowed.
func MixedServices(e *v1alpha1.Environment) (notes []string) {
	for _, repository := range ledger.Repositories(e) {
		if services := ledger.Services(e, repository); len(services) > 1 && slices.Contains(services, "") {
			notes = append(notes, fmt.Sprintf("Some workloads of the repository %q name a service, and others none. Those without one are of all "+
				"services that no workload names: name the service of each.", repository))
		}
	}
	return notes
}

// sharedWorkloads says which other Environments name the same objects. That is allowed.
func sharedWorkloads(o Observed, others []v1alpha1.Environment) (notes []string) {
	for i := range others {
		other := &others[i]
		if other.Name == o.Environment.Name && other.Namespace == o.Environment.Namespace {
			continue
		}
		if shared := firstShared(o, other); shared != "" {
			notes = append(notes,
				fmt.Sprintf("The Environment %s in namespace %s names %s, too. A rollout counts for both, and notifies the Triggers of both.",
					other.Name, other.Namespace, shared))
		}
	}
	return notes
}

func firstShared(o Observed, other *v1alpha1.Environment) string {
	for _, f := range sorted(o.Found) {
		for _, w := range other.Spec.Workloads {
			switch {
			case SourceOf(other, w) != f.Source:
			case f.Object != nil && SelectionOf(w).Has(f.Object):
				return title(f.Object)
			case f.Object == nil && w.Name != "" && w.Name == f.Workload.Name:
				return "the " + f.Source.Kind + " " + w.Name
			}
		}
	}
	return ""
}

// anyTypeWarnings names the Triggers of an Environment that run for deployments elsewhere, and those of others that run for deployments
// here. The Environment need not be among the others yet.
func anyTypeWarnings(e *v1alpha1.Environment, triggers []*v1alpha1.Trigger, others []v1alpha1.Environment) (notes []string) {
	environments := slices.Concat(others, []v1alpha1.Environment{*e})
	for _, t := range triggers {
		if warning := match.AnyTypeWarning(t, environments); warning != "" {
			notes = append(notes, fmt.Sprintf("The Trigger %s of %s has no deploymentTypes. %s", t.Name, t.Spec.Environment, warning))
		}
	}
	return notes
}

// The sentences why the objects of a source cannot be read.

// NoKind says that the cluster lacks the kind.
func NoKind(s Source) string {
	return fmt.Sprintf("The cluster has no kind %s in %s.", s.Kind, s.GroupVersion())
}

// NotNamespaced says that objects of the kind cannot be workloads.
func NotNamespaced(s Source, scope string) string {
	return fmt.Sprintf("Objects of kind %s belong to no namespace: their scope is %s.", s.Kind, scope)
}

// MayNotRead says that the manager lacks a right, and how to give it.
func MayNotRead(s Source) string {
	role := "a Role that lists and watches them"
	if name := readerRole(s); name != "" {
		role = "the ClusterRole " + name
	}
	return fmt.Sprintf("The manager may not read objects of kind %s in namespace %s. Allow it there with a RoleBinding to %s.", s.Kind,
		s.Namespace, role)
}

// readerRole returns the shipped role that lets the manager read a source, or "".
func readerRole(s Source) string {
	switch s.Group {
	case "apps":
		return "postflight-workloads-reader"
	case "argoproj.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io":
		return "postflight-gitops-reader"
	default:
		return ""
	}
}
