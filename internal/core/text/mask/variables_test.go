package mask_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

func TestVariables(t *testing.T) {
	for reason, tc := range map[string]struct{ name, value, want string }{
		"a secret name":             {"DB_PASSWORD", "hunter2", "***"},
		"an empty value":            {"DB_PASSWORD", "", ""},
		"a URL with a password":     {"DATABASE_URL", "postgres://shop:p:w@db.example.com/shop?a=b", "postgres://shop:***@db.example.com/shop?a=b"},
		"a password without user":   {"REDIS_URL", "redis://:hunter2@cache:6379/0", "redis://:***@cache:6379/0"},
		"two of them":               {"URLS", "amqp://a:b@one amqp://c:d@two", "amqp://a:***@one amqp://c:***@two"},
		"a URL with a user":         {"REPO", "https://git@example.com/a:b@c", "https://git@example.com/a:b@c"},
		"a URL with a port":         {"SITE", "https://example.com:8443/@user", "https://example.com:8443/@user"},
		"a token of GitHub":         {"X", "Bearer ghp_" + strings.Repeat("a1", 18), "***"},
		"a token of GitLab":         {"X", "glpat-" + strings.Repeat("a", 20), "***"},
		"a key of AWS":              {"X", "AKIAIOSFODNN7EXAMPLE", "***"},
		"a key of Postflight":       {"X", "pf_" + strings.Repeat("0a", 20), "***"},
		"a named key of Postflight": {"X", "pf_acme-shop_" + strings.Repeat("aZ", 19), "***"},
		"a JSON Web Token":          {"X", "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "***"},
		"a private key":             {"X", "-----BEGIN RSA PRIVATE KEY-----\nMIIE", "***"},
		"a header":                  {"AUTHORIZATION", "Basic YTpi", "***"},
		"an author":                 {"COMMIT_AUTHOR", "Ada Lovelace", "Ada Lovelace"},
		"a commit":                  {"SHA", strings.Repeat("5ca1ab1e", 5), strings.Repeat("5ca1ab1e", 5)},
		"a word that begins alike":  {"X", "ghp_short", "ghp_short"},
	} {
		if got := mask.Variables(v1alpha1.Variables{tc.name: tc.value})[tc.name]; got != tc.want {
			t.Errorf("%s: got %q, want %q", reason, got, tc.want)
		}
	}
}
