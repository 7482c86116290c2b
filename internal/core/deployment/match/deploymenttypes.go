package match

import "github.com/postflight-dev/postflight/api/v1alpha1"

func compileDeploymentTypes(spec *v1alpha1.TriggerSpec) (criterion, error) {
	value := func(a *activation) string { return a.DeploymentType }
	return (&anyOf{field: "deployment_type", value: value, values: spec.Match.DeploymentTypes, key: deploymentTypeKey}).compile()
}
