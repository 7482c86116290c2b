package job

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/runtrace"
)

// The variables that every container of a run has, whatever else it is given.
const (
	variableURL         = "URL"
	variableSuiteID     = "POSTFLIGHT_SUITE_ID"
	variableBranch      = "POSTFLIGHT_BRANCH"
	variableSHA         = "POSTFLIGHT_SHA"
	variableEnvironment = "POSTFLIGHT_ENVIRONMENT"
)

// The variables that a container has if there is anything to say.
const (
	variableService     = "POSTFLIGHT_SERVICE"
	variableTraceparent = "TRACEPARENT" // read by tools of OpenTelemetry
)

// variables of a run; later ones win.
func variables(s *v1alpha1.Suite, t *v1alpha1.Trigger, e *v1alpha1.Environment) map[string]string {
	all := map[string]string{}
	maps.Copy(all, e.Spec.Variables)
	maps.Copy(all, t.Spec.Variables)
	if url := cmp.Or(s.Spec.Deployment.URL, e.Spec.URL); url != "" {
		all[variableURL] = url
	}
	maps.Copy(all, s.Spec.Variables)
	all[variableSuiteID] = s.Name
	all[variableBranch] = s.Spec.Deployment.Branch
	all[variableSHA] = s.Spec.Deployment.SHA
	all[variableEnvironment] = s.Spec.Environment
	if service := s.Spec.Deployment.Service; service != "" {
		all[variableService] = service
	}
	if parent := runtrace.ContextOfTests(s); parent != "" {
		all[variableTraceparent] = parent
	}
	return all
}

// Containers are those of a pod, in the order in which they start: init containers and sidecars first.
func Containers(pod *corev1.PodSpec) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// withVariables puts variables before the entries of a template, so that those may refer to them, as in $(URL)/login.
func withVariables(template []corev1.EnvVar, variables map[string]string) []corev1.EnvVar {
	env := make([]corev1.EnvVar, 0, len(variables)+len(template))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		env = append(env, corev1.EnvVar{Name: name, Value: escape(variables[name])})
	}
	for _, entry := range template {
		if _, overridden := variables[entry.Name]; !overridden {
			env = append(env, entry)
		}
	}
	return env
}

// escape doubles every $, because the kubelet replaces $(NAME) by another variable and $$ by $.
func escape(value string) string {
	return strings.ReplaceAll(value, "$", "$$")
}

// withEnvFrom puts the sources of an Environment first: later sources win, and the template is more specific.
func withEnvFrom(template, environment []corev1.EnvFromSource) []corev1.EnvFromSource {
	if len(environment) == 0 {
		return template
	}
	all := make([]corev1.EnvFromSource, 0, len(environment)+len(template))
	for i := range environment {
		all = append(all, *environment[i].DeepCopy())
	}
	return append(all, template...)
}
