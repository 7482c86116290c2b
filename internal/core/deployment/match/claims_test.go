package match_test

import (
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

func TestClaims(t *testing.T) {
	claims := map[string]string{"ref": "refs/heads/main", "run_attempt": "2", "oidc.circleci.com/vcs-ref": "refs/heads/main", "groups_direct": `["acme/ops"]`}
	cases := map[string]struct {
		expression string
		compiles   string // part of the error; empty: it does
		want       string // part of the error; empty: it is true
	}{
		"true":             {expression: "claims.ref == 'refs/heads/main'"},
		"by index":         {expression: "claims['oidc.circleci.com/vcs-ref'].endsWith('/main')"},
		"pattern":          {expression: "claims.ref.matches('^refs/heads/(main|release-[0-9]+)$')"},
		"number":           {expression: "int(claims.run_attempt) < 3"},
		"list":             {expression: `claims.groups_direct.contains('"acme/ops"')`},
		"optional":         {expression: "claims[?'environment'].orValue('') == ''"},
		"any of them":      {expression: "claims.exists(c, claims[c] == '2')"},
		"false":            {expression: "claims.ref == 'refs/heads/x'", want: "is false for this token"},
		"missing":          {expression: "claims.environment != 'production'", want: "has no value for this token: no such key: environment"},
		"a failed half":    {expression: "claims.environment == 'x' || claims.ref != ''"},
		"no boolean":       {expression: "claims.ref", compiles: "gives a value of type string"},
		"syntax":           {expression: "claims.ref ==", compiles: "does not compile"},
		"notification":     {expression: "notification.branch == 'main'", compiles: "undeclared reference to 'notification'"},
		"number as number": {expression: "claims.run_attempt == 2", compiles: "no matching overload"},
		"long":             {expression: "claims.ref == '" + strings.Repeat("x", 4096) + "'", compiles: "is longer than"},
		"expensive":        {expression: "claims.all(a, claims.all(b, claims[a].contains(claims[b])))", compiles: "may cost too much"},
		"large pattern":    {expression: "claims.ref.matches('(x?){1000}')", compiles: "instructions when compiled"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			compiled, err := match.CompileClaims(tc.expression)
			if (err == nil) != (tc.compiles == "") || err != nil && !strings.Contains(err.Error(), tc.compiles) {
				t.Fatalf("compile: %v, want %q", err, tc.compiles)
			}
			if err != nil {
				return
			}
			err = compiled.Evaluate(claims)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestClaimsNames(t *testing.T) {
	for expression, want := range map[string]bool{
		"claims.repository_id == '1'":                               true,
		"claims['repository_id'] in ['1', '2']":                     true,
		"claims.ref == 'x' && claims.repository_id.startsWith('1')": true,
		"has(claims.repository_id)":                                 false,
		"claims.ref == 'repository_id'":                             false,
		"true":                                                      false,
	} {
		compiled, err := match.CompileClaims(expression)
		if err != nil {
			t.Fatal(err)
		}
		if got := compiled.Names("repository_owner_id", "repository_id"); got != want {
			t.Errorf("%s: %v", expression, got)
		}
	}
}
