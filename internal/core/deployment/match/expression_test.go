package match

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

var full = notification.Notification{
	Branch: "refs/heads/main", SHA: "abc", DeploymentType: "staging", DeploymentURL: "https://h", HostingService: v1alpha1.GitLab,
	CommitURL: "https://c", Repository: "acme/shop", PullRequestNumber: 12, DeduplicationKey: "key", EphemeralEnvironment: true,
	Variables: map[string]string{"region": "eu", "count": "3"},
}

func TestExpression(t *testing.T) {
	empty := notification.Notification{HostingService: v1alpha1.GitHub}
	tests := map[string]struct {
		reason     string
		expression string
		with       notification.Notification
		want       bool
	}{
		"branch":            {reason: "a branch has no refs/heads/", expression: "notification.branch == 'main'", with: full, want: true},
		"SHA":               {reason: "a field", expression: "notification.sha == 'abc'", with: full, want: true},
		"deployment type":   {reason: "a field", expression: "notification.deployment_type == 'staging'", with: full, want: true},
		"deployment URL":    {reason: "a field", expression: "notification.deployment_url.startsWith('https:')", with: full, want: true},
		"hosting service":   {reason: "a field", expression: "notification.hosting_service == 'GitLab'", with: full, want: true},
		"commit URL":        {reason: "a field", expression: "notification.commit_url.endsWith('c')", with: full, want: true},
		"commit message":    {reason: "a field", expression: "!notification.commit_message.contains('[skip e2e]')", with: full, want: true},
		"commit author":     {reason: "a field", expression: "notification.commit_author != 'dependabot[bot]'", with: full, want: true},
		"repository":        {reason: "a field", expression: "notification.repository.contains('/')", with: full, want: true},
		"number":            {reason: "a field", expression: "notification.pull_request_number > 11", with: full, want: true},
		"key":               {reason: "a field", expression: "notification.deduplication_key == 'key'", with: full, want: true},
		"ephemeral":         {reason: "a field", expression: "notification.ephemeral_environment", with: full, want: true},
		"index":             {reason: "a variable", expression: "notification.variables['region'] == 'eu'", with: full, want: true},
		"select":            {reason: "a variable", expression: "notification.variables.region == 'eu'", with: full, want: true},
		"in":                {reason: "the name of a variable", expression: "'region' in notification.variables && !('x' in notification.variables)", with: full, want: true},
		"int":               {reason: "a variable that is a number", expression: "int(notification.variables.count) >= 3", with: full, want: true},
		"missing":           {reason: "a missing variable has no value", expression: "notification.variables['x'] != 'eu'", with: full},
		"missing or":        {reason: "unless another term decides", expression: "notification.variables['x'] == 'eu' || true", with: full, want: true},
		"missing has":       {reason: "has() checks for a variable", expression: "has(notification.variables.x)", with: full},
		"optional":          {reason: "optional values have defaults", expression: "notification.variables[?'x'].orValue('eu') == 'eu'", with: full, want: true},
		"optional field":    {reason: "absent fields have them too", expression: "notification.?sha.orValue('none') == 'none'", with: empty, want: true},
		"absent text":       {reason: "an absent string is empty", expression: "notification.branch == '' && notification.sha == '' && notification.repository == ''", with: empty, want: true},
		"absent number":     {reason: "an absent number is 0", expression: "notification.pull_request_number == 0", with: empty, want: true},
		"absent variables":  {reason: "absent variables are an empty map", expression: "notification.variables.size() == 0", with: empty, want: true},
		"absent service":    {reason: "the hosting service has a default", expression: "notification.hosting_service == 'GitHub'", with: empty, want: true},
		"has":               {reason: "has() is true of what the notification names", expression: "has(notification.branch) && has(notification.pull_request_number) && has(notification.variables) && has(notification.ephemeral_environment)", with: full, want: true},
		"has not":           {reason: "and false of the rest", expression: "has(notification.branch) || has(notification.pull_request_number) || has(notification.variables) || has(notification.ephemeral_environment)", with: empty},
		"regex":             {reason: "regular expressions", expression: "notification.branch.matches('^m[a-z]{3}$')", with: full, want: true},
		"regex function":    {reason: "in either form", expression: "matches(notification.branch, 'ain')", with: full, want: true},
		"exists":            {reason: "a loop over variables", expression: "notification.variables.exists(k, notification.variables[k] == 'eu')", with: full, want: true},
		"list":              {reason: "a list", expression: "notification.deployment_type in ['staging', 'production']", with: full, want: true},
		"itself":            {reason: "a notification is itself", expression: "notification == notification", with: full, want: true},
		"not all required":  {reason: "only && requires both", expression: "notification.variables.region == 'us' || notification.variables.count == '3'", with: full, want: true},
		"not required":      {reason: "a negated comparison requires the contrary", expression: "!(notification.variables.region == 'us')", with: full, want: true},
		"required both":     {reason: "&& requires both", expression: "notification.variables.region == 'eu' && '3' == notification.variables['count']", with: full, want: true},
		"required one":      {reason: "also where one is missing", expression: "notification.variables.region == 'eu' && notification.variables.x == ''", with: full},
		"required presence": {reason: "has() is no comparison with its name", expression: "has(notification.variables.region) == true", with: full, want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := Compile(trigger("t", expressionOf(tc.expression)))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if got := m.Matches(&tc.with); got != tc.want {
				t.Errorf("%s: %s is %t: %+v", tc.reason, tc.expression, got, m.Explain(&tc.with))
			}
		})
	}
}

func TestExpressionRejects(t *testing.T) {
	tests := map[string]struct {
		reason     string
		expression string
		says       string
	}{
		"misspelt":       {reason: "fields are known", expression: "notification.brnch == 'x'", says: "does not compile: undefined field 'brnch' (line 1, column 13); the fields of notification are branch, commit_author,"},
		"misspelt has":   {reason: "also to has()", expression: "has(notification.brnch)", says: "undefined field 'brnch'"},
		"camel case":     {reason: "fields are named as in the request", expression: "notification.deploymentType == 'x'", says: "undefined field 'deploymentType'"},
		"unknown":        {reason: "there is one variable", expression: "branch == 'x'", says: "undeclared reference to 'branch'"},
		"syntax":         {reason: "the error says where", expression: "notification.branch ==\n", says: "(line 2, column 1)"},
		"type":           {reason: "types are checked", expression: "notification.branch == 3", says: "no matching overload"},
		"variable type":  {reason: "variables are strings", expression: "notification.variables.x > 3", says: "no matching overload"},
		"no bool":        {reason: "it must say yes or no", expression: "notification.branch", says: "gives a value of type string; it must be true or false"},
		"dyn":            {reason: "type checks cannot be bypassed", expression: "dyn(notification).brnch == 'x'", says: "undeclared reference to 'dyn'"},
		"dyn list":       {reason: "nor by mixing them", expression: "notification.branch in ['a', 1]", says: "of one type"},
		"time":           {reason: "there is no time in a notification", expression: "timestamp('2026-01-01T00:00:00Z').getHours('Europe/Berlin') == 1", says: "undeclared reference to 'timestamp'"},
		"message":        {reason: "messages cannot be created", expression: "postflight.Notification{branch: 'x'} == notification", says: "cannot be used"},
		"well known":     {reason: "not even the types of CEL", expression: "google.protobuf.ListValue{} == []", says: "cannot be used"},
		"nested":         {reason: "comparing lists of lists takes exponential time", expression: "[['a']] == [['b']]", says: "list(list(string)) cannot be used"},
		"nested map":     {reason: "so can maps", expression: "{'a': notification.variables} == {'b': notification.variables}", says: "cannot be used"},
		"nested by loop": {reason: "also those that a loop makes", expression: "notification.variables.map(k, [k]).size() == 1", says: "cannot be used"},
		"regex":          {reason: "a regular expression must be valid", expression: "notification.branch.matches('((')", says: "missing closing )"},
		"regex function": {reason: "in either form", expression: "matches(notification.branch, '((')", says: "missing closing )"},
		"regex dynamic":  {reason: "and written out", expression: "'x'.matches(notification.branch)", says: "must be written out as a string"},
		"regex large":    {reason: "and small", expression: "notification.branch.matches('.{1000}.{1000}')", says: "2002 instructions"},
		"loops":          {reason: "loops multiply", expression: "notification.variables.all(a, notification.variables.all(b, notification.variables.all(c, a != b && b != c)))", says: "nesting limit"},
		"cost":           {reason: "the worst case counts", expression: "notification.variables.all(a, notification.variables.all(b, notification.variables[a].contains(notification.variables[b])))", says: "may cost too much"},
		"long":           {reason: "the API has the same bound", expression: "true" + strings.Repeat(" ", maxExpressionBytes), says: "is longer than 4096 bytes"},
		"deep":           {reason: "nesting is bounded", expression: strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), says: "recursion limit"},
		"wide":           {reason: "size is bounded, loops expanded", expression: "1 in [" + strings.Repeat("1,", 2000) + "]", says: "node count exceeds limit"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(trigger("t", expressionOf(tc.expression)))
			if err == nil || !strings.Contains(err.Error(), tc.says) || strings.ContainsAny(err.Error(), "\n\t") {
				t.Errorf("%s: %s: got error: %v\nwant one that says: %s", tc.reason, tc.expression, err, tc.says)
			}
		})
	}
}

// TestExpressionStops: expressions that pass the estimate are stopped if they cost too much.
func TestExpressionStops(t *testing.T) {
	large := notification.Notification{Variables: map[string]string{}}
	for i := range notification.MaxVariables {
		large.Variables[fmt.Sprintf("V%d", i)] = strings.Repeat("x", 500)
	}
	for _, expression := range []string{
		"notification.variables.all(a, notification.variables.all(b, a + b != ''))",
		"notification.variables.all(a, notification.variables[a].matches('^(x*)*(x*)*(x*)*(x*)*(x*)*(x*)*(x*)*y?$'))",
		"notification.variables['V0'].matches('(x?){60}y')",
		"notification.variables.map(a, a + a).filter(a, notification.variables.exists(b, a == b)).size() == 0",
	} {
		m, err := Compile(trigger("t", expressionOf(expression)))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		got := m.Explain(&large)[0]
		if got.Held || !strings.Contains(got.Message, "cost limit exceeded") {
			t.Errorf("%s: got %+v", expression, got)
		}
		t.Logf("stopped after %v: %s", time.Since(start), expression)
	}
}
