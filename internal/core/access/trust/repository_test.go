package trust_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
)

func teamWith(repositories ...string) *v1alpha1.Team {
	return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}, Spec: v1alpha1.TeamSpec{Repositories: repositories}}
}

// TestListedFor: the host of a repository is that of the issuer, so that nobody else's acme/shop counts.
func TestListedFor(t *testing.T) {
	const server, residency = "https://ghe.example.com/_services/token", "https://token.actions.acme.ghe.com"
	from := func(issuer string, changes ...object) object {
		return ofGitHub(append(changes, object{"iss": issuer})...)
	}
	onGitLab := func(issuer string, changes ...object) object {
		return ofGitLab(append(changes, object{"iss": issuer})...)
	}
	for name, tc := range map[string]struct {
		claims object
		entry  string
		gitHub string // the manager's
		want   bool
	}{
		"github.com":                                 {ofGitHub(), "github.com/acme/shop", "github.com", true},
		"github.com, all of an owner":                {ofGitHub(), "github.com/acme/*", "github.com", true},
		"github.com, in another spelling":            {ofGitHub(), "GitHub.com/Acme/SHOP", "github.com", true},
		"github.com, without a host":                 {ofGitHub(), "acme/shop", "github.com", true},
		"github.com, an enterprise of it":            {from(github + "/acme"), "github.com/acme/shop", "github.com", true},
		"github.com, another repository":             {ofGitHub(object{"repository": "acme/shop2"}), "github.com/acme/shop", "github.com", false},
		"github.com, the owner of another host":      {ofGitHub(), "ghe.example.com/acme/*", "github.com", false},
		"github.com, beside a manager's own server":  {ofGitHub(), "github.com/acme/shop", "ghe.example.com", true},
		"without a host, which means the own server": {ofGitHub(), "acme/shop", "ghe.example.com", false},
		"a server": {from(server), "ghe.example.com/acme/shop", "github.com", true},
		"a server, with the name of an enterprise":    {from(server + "/acme"), "ghe.example.com/acme/shop", "github.com", true},
		"a server, listed for github.com":             {from(server), "github.com/acme/shop", "github.com", false},
		"a server, without a host":                    {from(server), "acme/shop", "github.com", false},
		"a server of the manager, without a host":     {from(server), "acme/shop", "ghe.example.com", true},
		"data residency":                              {from(residency), "acme.ghe.com/acme/shop", "github.com", true},
		"data residency, of another customer":         {from(residency), "other.ghe.com/acme/shop", "github.com", false},
		"gitlab.com":                                  {ofGitLab(), "gitlab.com/acme/shop", "github.com", true},
		"gitlab.com, in a group":                      {ofGitLab(object{"project_path": "acme/web/shop"}), "gitlab.com/acme/*", "github.com", true},
		"gitlab.com, without a host":                  {ofGitLab(), "acme/shop", "github.com", false},
		"gitlab.com, without a host, of a manager so": {ofGitLab(), "acme/shop", "gitlab.com", false},
		"GitLab with a port":                          {onGitLab("https://gitlab.example.com:8443"), "gitlab.example.com:8443/acme/shop", "github.com", true},
		"GitLab in a folder":                          {onGitLab("https://example.com/gitlab"), "example.com/acme/shop", "github.com", true},
		"no claim":                                    {ofGitHub(object{"repository": nil}), "github.com/acme/*", "github.com", false},
		"an empty claim":                              {ofGitHub(object{"repository": ""}), "github.com/*", "github.com", false},
		"a claim that is no text":                     {ofGitHub(object{"repository": []string{"acme/shop"}}), "github.com/acme/shop", "github.com", false},
		"no IDs":                                      {ofGitHub(object{"repository_id": nil}), "github.com/acme/shop", "github.com", false},
		"an issuer that is no code host":              {object{"iss": buildkite, "organization_slug": "acme"}, "agent.buildkite.com/acme/shop", "github.com", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parse(t, tc.claims).ListedFor(teamWith("github.com/else/where", tc.entry), tc.gitHub); got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
		})
	}
	if parse(t, ofGitHub()).ListedFor(teamWith(), "github.com") {
		t.Error("a Team that lists nothing is listed")
	}
}

func TestMayBeListed(t *testing.T) {
	for name, tc := range map[string]struct {
		policy *v1alpha1.TrustPolicy
		lists  []string
		want   bool
	}{
		"nothing is listed":        {policy("p"), nil, false},
		"only an ID is known":      {policy("p"), []string{"github.com/acme/docs"}, true},
		"listed without a host":    {policy("p"), []string{"acme/docs"}, true},
		"only another host":        {policy("p"), []string{"gitlab.com/acme/docs"}, false},
		"its name":                 {policy("p", claim("repository", "acme/shop", "acme/docs")), []string{"github.com/acme/docs"}, true},
		"another name":             {policy("p", claim("repository", "acme/shop")), []string{"github.com/acme/docs"}, false},
		"GitLab":                   {policy("p", issuer(gitlab)), []string{"gitlab.com/acme/*"}, true},
		"GitLab, without a host":   {policy("p", issuer(gitlab)), []string{"acme/*"}, false},
		"Buildkite has no claim":   {policy("p", issuer(buildkite)), []string{"github.com/acme/*", "acme/*"}, false},
		"an expression only":       {policy("p", onlyExpression("claims.repository_owner == 'acme'")), []string{"github.com/acme/*"}, true},
		"another spelling of both": {policy("p", claim("repository", "Acme/Shop")), []string{"GITHUB.com/acme/SHOP"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := trust.MayBeListed(tc.policy, teamWith(tc.lists...), "github.com"); got != tc.want {
				t.Errorf("%t, want %t", got, tc.want)
			}
		})
	}
}
