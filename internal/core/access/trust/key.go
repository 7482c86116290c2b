package trust

import (
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// indexed are claims by which policies are found without looking at all policies. Claims that match few tokens come first.
var indexed = []string{
	"repository_id", "project_id", "pipeline_id", "oidc.circleci.com/project-id",
	"repository", "project_path",
	"repository_owner_id", "namespace_id", "organization_id", "oidc.circleci.com/org-id",
	"repository_owner", "namespace_path", "organization_slug", "cluster_id", "enterprise_id", "enterprise",
	"sub",
}

// PolicyKeys are the keys under which an index has a policy. Each token that it may trust has one of them.
func PolicyKeys(p *v1alpha1.TrustPolicy) (keys []string) {
	for _, name := range indexed {
		if values := p.Spec.Claims[name]; len(values) > 0 {
			for _, value := range values {
				keys = append(keys, key(p.Spec.Issuer, name, canonical(name, value)))
			}
			return keys
		}
	}
	return []string{key(p.Spec.Issuer)}
}

// Keys are the keys of the policies that may trust a token.
func (c *Claims) Keys() []string {
	issuer := c.String("iss")
	keys := []string{key(issuer)}
	for _, name := range indexed {
		if value, isScalar := c.scalar(name); isScalar {
			keys = append(keys, key(issuer, name, canonical(name, value)))
		}
	}
	return keys
}

func key(parts ...string) string { return strings.Join(parts, "\x00") }
