package match

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

type n = notification.Notification

var matchesCases = map[string]struct {
	reason  string
	trigger option
	with    n
	want    bool
}{
	"no conditions":         {reason: "a Trigger without conditions matches everything", trigger: all(), want: true},
	"only scheduled":        {reason: "no notification starts it", trigger: scheduledOnly},
	"also scheduled":        {reason: "notifications start it, too", trigger: scheduled, want: true},
	"paused":                {reason: "a paused Trigger matches nothing", trigger: paused},
	"branch":                {reason: "an equal branch", trigger: branches("main"), with: n{Branch: "main"}, want: true},
	"branch ref":            {reason: "a ref is a branch", trigger: branches("main"), with: n{Branch: "refs/heads/main"}, want: true},
	"branch ref in trigger": {reason: "people write refs into Triggers, too", trigger: branches("refs/heads/main", "!refs/heads/x"), with: n{Branch: "main"}, want: true},
	"branch other":          {reason: "another branch", trigger: branches("main"), with: n{Branch: "develop"}},
	"branch prefix":         {reason: "globs match whole names", trigger: branches("main"), with: n{Branch: "main2"}},
	"branch case":           {reason: "branches are case-sensitive", trigger: branches("main"), with: n{Branch: "Main"}},
	"branch absent":         {reason: "without a branch, the condition does not hold", trigger: branches("**")},
	"branch only prefix":    {reason: "a ref without a name is no branch", trigger: branches("**"), with: n{Branch: "refs/heads/"}},
	"branch tag":            {reason: "a tag is not taken for a branch of its name", trigger: branches("v1"), with: n{Branch: "refs/tags/v1"}},
	"any of":                {reason: "one of several", trigger: branches("develop", "main"), with: n{Branch: "main"}, want: true},
	"star":                  {reason: "* is within a segment", trigger: branches("release/*"), with: n{Branch: "release/1.2"}, want: true},
	"star slash":            {reason: "* does not cross a slash", trigger: branches("release/*"), with: n{Branch: "release/1/2"}},
	"star middle":           {reason: "* is anywhere", trigger: branches("feature/*-x"), with: n{Branch: "feature/cart-x"}, want: true},
	"star middle other":     {reason: "what follows * counts", trigger: branches("feature/*-x"), with: n{Branch: "feature/cart-y"}},
	"star all":              {reason: "* is one segment", trigger: branches("*"), with: n{Branch: "a/b"}},
	"double star":           {reason: "** crosses slashes", trigger: branches("release/**"), with: n{Branch: "release/1/2"}, want: true},
	"double star none":      {reason: "** may be nothing at all", trigger: branches("release/**"), with: n{Branch: "release"}, want: true},
	"double star first":     {reason: "** may come first", trigger: branches("**/fix"), with: n{Branch: "a/b/fix"}, want: true},
	"double star last":      {reason: "and be nothing there", trigger: branches("**/fix"), with: n{Branch: "fix"}, want: true},
	"question":              {reason: "? is a character", trigger: branches("v?"), with: n{Branch: "vü"}, want: true},
	"class":                 {reason: "a class of characters", trigger: branches("v[0-9]"), with: n{Branch: "v3"}, want: true},
	"class not":             {reason: "a class may be negated", trigger: branches("v[^0-9]"), with: n{Branch: "v3"}},
	"braces":                {reason: "alternatives", trigger: branches("{main,release/*}"), with: n{Branch: "release/1"}, want: true},
	"escaped":               {reason: "a backslash removes the special meaning", trigger: branches(`a\*`), with: n{Branch: "ab"}},
	"escaped bang":          {reason: "a branch may start with an exclamation mark", trigger: branches(`\!a`), with: n{Branch: "!a"}, want: true},
	"excluded":              {reason: "an exclusion wins", trigger: branches("release/**", "!release/old"), with: n{Branch: "release/old"}},
	"excluded first":        {reason: "wherever it is in the list", trigger: branches("!release/old", "release/**"), with: n{Branch: "release/old"}},
	"excluded not":          {reason: "and excludes only what it names", trigger: branches("release/**", "!release/old"), with: n{Branch: "release/new"}, want: true},
	"excluded glob":         {reason: "it is a glob", trigger: branches("**", "!dependabot/**"), with: n{Branch: "dependabot/npm/x"}},
	"only exclusions":       {reason: "if there are only exclusions, everything else matches", trigger: branches("!main"), with: n{Branch: "develop"}, want: true},
	"only exclusions hit":   {reason: "but not what they name", trigger: branches("!main"), with: n{Branch: "main"}},
	"only exclusions none":  {reason: "and a branch is needed", trigger: branches("!main")},
	"type":                  {reason: "an equal type", trigger: deploymentTypes("staging"), with: n{DeploymentType: "staging"}, want: true},
	"type any of":           {reason: "one of several", trigger: deploymentTypes("production", "staging"), with: n{DeploymentType: "staging"}, want: true},
	"type other":            {reason: "another type", trigger: deploymentTypes("staging"), with: n{DeploymentType: "production"}},
	"type case":             {reason: "types are compared exactly", trigger: deploymentTypes("staging"), with: n{DeploymentType: "Staging"}},
	"type no glob":          {reason: "types are no globs", trigger: deploymentTypes("*"), with: n{DeploymentType: "staging"}},
	"type absent":           {reason: "without a type, the condition does not hold", trigger: deploymentTypes("staging")},
	"type empty":            {reason: "not even for the empty type", trigger: deploymentTypes("")},
	"service":               {reason: "an equal service", trigger: services("cart"), with: n{Service: "cart"}, want: true},
	"service any of":        {reason: "one of several", trigger: services("checkout", "cart"), with: n{Service: "cart"}, want: true},
	"service other":         {reason: "another service", trigger: services("cart"), with: n{Service: "checkout"}},
	"service case":          {reason: "services are compared exactly", trigger: services("cart"), with: n{Service: "Cart"}},
	"service absent":        {reason: "the whole repository is no service", trigger: services("cart")},
	"service not asked for": {reason: "a Trigger without services takes each", trigger: repositories("acme/shop"), with: n{Repository: "acme/shop", Service: "cart"}, want: true},
	"service expression":    {reason: "it is a field", trigger: expressionOf("notification.service.startsWith('ca')"), with: n{Service: "cart"}, want: true},
	"repository":            {reason: "an equal repository", trigger: repositories("acme/shop"), with: n{Repository: "acme/shop"}, want: true},
	"repository other":      {reason: "another repository", trigger: repositories("acme/shop"), with: n{Repository: "acme/shop2"}},
	"repository case":       {reason: "code hosts ignore the case of names", trigger: repositories("acme/shop", "Acme/Web"), with: n{Repository: "Acme/Shop"}, want: true},
	"repository case kept":  {reason: "also of those in the Trigger", trigger: repositories("Acme/Web"), with: n{Repository: "acme/web"}, want: true},
	"repository letters":    {reason: "code hosts have no other letters than A to Z", trigger: repositories("acme/wor\u212aer"), with: n{Repository: "acme/worker"}},
	"repository expression": {reason: "expressions compare exactly", trigger: expressionOf("notification.repository == 'acme/shop'"), with: n{Repository: "Acme/Shop"}},
	"repository pattern":    {reason: "unless they say otherwise", trigger: expressionOf("notification.repository.matches('(?i)^acme/shop$')"), with: n{Repository: "Acme/Shop"}, want: true},
	"repository absent":     {reason: "without a repository, the condition does not hold", trigger: repositories("acme/shop")},
	"pull request":          {reason: "a preview", trigger: pullRequests("Only"), with: n{PullRequestNumber: 7}, want: true},
	"pull request absent":   {reason: "without a number it is none", trigger: pullRequests("Only"), with: n{Branch: "feature/x", EphemeralEnvironment: true}},
	"no pull request":       {reason: "everything but previews", trigger: pullRequests("Never"), with: n{Branch: "main"}, want: true},
	"no pull request hit":   {reason: "and no preview", trigger: pullRequests("Never"), with: n{Branch: "main", PullRequestNumber: 7}},
	"all but pull request":  {reason: "one does not", trigger: all(branches("main"), pullRequests("Never")), with: n{Branch: "main", PullRequestNumber: 7}},
	"all":                   {reason: "all conditions hold", trigger: all(branches("main"), deploymentTypes("s"), repositories("a/b"), expressionOf("true")), with: n{Branch: "main", DeploymentType: "s", Repository: "a/b"}, want: true},
	"all but branch":        {reason: "one does not", trigger: all(branches("main"), deploymentTypes("s")), with: n{Branch: "x", DeploymentType: "s"}},
	"all but type":          {reason: "one does not", trigger: all(branches("main"), deploymentTypes("s")), with: n{Branch: "main", DeploymentType: "t"}},
	"all but expression":    {reason: "one does not", trigger: all(branches("main"), expressionOf("false")), with: n{Branch: "main"}},
	"all but not paused":    {reason: "a paused Trigger never matches", trigger: all(branches("main"), paused), with: n{Branch: "main"}},
}

func TestMatches(t *testing.T) {
	for name, tc := range matchesCases {
		t.Run(name, func(t *testing.T) {
			m, err := Compile(trigger("t", tc.trigger))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if got := m.Matches(&tc.with); got != tc.want {
				t.Errorf("%s: Matches(%+v) = %t", tc.reason, tc.with, got)
			}
			if held := allHeld(m.Explain(&tc.with)); held != tc.want {
				t.Errorf("%s: Explain says %+v", tc.reason, m.Explain(&tc.with))
			}
		})
	}
}

func allHeld(conditions []CriterionResult) bool {
	return !slices.ContainsFunc(conditions, func(c CriterionResult) bool { return !c.Held })
}

func TestCompileRejects(t *testing.T) {
	tests := map[string]struct {
		reason    string
		trigger   option
		condition string
		says      string
	}{
		"open class":     {reason: "a class is closed", trigger: branches("main", "v[0-9"), condition: "branches", says: `The Trigger matches nothing, because spec.match.branches holds "v[0-9", which is not a valid glob`},
		"empty class":    {reason: "a class holds something", trigger: branches("v[]"), condition: "branches", says: "not a valid glob"},
		"open brace":     {reason: "a brace is closed", trigger: branches("{a,b"), condition: "branches", says: "not a valid glob"},
		"last backslash": {reason: "a backslash has a character", trigger: branches(`a\`), condition: "branches", says: "not a valid glob"},
		"in exclusion":   {reason: "exclusions are globs", trigger: branches("!["), condition: "branches", says: `holds "![", which is not a valid glob`},
		"empty":          {reason: "a glob is not empty", trigger: branches(""), condition: "branches", says: "names no branch"},
		"empty not":      {reason: "nor is an exclusion", trigger: branches("!"), condition: "branches", says: "names no branch"},
		"empty ref":      {reason: "nor is a ref", trigger: branches("refs/heads/"), condition: "branches", says: "names no branch"},
		"pull request":   {reason: "there is no third policy", trigger: pullRequests("only"), condition: "pullRequest", says: `spec.match.pullRequest is "only"; write Only or Never.`},
		"alternatives":   {reason: "braces multiply", trigger: branches(strings.Repeat("{a,b}", 8)), condition: "branches", says: "expands to more than 128 globs"},
		"all together":   {reason: "and add up", trigger: branches(strings.Repeat("{a,b}", 6), "!"+strings.Repeat("{a,b}", 6), "c"), condition: "branches", says: "expands to more than 128 globs"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := Compile(trigger("t", tc.trigger))
			var broken *CompileError
			if !errors.As(err, &broken) || m != nil {
				t.Fatalf("%s: Compile gave %v, %v", tc.reason, m, err)
			}
			if broken.Criterion != tc.condition || !strings.Contains(err.Error(), tc.says) || !strings.HasSuffix(err.Error(), ".") {
				t.Errorf("%s: got an error about %s: %s\nwant one about %s that says: %s", tc.reason, broken.Criterion, err, tc.condition, tc.says)
			}
		})
	}
}

func TestCompileAcceptsManyAlternatives(t *testing.T) {
	for _, glob := range []string{"{" + strings.Repeat("a,", 99) + "b}", strings.Repeat("{a,b}", 7), "{a,{b,{c,d}}}", "a,b,c,{d}"} {
		if _, err := Compile(trigger("t", branches(glob))); err != nil {
			t.Errorf("%s: %v", glob, err)
		}
	}
}

func TestExplain(t *testing.T) {
	tests := map[string]struct {
		reason  string
		trigger option
		with    n
		want    CriterionResult
	}{
		"only scheduled":      {reason: "says how to go on", trigger: scheduledOnly, want: CriterionResult{"schedule", false, "Only the schedule of the Trigger starts runs; it matches no notification until spec.schedule.only is false."}},
		"paused":              {reason: "says how to go on", trigger: paused, want: CriterionResult{"paused", false, "The Trigger is paused; it matches nothing until spec.paused is false."}},
		"branch":              {reason: "names the glob", trigger: branches("a", "m*"), with: n{Branch: "refs/heads/main"}, want: CriterionResult{"branches", true, `The branch "main" matches "m*".`}},
		"branch other":        {reason: "names the globs", trigger: branches("a", "!b", "c"), with: n{Branch: "x"}, want: CriterionResult{"branches", false, `The branch "x" matches none of "a" or "c".`}},
		"branch many":         {reason: "but not all of them", trigger: branches("1", "2", "3", "4", "5", "6", "7"), with: n{Branch: "x"}, want: CriterionResult{"branches", false, `The branch "x" matches none of "1", "2", "3", "4", "5" or 2 more.`}},
		"branch excluded":     {reason: "names the exclusion", trigger: branches("**", "!b*"), with: n{Branch: "bad"}, want: CriterionResult{"branches", false, `The branch "bad" is excluded by "!b*".`}},
		"branch not excluded": {reason: "there is nothing to name", trigger: branches("!b*"), with: n{Branch: "good"}, want: CriterionResult{"branches", true, `The branch "good" is none of the excluded ones.`}},
		"branch absent":       {reason: "says what is missing", trigger: branches("main"), want: CriterionResult{"branches", false, "The notification names no branch, and the Trigger asks for one."}},
		"type":                {reason: "names the type", trigger: deploymentTypes("a"), with: n{DeploymentType: "a"}, want: CriterionResult{"deploymentTypes", true, `The deployment_type is "a".`}},
		"type other":          {reason: "names what is asked for", trigger: deploymentTypes("a", "b"), with: n{DeploymentType: "c"}, want: CriterionResult{"deploymentTypes", false, `The deployment_type is "c", and the Trigger asks for "a" or "b".`}},
		"type absent":         {reason: "says what is missing", trigger: deploymentTypes("a"), want: CriterionResult{"deploymentTypes", false, `The notification has no deployment_type, and the Trigger asks for "a".`}},
		"repository other":    {reason: "names the repository", trigger: repositories("a/b"), with: n{Repository: "c/d"}, want: CriterionResult{"repositories", false, `The repository is "c/d", and the Trigger asks for "a/b".`}},
		"repository case":     {reason: "names it as it was sent", trigger: repositories("acme/shop"), with: n{Repository: "Acme/Shop"}, want: CriterionResult{"repositories", true, `The repository is "Acme/Shop".`}},
		"repository letters":  {reason: "case does not matter", trigger: repositories("acme/wor\u212aer"), with: n{Repository: "acme/worker"}, want: CriterionResult{"repositories", false, "The repository is \"acme/worker\", and the Trigger asks for \"acme/wor\u212aer\"."}},
		"preview":             {reason: "names the pull request", trigger: pullRequests("Only"), with: n{PullRequestNumber: 7}, want: CriterionResult{"pullRequest", true, "The notification is of pull request 7."}},
		"preview absent":      {reason: "says what to send", trigger: pullRequests("Only"), want: CriterionResult{"pullRequest", false, "The notification has no pull request number, and the Trigger asks for one: send pull_request_number or merge_request_number."}},
		"no preview":          {reason: "says so", trigger: pullRequests("Never"), want: CriterionResult{"pullRequest", true, "The notification has no pull request number."}},
		"no preview hit":      {reason: "names the pull request", trigger: pullRequests("Never"), with: n{PullRequestNumber: 7}, want: CriterionResult{"pullRequest", false, "The notification is of pull request 7, and the Trigger asks for none."}},
		"hostile":             {reason: "what is repeated is made harmless", trigger: branches("a"), with: n{Branch: "\x1b[2J"}, want: CriterionResult{"branches", false, `The branch "\x1b[2J" matches none of "a".`}},
		"expression":          {reason: "there is nothing to name", trigger: expressionOf("true"), want: CriterionResult{"expression", true, "The expression is true."}},
		"expression false":    {reason: "says so", trigger: expressionOf("false"), want: CriterionResult{"expression", false, "The expression is false for this notification."}},
		"expression error":    {reason: "names the missing variable", trigger: expressionOf("notification.variables['region'] == 'eu'"), want: CriterionResult{"expression", false, "The expression has no value for this notification: no such key: region."}},
		"branch deeper":       {reason: "one star stops at a slash", trigger: branches("feature/*"), with: n{Branch: "feature/a/b"}, want: CriterionResult{"branches", false, `The branch "feature/a/b" matches none of "feature/*". "*" stops at "/": "feature/**" would match.`}},
		"branch case":         {reason: "case matters", trigger: branches("Release/*"), with: n{Branch: "release/1"}, want: CriterionResult{"branches", false, `The branch "release/1" matches none of "Release/*". Case matters: did you mean "Release/*"?`}},
		"service absent":      {reason: "says what is missing", trigger: services("cart"), want: CriterionResult{"services", false, `The notification has no service, and the Trigger asks for "cart".`}},
		"type case":           {reason: "case matters", trigger: deploymentTypes("staging", "qa"), with: n{DeploymentType: "Staging"}, want: CriterionResult{"deploymentTypes", false, `The deployment_type is "Staging", and the Trigger asks for "staging" or "qa". Case matters: did you mean "staging"?`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := Compile(trigger("t", tc.trigger))
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Explain(&tc.with); len(got) != 1 || got[0] != tc.want {
				t.Errorf("%s:\n got %+v\nwant %+v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestExplainGoesThroughAllConditions(t *testing.T) {
	m, err := Compile(trigger("t", all(paused, scheduledOnly, branches("a"), deploymentTypes("b"), repositories("c/d"), services("e"), pullRequests("Only"), expressionOf("false"))))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range m.Explain(&notification.Notification{}) {
		names = append(names, c.Name)
		if c.Held {
			t.Errorf("%s is held", c.Name)
		}
	}
	if want := []string{"paused", "schedule", "branches", "deploymentTypes", "repositories", "services", "pullRequest", "expression"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

// TestMayMissDeployments: each condition either says that it may leave out what replaces a commit, or is one of the few that cannot.
func TestMayMissDeployments(t *testing.T) {
	for name, tc := range map[string]struct {
		change option
		want   bool
	}{
		"nothing":          {all(), false},
		"branches":         {branches("main"), true},
		"deploymentTypes":  {deploymentTypes("staging"), false},
		"repositories":     {repositories("acme/shop"), false},
		"services":         {services("cart"), true},
		"pullRequest":      {pullRequests("Never"), true},
		"expression":       {expressionOf("true"), true},
		"a bad expression": {expressionOf("("), true},
		"paused":           {paused, true},
		"a schedule":       {scheduled, false},
		"schedule":         {scheduledOnly, true},
	} {
		if got := MayMissDeployments(&trigger("t", tc.change).Spec); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
