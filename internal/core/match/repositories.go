package match

import "github.com/postflight-dev/postflight/api/v1alpha1"

func compileRepositories(spec *v1alpha1.TriggerSpec) (criterion, error) {
	value := func(a *activation) string { return a.Repository }
	return (&anyOf{field: "repository", value: value, values: spec.Match.Repositories, key: repositoryKey}).compile()
}
