package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/triggerclass"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	checkTriggers        = "triggers"
	checkTriggerClasses  = "triggerclasses"
	checkEnvironments    = "environments"
	checkEventSources    = "eventsources"
	checkDeploymentGates = "deploymentgates"
	checkClusters        = "clusters"
	checkQuarantines     = "quarantines"
)

// Environments names those whose workloads cannot be read, and those that name a Cluster that does not exist: they have no status that
// would say so.
func Environments(environments []v1alpha1.Environment, clusters []v1alpha1.Cluster) []Finding {
	return each(checkEnvironments, environments, func(e *v1alpha1.Environment) string {
		name := e.Spec.Cluster
		if name != "" && !slices.ContainsFunc(clusters, func(c v1alpha1.Cluster) bool { return c.Name == name }) {
			return fmt.Sprintf("The Environment %s/%s is in the Cluster %s, which does not exist, so notifications do not arrive there: "+
				"create the Cluster, or correct spec.cluster of the Environment.", e.Namespace, e.Name, name)
		}
		return unready("The workloads of the Environment %s are not known: %s", &e.ObjectMeta, e.Status.Conditions)
	})
}

// EventSources names those whose events are refused.
func EventSources(sources []v1alpha1.EventSource) []Finding {
	return each(checkEventSources, sources, func(s *v1alpha1.EventSource) string {
		return unready("The EventSource %s does not work: %s", &s.ObjectMeta, s.Status.Conditions)
	})
}

// DeploymentGates names those that approve nothing.
func DeploymentGates(gates []v1alpha1.DeploymentGate) []Finding {
	return each(checkDeploymentGates, gates, func(g *v1alpha1.DeploymentGate) string {
		return unready("The DeploymentGate %s does not work: %s", &g.ObjectMeta, g.Status.Conditions)
	})
}

// Clusters names those that do not answer, or do not let this hub in.
func Clusters(clusters []v1alpha1.Cluster) []Finding {
	return each(checkClusters, clusters, func(c *v1alpha1.Cluster) string {
		return unready("The Cluster %s cannot be used: %s", &c.ObjectMeta, c.Status.Conditions)
	})
}

// Quarantines names those that are invalid.
func Quarantines(quarantines []v1alpha1.Quarantine) []Finding {
	return each(checkQuarantines, quarantines, func(q *v1alpha1.Quarantine) string {
		return unready("The Quarantine %s does not work: %s", &q.ObjectMeta, q.Status.Conditions)
	})
}

// Triggers names those that cannot match, those with a warning, and those whose schedule started no run the last time.
func Triggers(triggers []v1alpha1.Trigger) []Finding {
	return each(checkTriggers, triggers, func(t *v1alpha1.Trigger) string {
		problem := unready("The Trigger %s does not work: %s", &t.ObjectMeta, t.Status.Conditions)
		if s := t.Status.Schedule; problem == "" && s != nil && s.Message != "" {
			return fmt.Sprintf("The schedule of the Trigger %s/%s did not start all runs the last time: %s", t.Namespace, t.Name, s.Message)
		}
		if w := v1alpha1.ReadyWarning(t.Status.Conditions); w != "" {
			return fmt.Sprintf("The Trigger %s/%s may not do what you want: %s", t.Namespace, t.Name, w)
		}
		return problem
	})
}

// TriggerClasses names those with which Triggers do not work, missing ones included. A class has no status: its Triggers have.
func TriggerClasses(classes []v1alpha1.TriggerClass, triggers []v1alpha1.Trigger) (findings []Finding) {
	get := func(name string) (*v1alpha1.TriggerClass, error) {
		i := slices.IndexFunc(classes, func(c v1alpha1.TriggerClass) bool { return c.Name == name })
		if i < 0 {
			return nil, apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource(checkTriggerClasses).GroupResource(), name)
		}
		return &classes[i], nil
	}
	broken := map[string][]string{} // sentences, by class
	for i := range triggers {
		t := &triggers[i]
		if _, problem, _ := triggerclass.Complete(t, get); problem != "" { // get has no other error
			broken[t.Spec.TriggerClassName] = append(broken[t.Spec.TriggerClassName], fmt.Sprintf("%s/%s: %s", t.Namespace, t.Name, problem))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		verb := "do not work"
		if len(broken[name]) == 1 {
			verb = "does not work"
		}
		findings = append(findings, warning(checkTriggerClasses, "", "%s %s with the TriggerClass %s, such as %s",
			plaintext.Count(len(broken[name]), "Trigger"), verb, name, broken[name][0]))
	}
	if len(findings) == 0 {
		return []Finding{ok(checkTriggerClasses, "All %d work.", len(classes))}
	}
	return findings
}

// each warns of objects that have a problem.
func each[T any](check string, objects []T, problemOf func(*T) string) (findings []Finding) {
	for i := range objects {
		if problem := problemOf(&objects[i]); problem != "" {
			findings = append(findings, warning(check, "", "%s", problem))
		}
	}
	if len(findings) == 0 {
		return []Finding{ok(check, "All %d work.", len(objects))}
	}
	return findings
}

// unready returns a sentence about an object that is not Ready, or "".
func unready(format string, meta *metav1.ObjectMeta, conditions []metav1.Condition) string {
	if problem := v1alpha1.ReadyProblem(conditions); problem != "" {
		return fmt.Sprintf(format, strings.TrimPrefix(meta.Namespace+"/"+meta.Name, "/"), problem)
	}
	return ""
}
