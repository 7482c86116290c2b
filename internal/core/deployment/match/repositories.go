package match

import (
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

func compileRepositories(spec *v1alpha1.TriggerSpec) (criterion, error) {
	value := func(a *activation) string { return a.Repository }
	c := anyOf{field: "repository", value: value, values: spec.Match.Repositories, key: repositoryKey, canonical: commit.RepositoryKey}
	return c.compile()
}
