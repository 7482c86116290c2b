// Package tokens has an OpenID Connect provider for tests: it signs tokens with the claims of CI systems, good ones and bad ones.
package tokens

import "time"

// Claims are the claims of a token. In a change, nil removes one.
type Claims = map[string]any

// Commit is what the tokens are of.
const Commit = "da39a3ee5e6b4b0d3255bfef95601890afd80709"

// GitHub are the claims that docs.github.com lists (actions/reference/security/oidc), of a job with an environment.
func GitHub(issuer string, now time.Time, changes ...Claims) Claims {
	return changed(Claims{
		"iss": issuer, "aud": "postflight", "sub": "repo:acme@12/shop@4711:environment:staging", "jti": "5ec2f1a3",
		"iat": now.Unix() - 10, "nbf": now.Unix() - 310, "exp": now.Unix() + 290,
		"repository": "acme/shop", "repository_id": "4711", "repository_owner": "acme", "repository_owner_id": "12",
		"repository_visibility": "public",
		"ref":                   "refs/heads/main", "ref_type": "branch", "ref_protected": "true", "sha": Commit, "environment": "staging", "event_name": "push",
		"workflow": "deploy", "workflow_ref": "acme/shop/.github/workflows/deploy.yml@refs/heads/main", "workflow_sha": Commit,
		"job_workflow_ref": "acme/shop/.github/workflows/deploy.yml@refs/heads/main", "job_workflow_sha": Commit,
		"actor": "anna", "actor_id": "7",
		"run_id": "100", "run_number": "10", "run_attempt": "1", "runner_environment": "github-hosted", "base_ref": "", "head_ref": "",
	}, changes)
}

// GitLab are the claims that docs.gitlab.com lists (ci/secrets/id_token_authentication), of a job that deploys.
func GitLab(issuer string, now time.Time, changes ...Claims) Claims {
	return changed(Claims{
		"iss": issuer, "aud": "postflight", "sub": "project_path:acme/shop:ref_type:branch:ref:main", "jti": "c82eeb0c",
		"iat": now.Unix() - 10, "nbf": now.Unix() - 15, "exp": now.Unix() + 3590,
		"project_id": "22", "project_path": "acme/shop", "namespace_id": "72", "namespace_path": "acme", "user_id": "1", "user_login": "anna",
		"pipeline_id": "574", "pipeline_source": "push", "job_id": "302", "ref": "main", "ref_type": "branch", "ref_path": "refs/heads/main",
		"ref_protected": "true",
		"environment":   "staging", "environment_protected": "false", "environment_action": "start", "deployment_tier": "staging",
		"runner_id": 1, "runner_environment": "gitlab-hosted", "sha": Commit, "groups_direct": []string{"acme/ops"},
		"ci_config_ref_uri": "gitlab.com/acme/shop//.gitlab-ci.yml@refs/heads/main", "ci_config_sha": Commit,
	}, changes)
}

func changed(claims Claims, changes []Claims) Claims {
	for _, change := range changes {
		for name, value := range change {
			if claims[name] = value; value == nil {
				delete(claims, name)
			}
		}
	}
	return claims
}
