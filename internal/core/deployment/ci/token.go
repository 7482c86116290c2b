package ci

import "fmt"

// orKey ends each advice: a key works everywhere.
const orKey = " Or set POSTFLIGHT_API_KEY from a secret; \"postflight keys create\" makes a key."

// TokenAdvice says how what runs here gets a token for the audience, or else a key. It is one line, as errors of commands are.
func TokenAdvice(env Getenv, audience string) string {
	switch Detect(env, nil).System {
	case "GitHub Actions":
		return "GitHub Actions gives the job a token for Postflight if the workflow or the job has " +
			"\"permissions: {id-token: write, contents: read}\"; that takes away the permissions that it does not list. " +
			"Workflows that a pull request of a fork starts get none, and no secrets." + orKey
	case "GitLab CI":
		return fmt.Sprintf("GitLab gives the job a token for Postflight if the job has "+
			"\"id_tokens: {POSTFLIGHT_ID_TOKEN: {aud: %s}}\".", audience) + orKey
	case "CircleCI":
		return fmt.Sprintf("The program circleci, which makes tokens, is not on the PATH of this step. Where it is, run "+
			"\"export POSTFLIGHT_ID_TOKEN=$(circleci run oidc get --claims '{\"aud\": \"%s\"}')\" first. "+
			"Builds of forks get no token, unless the project passes secrets to them.", audience) + orKey
	case "Buildkite":
		return fmt.Sprintf("The program buildkite-agent, which makes tokens, is not on the PATH of this step, perhaps because that is in "+
			"a container. On the agent, run \"export POSTFLIGHT_ID_TOKEN=$(buildkite-agent oidc request-token --audience %s)\", "+
			"and pass the variable on.", audience) + orKey
	case "Jenkins":
		return fmt.Sprintf("With its plugin OpenID Connect Provider, Jenkins makes a token for Postflight: bind a credential of the kind "+
			"\"OpenID Connect id token\" with the audience %s to the variable POSTFLIGHT_ID_TOKEN.", audience) + orKey
	}
	if env("KUBERNETES_SERVICE_HOST") != "" {
		return fmt.Sprintf("In a pod, mount a token of its ServiceAccount at /var/run/secrets/postflight/token: a projected volume with "+
			"\"serviceAccountToken: {audience: %s, path: token, expirationSeconds: 3600}\", and bind the ClusterRole postflight-notifier to the "+
			"ServiceAccount in the namespace of the team.", audience) + orKey
	}
	return "In CI, a token of the job is the best one: docs/ci.md says how each CI system makes it. Elsewhere, set POSTFLIGHT_API_KEY, " +
		"or POSTFLIGHT_API_KEY_FILE, a file with the key; \"postflight keys create\" makes one."
}
