package match

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

const namespace = "acme"

// option sets a condition of a Trigger.
type option func(*v1alpha1.Trigger)

func trigger(name string, options ...option) *v1alpha1.Trigger {
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	all(options...)(t)
	return t
}

func all(options ...option) option {
	return func(t *v1alpha1.Trigger) {
		for _, o := range options {
			o(t)
		}
	}
}

func branches(globs ...string) option {
	return func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = globs }
}

func deploymentTypes(values ...string) option {
	return func(t *v1alpha1.Trigger) { t.Spec.Match.DeploymentTypes = values }
}

func services(values ...string) option {
	return func(t *v1alpha1.Trigger) { t.Spec.Match.Services = values }
}

func repositories(names ...string) option {
	return func(t *v1alpha1.Trigger) { t.Spec.Match.Repositories = names }
}

func pullRequests(policy v1alpha1.PullRequestPolicy) option {
	return func(t *v1alpha1.Trigger) { t.Spec.Match.PullRequest = policy }
}

func expressionOf(source string) option {
	return func(t *v1alpha1.Trigger) { t.Spec.Match.Expression = source }
}

func scheduled(t *v1alpha1.Trigger) { t.Spec.Schedule = &v1alpha1.TriggerSchedule{Cron: "0 3 * * *"} }

func scheduledOnly(t *v1alpha1.Trigger) {
	scheduled(t)
	t.Spec.Schedule.Only = true
}

func paused(t *v1alpha1.Trigger) { t.Spec.Paused = true }

// never is a stop function that lets matching finish.
func never() bool { return false }

// problemOf returns why a Trigger does not compile; nil if it does or is unknown.
func problemOf(x *Index, namespace, name string) error {
	if e := x.entry(namespace, name); e != nil {
		return cmp.Or(e.problem, e.matcher.compile())
	}
	return nil
}

func matchedBy(x *Index, namespace string, n *notification.Notification) []*v1alpha1.Trigger {
	matched, err := x.Match(namespace, n, never)
	if err != nil {
		panic(err)
	}
	return matched
}
