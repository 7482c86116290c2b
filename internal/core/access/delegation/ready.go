package delegation

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Answer is what a cluster said when it was asked for a Team.
type Answer struct {
	Team    string
	Actions []string // that the hub may do for it
	Err     error    // mostly an *Error
}

// needed are the actions without which a hub cannot do its part.
var needed = []string{"notify", "read"}

// Ready returns the condition of a Cluster, by its answers for some of the Teams with Environments there.
func Ready(answers []Answer, teams int) metav1.Condition {
	var problems, lacking []string
	for _, a := range answers {
		switch {
		case a.Err != nil:
			problems = append(problems, fmt.Sprintf("For the Team %s, it %v.", a.Team, a.Err))
		case slices.ContainsFunc(needed, func(n string) bool { return !slices.Contains(a.Actions, n) }):
			lacking = append(lacking, a.Team)
		}
	}
	c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case len(answers) == 0:
		c.Status, c.Reason = metav1.ConditionUnknown, "Unused"
		c.Message = "No Environment of a Team names this Cluster yet: set spec.cluster of an Environment."
	case len(problems) > 0:
		c.Reason, c.Message = "NotAnswering", summary(problems)
	case len(lacking) > 0:
		c.Reason = "MissingRights"
		c.Message = fmt.Sprintf("It does not let this hub notify and read for %s: change allow of the TrustPolicies there.",
			strings.Join(lacking, ", "))
	default:
		c.Status, c.Reason = metav1.ConditionTrue, "Answering"
		c.Message = fmt.Sprintf("It answers, and lets this hub in for %d of %d Teams that have Environments there.", len(answers), teams)
	}
	return c
}

// summary has the first problems: each is a sentence, and the rest mostly says the same.
func summary(problems []string) string {
	const most = 3
	text := strings.Join(problems[:min(len(problems), most)], " ")
	if more := len(problems) - most; more > 0 {
		text += fmt.Sprintf(" And so on for %d more.", more)
	}
	return text
}

// Namespaces returns the namespaces with Environments in a cluster, ordered.
func Namespaces(all []*v1alpha1.Environment, cluster string) (namespaces []string) {
	for _, e := range all {
		if e.Spec.Cluster == cluster {
			namespaces = append(namespaces, e.Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// EnvironmentsOf returns the names of a namespace's Environments in a cluster.
func EnvironmentsOf(all []*v1alpha1.Environment, cluster, namespace string) []string {
	own := slices.DeleteFunc(slices.Clone(all), func(e *v1alpha1.Environment) bool { return e.Namespace != namespace })
	for _, t := range Targets(own) {
		if t.Cluster == cluster {
			return t.Environments
		}
	}
	return nil
}
