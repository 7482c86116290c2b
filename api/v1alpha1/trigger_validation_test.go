package v1alpha1_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

var jobTemplate = fields{"spec": fields{"template": fields{"spec": fields{
	"containers": list{fields{"name": "test", "image": "test"}},
}}}}

var trigger = kind("Trigger", fields{"environment": "staging", "jobTemplate": jobTemplate})

// TestJobTemplateBounds: an object of few bytes cannot take much memory.
func TestJobTemplateBounds(t *testing.T) {
	pod := func(path string, value any) edit { return set("spec/jobTemplate/spec/template/spec/"+path, value) }
	containers := func(n int, more fields) (all list) {
		for _, name := range named(n) {
			c := fields{"name": name["name"], "image": "test"}
			maps.Copy(c, more)
			all = append(all, c)
		}
		return all
	}
	env := func(n int) edit {
		return pod("containers", containers(1, fields{"env": lists(named(n))}))
	}
	labels := func(n int) edit {
		all := fields{}
		for _, name := range named(n) {
			all[name["name"].(string)] = "x"
		}
		return set("spec/jobTemplate/spec/template/metadata", fields{"labels": all})
	}
	sources := func(n int) edit {
		return pod("volumes", list{fields{"name": "all", "projected": fields{"sources": repeat(fields{}, n)}}})
	}
	rows := map[string]row{
		"Containers":            {"64", pod("containers", containers(64, nil)), ""},
		"ContainersTooMany":     {"65", pod("containers", containers(65, nil)), "must have at most 64 items"},
		"InitContainersTooMany": {"65", pod("initContainers", containers(65, nil)), "must have at most 64 items"},
		"Ephemeral":             {"a template cannot have any", pod("ephemeralContainers", containers(65, nil)), "must have at most 64 items"},
		"Env":                   {"1,024", env(1024), ""},
		"EnvTooMany":            {"1,025", env(1025), "must have at most 1024 items"},
		"Volumes":               {"256", pod("volumes", lists(named(256))), ""},
		"VolumesTooMany":        {"257", pod("volumes", lists(named(257))), "must have at most 256 items"},
		"Sources":               {"64", sources(64), ""},
		"SourcesTooMany":        {"65", sources(65), "must have at most 64 items"},
		"Labels":                {"1,024", labels(1024), ""},
		"LabelsTooMany":         {"1,025", labels(1025), "must have at most 1024 items"},
		"Tolerations":           {"1,024", pod("tolerations", repeat(fields{}, 1024)), ""},
		"TolerationsTooMany":    {"1,025", pod("tolerations", repeat(fields{}, 1025)), "must have at most 1024 items"},
		"Script":                {"the bound of an object is enough for texts", pod("containers", list{fields{"name": "a", "command": list{"sh", "-c", text(200_000)}}}), ""},
	}
	submit(t, trigger, rows)
	submit(t, kind("TriggerClass", fields{"jobTemplate": jobTemplate}), rows)
}

// named are items of lists that are maps in fact.
func named(n int) (all []fields) {
	for i := range n {
		all = append(all, fields{"name": fmt.Sprintf("n%d", i)})
	}
	return all
}

func lists(all []fields) (items list) {
	for _, item := range all {
		items = append(items, item)
	}
	return items
}

func TestTriggerValidation(t *testing.T) {
	submit(t, trigger, map[string]row{
		"Least":                 {"an Environment and a Job", edits(), ""},
		"LongestName":           {"63 characters make a label", set("metadata/name", strings.Repeat("t", 63)), ""},
		"NameTooLong":           {"the name becomes a label", set("metadata/name", strings.Repeat("t", 64)), "the name of a Trigger must be a DNS label"},
		"NameWithDot":           {"the name starts those of Suites", set("metadata/name", "smoke.eu"), "the name of a Trigger must be a DNS label"},
		"NoSpec":                {"kubectl apply of half a file", remove("spec"), "spec: Required"},
		"NoEnvironment":         {"where is it to run?", remove("spec/environment"), "spec.environment: Required"},
		"EnvironmentEmpty":      {"where is it to run?", set("spec/environment", ""), "spec.environment"},
		"EnvironmentTooLong":    {"no Environment has such a name", set("spec/environment", text(64)), "Too long"},
		"NoJob":                 {"what is it to run?", remove("spec/jobTemplate"), "a Trigger needs a jobTemplate, or a triggerClassName that has one"},
		"JobOfAClass":           {"the class says what to run", edits(remove("spec/jobTemplate"), set("spec/triggerClassName", "web")), ""},
		"JobAndClass":           {"the Trigger changes a part", edits(set("spec/triggerClassName", "web"), set("spec/jobTemplate/spec/template/spec/containers", list{fields{"name": "test"}})), ""},
		"ClassEmpty":            {"which?", set("spec/triggerClassName", ""), "spec.triggerClassName"},
		"ClassTooLong":          {"no TriggerClass has such a name", set("spec/triggerClassName", text(64)), "Too long"},
		"JobWithoutContainers":  {"what is it to run?", set("spec/jobTemplate", fields{"spec": fields{"template": fields{"spec": fields{}}}}), "containers: Required"},
		"JobFieldUnknown":       {"a misspelt field of the template is rejected", set("spec/jobTemplate/spec/backofLimit", 1), `unknown field "spec.jobTemplate.spec.backofLimit"`},
		"JobMetadata":           {"labels of the Job are kept", set("spec/jobTemplate/metadata", fields{"labels": fields{"a": "b"}, "annotations": fields{"c": "d"}}), ""},
		"Paused":                {"for a while", set("spec/paused", true), ""},
		"DuplicatesCommit":      {"the default", set("spec/duplicates", "Commit"), ""},
		"DuplicatesDeployment":  {"each deployment is tested", set("spec/duplicates", "Deployment"), ""},
		"DuplicatesMaxAge":      {"results age", set("spec/duplicatesMaxAge", "24h"), ""},
		"DuplicatesMaxAgeZero":  {"then no result would count", set("spec/duplicatesMaxAge", "0s"), "duplicatesMaxAge must be from 1s to 8760h"},
		"DuplicatesRerun":       {"the other", set("spec/duplicates", "RerunUnsuccessful"), ""},
		"SupersedeBranch":       {"the default", set("spec/supersede", "Branch"), ""},
		"SupersedeEnvironment":  {"whatever the branch", set("spec/supersede", "Environment"), ""},
		"SupersedeNone":         {"nothing", set("spec/supersede", "None"), ""},
		"SupersedeElse":         {"there is no fourth", set("spec/supersede", "environment"), "spec.supersede: Unsupported value"},
		"DuplicatesElse":        {"there is no fourth", set("spec/duplicates", "commit"), "spec.duplicates: Unsupported value"},
		"LimitNegative":         {"there is no such limit", set("spec/maxConcurrentSuites", -1), "greater than or equal to 0"},
		"LimitZero":             {"0 is no limit", set("spec/maxConcurrentSuites", 0), ""},
		"KeepFailedPods":        {"to look around", set("spec/keepFailedPods", "30m"), ""},
		"KeepFailedPodsLongest": {"a day", set("spec/keepFailedPods", "24h"), ""},
		"KeepFailedPodsShort":   {"nobody is so fast", set("spec/keepFailedPods", "59s"), "keepFailedPods must be from 1m to 24h"},
		"KeepFailedPodsLong":    {"that is what retention is for", set("spec/keepFailedPods", "24h1s"), "keepFailedPods must be from 1m to 24h"},
		"KeepFailedPodsWords":   {"a duration", set("spec/keepFailedPods", "a while"), "spec.keepFailedPods"},
		"Retry":                 {"errors are retried", set("spec/retry", fields{"onError": 5}), ""},
		"RetryNone":             {"the default", set("spec/retry", fields{}), ""},
		"RetryZero":             {"not", set("spec/retry", fields{"onError": 0}), ""},
		"RetryTooOften":         {"somebody has to look", set("spec/retry", fields{"onError": 6}), "less than or equal to 5"},
		"RetryNegative":         {"there is no such number", set("spec/retry", fields{"onError": -1}), "greater than or equal to 0"},
		"RetryFailures":         {"failures never", set("spec/retry", fields{"onFailure": 1}), `unknown field "spec.retry.onFailure"`},
		"Repository":            {"of GitHub", set("spec/repository", fields{"name": "acme/shop", "credentials": fields{"secretRef": fields{"name": "token"}}}), ""},
		"RepositoryOfGitLab":    {"in a subgroup", set("spec/repository", fields{"hostingService": "GitLab", "name": "group/sub/project"}), ""},
		"RepositoryElsewhere":   {"there is no such code host", set("spec/repository", fields{"hostingService": "Bitbucket", "name": "a/b"}), "hostingService: Unsupported value"},
		"RepositoryNameless":    {"where is it?", set("spec/repository", fields{}), "spec.repository.name: Required"},
		"RepositoryOwnerless":   {"owner/name", set("spec/repository/name", "shop"), "spec.repository.name"},
		"RepositoryHalf":        {"owner/name", set("spec/repository/name", "acme/"), "spec.repository.name"},
		"RepositoryGap":         {"owner/name", set("spec/repository/name", "acme//shop"), "spec.repository.name"},
		"RepositorySpace":       {"not a name", set("spec/repository/name", "acme/the shop"), "spec.repository.name"},
		"RepositoryEscaped":     {"the name becomes part of a URL", set("spec/repository/name", "acme/%2e%2e%2fother%2fshop"), "spec.repository.name"},
		"RepositoryQuery":       {"the name becomes part of a URL", set("spec/repository/name", "acme/shop?x"), "spec.repository.name"},
		"RepositoryUp":          {"the name becomes part of a URL", set("spec/repository/name", "../shop"), "without . and .. segments"},
		"RepositoryHere":        {"the name becomes part of a URL", set("spec/repository", fields{"hostingService": "GitLab", "name": "group/./project"}), "without . and .. segments"},
		"RepositoryDeep":        {"GitHub has no subgroups", set("spec/repository/name", "acme/sub/shop"), "is owner/name"},
		"RepositoryLong":        {"257", set("spec/repository/name", "a/"+text(255)), "Too long"},
		"CredentialsOfNothing":  {"a Secret is needed", set("spec/repository", fields{"name": "a/b", "credentials": fields{}}), "secretRef: Required"},
		"CredentialsNameless":   {"a Secret has a name", set("spec/repository", fields{"name": "a/b", "credentials": fields{"secretRef": fields{"name": ""}}}), "secretRef.name"},
		"Notify":                {"a chat", set("spec/notify", fields{"slack": fields{"secretRef": fields{"name": "postflight-slack"}, "when": list{"Failure", "Recovery"}}}), ""},
		"NotifyNobody":          {"who is it?", set("spec/notify", fields{}), "slack: Required"},
		"NotifyNowhere":         {"a Secret is needed", set("spec/notify", fields{"slack": fields{}}), "secretRef: Required"},
		"NotifyAddress":         {"addresses are secrets", set("spec/notify", fields{"slack": fields{"url": "https://example.com", "secretRef": fields{"name": "s"}}}), `unknown field "spec.notify.slack.url"`},
		"NotifyEveryWhen":       {"a failure that is new is one, too", set("spec/notify", fields{"slack": fields{"secretRef": fields{"name": "s"}, "when": list{"Failure", "NewFailure", "Recovery"}}}), ""},
		"NotifyWhen":            {"there is no such end", set("spec/notify", fields{"slack": fields{"secretRef": fields{"name": "s"}, "when": list{"Success"}}}), "Unsupported value"},
		"NotifyChannel":         {"a thread for each test", set("spec/notify", fields{"slack": fields{"secretRef": fields{"name": "s"}, "channel": "C0123ABCD"}}), ""},
		"NotifyChannelName":     {"a name can change", set("spec/notify", fields{"slack": fields{"secretRef": fields{"name": "s"}, "channel": "#alerts"}}), "spec.notify.slack.channel"},
		"NotifyWhenNothing":     {"then remove it", set("spec/notify", fields{"slack": fields{"secretRef": fields{"name": "s"}, "when": list{}}}), "at least 1"},
		"CredentialsElsewhere":  {"never of another namespace", set("spec/repository", fields{"name": "a/b", "credentials": fields{"secretRef": fields{"name": "a", "namespace": "b"}}}), `unknown field "spec.repository.credentials.secretRef.namespace"`},
		"RequireTests":          {"the default", set("spec/results", fields{"require": "Tests", "minTests": 20}), ""},
		"RequireByDefault":      {"so many of them", set("spec/results", fields{"minTests": 1}), ""},
		"RequireNothing":        {"the exit code decides", set("spec/results", fields{"require": "Nothing"}), ""},
		"RequireElse":           {"there is no fourth", set("spec/results", fields{"require": "Coverage"}), "spec.results.require: Unsupported value"},
		"MinTestsOfReport":      {"an empty report is enough", set("spec/results", fields{"require": "Report", "minTests": 1}), "minTests needs require: Tests"},
		"MinTestsNegative":      {"there is no such number", set("spec/results", fields{"minTests": -1}), "greater than or equal to 1"},
		"FewerTests":            {"the Trigger decides", set("spec/results", fields{"fewerTests": "Fail", "fewerTestsPercent": 100, "attempts": "Last"}), ""},
		"FewerTestsOfReport":    {"there are reports", set("spec/results", fields{"require": "Report", "fewerTests": "Report"}), ""},
		"FewerTestsOfNothing":   {"nothing counts the tests", set("spec/results", fields{"require": "Nothing", "fewerTests": "Fail"}), "fewerTests needs require: Tests or Report"},
		"FewerTestsElse":        {"there is no third", set("spec/results", fields{"fewerTests": "Ignore"}), "spec.results.fewerTests: Unsupported value"},
		"FewerTestsNone":        {"as many are not fewer", set("spec/results", fields{"fewerTestsPercent": 0}), "greater than or equal to 1"},
		"FewerTestsShare":       {"that is more than all", set("spec/results", fields{"fewerTestsPercent": 101}), "less than or equal to 100"},
		"AttemptsElse":          {"there is no third", set("spec/results", fields{"attempts": "First"}), "spec.results.attempts: Unsupported value"},
		"UnknownField":          {"a misspelt field is rejected", set("spec/match/branch", list{"main"}), `unknown field "spec.match.branch"`},
		"UnknownFieldOutermost": {"a misspelt field is rejected", set("spec/envronment", "staging"), `unknown field "spec.envronment"`},
	})
}

func TestTriggerMatchValidation(t *testing.T) {
	rows := map[string]row{
		"Empty":             {"matches everything", set("spec/match", fields{}), ""},
		"Whole":             {"every condition", set("spec/match", fields{"branches": list{"main", "release/**", "!release/old"}, "deploymentTypes": list{"a"}, "repositories": list{"acme/shop"}, "expression": "true"}), ""},
		"BranchTwice":       {"a repetition does no harm", set("spec/match/branches", list{"a", "a"}), ""},
		"TypeTwice":         {"a set", set("spec/match/deploymentTypes", list{"a", "a"}), "Duplicate value"},
		"RepositoryTwice":   {"a set", set("spec/match/repositories", list{"a/b", "a/b"}), "Duplicate value"},
		"BranchesAsText":    {"one is a list too", set("spec/match/branches", "main"), "spec.match.branches"},
		"PullRequestOnly":   {"previews", set("spec/match/pullRequest", "Only"), ""},
		"PullRequestNever":  {"all but previews", set("spec/match/pullRequest", "Never"), ""},
		"PullRequestElse":   {"there is no third", set("spec/match/pullRequest", "only"), "spec.match.pullRequest: Unsupported value"},
		"PullRequestEmpty":  {"an empty value is not the same as none", set("spec/match/pullRequest", ""), "spec.match.pullRequest: Unsupported value"},
		"ExpressionEmpty":   {"it would not compile", set("spec/match/expression", ""), "spec.match.expression"},
		"ExpressionLongest": {"4,096", set("spec/match/expression", text(4096)), ""},
		"ExpressionTooLong": {"4,097", set("spec/match/expression", text(4097)), "Too long"},
		"ExpressionBroken":  {"the Ready condition reports it, because Git applies many objects at once", set("spec/match/expression", "((("), ""},
	}
	for _, field := range []string{"branches", "deploymentTypes", "repositories"} {
		path := "spec/match/" + field
		rows[field+"/Most"] = row{"64", set(path, many(64)), ""}
		rows[field+"/TooMany"] = row{"65", set(path, many(65)), "must have at most 64 items"}
		rows[field+"/Longest"] = row{"256", set(path, list{text(256)}), ""}
		rows[field+"/TooLong"] = row{"257", set(path, list{text(257)}), "Too long"}
		rows[field+"/Blank"] = row{"matches nothing that exists", set(path, list{""}), "spec.match." + field}
	}
	submit(t, trigger, rows)
}

func TestTriggerDurations(t *testing.T) {
	const form = "should match"
	rows := map[string]row{}
	for path, field := range map[string]struct{ message, longest, tooLong string }{
		"spec/timeout":                    {"timeout must be from 1s to 168h", "168h", "168h1ms"},
		"spec/retention/ttlAfterFinished": {"ttlAfterFinished must be from 1s to 8760h", "8760h", "8760h1ms"},
	} {
		add := func(name, reason string, value any, want string) {
			rows[strings.ReplaceAll(path, "/", ".")+"/"+name] = row{reason, set(path, value), want}
		}
		add("Shortest", "a second", "1s", "")
		add("Longest", "the bound itself", field.longest, "")
		add("Parts", "as Go prints it", "1h30m0s", "")
		add("Fraction", "an hour and a half", "1.5h", "")
		add("Zero", "would end every run at once", "0s", field.message)
		add("TooShort", "999ms", "999ms", field.message)
		add("TooLong", "a bit more than the bound", field.tooLong, field.message)
		add("Overflow", "more than 64 bits of nanoseconds", "9999999999999999h", field.message)
		add("TooManyDigits", "33 characters", text(32)+"s", "Too long")
		add("Negative", "not before it starts", "-5m", form)
		add("Unitless", "30 what?", "30", form)
		add("Number", "30 what?", 30, "must be of type string")
		add("Days", "Go has no days", "1d", form)
		add("Space", "not as Go has it", "1h 30m", form)
		add("Empty", "an empty value is not the same as none", "", form)
		add("Fast", "microseconds are for others", "1000000us", form)
	}
	submit(t, trigger, rows)
}

func TestTriggerAllowVariablesValidation(t *testing.T) {
	const sentence = "an entry of allowVariables is the name of a variable"
	of := func(names ...any) edit { return set("spec/allowVariables", names) }
	submit(t, trigger, map[string]row{
		"Names":      {"what a notification sends", of("GREP", "REGION"), ""},
		"Glob":       {"beginnings of names", of("E2E_*", "app.*"), ""},
		"None":       {"no variable at all", of(), ""},
		"All":        {"left out means that", of("*"), sentence},
		"GlobInside": {"only at the end", of("E*E"), sentence},
		"GlobTwice":  {"only once", of("E**"), sentence},
		"Digit":      {"no name of a variable", of("1A"), sentence},
		"Space":      {"no name of a variable", of("A B"), sentence},
		"LineEnd":    {"no name of a variable", of("A\n"), sentence},
		"Empty":      {"no name of a variable", of(""), "spec.allowVariables"},
		"Twice":      {"a set", of("A", "A"), "Duplicate value"},
		"Long":       {"256", of(text(256)), ""},
		"TooLong":    {"257", of(text(257)), "Too long"},
		"Most":       {"64", set("spec/allowVariables", many(64)), ""},
		"TooMany":    {"65", set("spec/allowVariables", many(65)), "must have at most 64 items"},
	})
}

func TestTriggerInputsValidation(t *testing.T) {
	const directory = "spec/inputs/directory"
	good := set("spec/inputs/paths", list{"data/users.csv"})
	in := func(dir string) edit { return edits(good, set(directory, dir)) }
	rows := map[string]row{
		"Paths":              {"files of every run", good, ""},
		"Variables":          {"files of a notification", set("spec/inputs/variables", list{"RUN_INPUT_PATH"}), ""},
		"Nothing":            {"then leave it out", set("spec/inputs", fields{}), "inputs need variables, paths or both"},
		"OnlyDirectory":      {"then leave it out", set(directory, "/a"), "inputs need variables, paths or both"},
		"PathTwice":          {"a set", set("spec/inputs/paths", list{"a", "a"}), "Duplicate value"},
		"VariableTwice":      {"a set", set("spec/inputs/variables", list{"A", "A"}), "Duplicate value"},
		"PathsMost":          {"32", set("spec/inputs/paths", many(32)), ""},
		"PathsTooMany":       {"33", set("spec/inputs/paths", many(33)), "must have at most 32 items"},
		"VariablesTooMany":   {"33", set("spec/inputs/variables", many(33)), "must have at most 32 items"},
		"PathTooLong":        {"513", set("spec/inputs/paths", list{text(513)}), "Too long"},
		"PathReserved":       {"the archive", set("spec/inputs/paths", list{"a", "postflight-runs/x"}), "paths must not start with postflight-runs"},
		"PathReservedCase":   {"some stores ignore the case", set("spec/inputs/paths", list{"POSTflight-runs"}), "paths must not start with postflight-runs"},
		"PathLikeReserved":   {"another name", set("spec/inputs/paths", list{"postflight-runs2/x", "x/postflight-runs/y"}), ""},
		"PathEmpty":          {"no file", set("spec/inputs/paths", list{""}), "spec.inputs.paths"},
		"VariableTooLong":    {"257", set("spec/inputs/variables", list{text(257)}), "Too long"},
		"VariableEmpty":      {"no variable", set("spec/inputs/variables", list{""}), "spec.inputs.variables"},
		"Directory":          {"any absolute path", in("/srv/run-inputs_1.2"), ""},
		"DirectoryHidden":    {"dots may start a name", in("/..a/.b"), ""},
		"DirectoryRelative":  {"relative to what?", in("run-inputs"), "spec.inputs.directory"},
		"DirectoryRoot":      {"a mount there hides the image", in("/"), "spec.inputs.directory"},
		"DirectoryUp":        {"no way out", in("/a/../etc"), "directory must be an absolute path without . and .. segments"},
		"DirectoryUpAtEnd":   {"no way out", in("/a/.."), "directory must be an absolute path without . and .. segments"},
		"DirectoryDot":       {"one spelling for one place", in("/a/./b"), "directory must be an absolute path without . and .. segments"},
		"DirectorySlash":     {"one spelling for one place", in("/a/"), "spec.inputs.directory"},
		"DirectoryGap":       {"one spelling for one place", in("/a//b"), "spec.inputs.directory"},
		"DirectorySpace":     {"shells stumble", in("/a b"), "spec.inputs.directory"},
		"DirectoryTooLong":   {"257", in("/" + text(256)), "Too long"},
		"DirectoryExpansion": {"Kubernetes expands it", in("/$(A)"), "spec.inputs.directory"},
	}
	submit(t, trigger, rows)
}

func TestTriggerShardsValidation(t *testing.T) {
	const (
		one     = "with shards, the jobTemplate is that of one shard, and Postflight makes an Indexed Job of it"
		restart = "with shards, the restartPolicy of the jobTemplate must be Never"
	)
	shards := set("spec/shards", 4)
	with := func(path string, value any) edit { return edits(shards, set("spec/jobTemplate/spec/"+path, value)) }
	submit(t, trigger, map[string]row{
		"Least":               {"the same as none", set("spec/shards", 1), ""},
		"Most":                {"64", set("spec/shards", 64), ""},
		"None":                {"then leave it out", set("spec/shards", 0), "greater than or equal to 1"},
		"TooMany":             {"65", set("spec/shards", 65), "less than or equal to 64"},
		"Negative":            {"there is no such number", set("spec/shards", -4), "greater than or equal to 1"},
		"Indexed":             {"Postflight does that", with("completionMode", "Indexed"), one},
		"SuccessPolicy":       {"every shard has to pass", with("successPolicy", map[string]any{"rules": []any{map[string]any{"succeededIndexes": "0"}}}), "with shards, every shard has to pass"},
		"NonIndexed":          {"Postflight does that", with("completionMode", "NonIndexed"), one},
		"Completions":         {"as many as shards", with("completions", 4), one},
		"Parallelism":         {"all at once", with("parallelism", 2), one},
		"IndexedWithout":      {"a Job of your own", edits(set("spec/jobTemplate/spec/completionMode", "Indexed"), set("spec/jobTemplate/spec/completions", 4)), ""},
		"OneIndexed":          {"the same command for any number", edits(set("spec/shards", 1), set("spec/jobTemplate/spec/completionMode", "Indexed")), one},
		"OnFailure":           {"Kubernetes counts no failures per index then", with("template/spec/restartPolicy", "OnFailure"), restart},
		"Never":               {"the default", with("template/spec/restartPolicy", "Never"), ""},
		"BackoffLimit":        {"each shard once more", with("backoffLimit", 1), ""},
		"PerIndex":            {"each shard once more", with("backoffLimitPerIndex", 1), ""},
		"OfAClass":            {"the class says what to run", edits(shards, remove("spec/jobTemplate"), set("spec/triggerClassName", "web")), ""},
		"OfAClassAndMetadata": {"a label", edits(shards, set("spec/triggerClassName", "web"), set("spec/jobTemplate", fields{"metadata": fields{"labels": fields{"a": "b"}}})), ""},
		"FailFast":            {"the first failure is enough", edits(shards, set("spec/failFast", true)), ""},
		"NotFailFast":         {"the default", set("spec/failFast", false), ""},
		"FailFastOfOne":       {"there are no others", set("spec/failFast", true), "failFast needs shards"},
		"FailFastPerIndex":    {"they exclude each other", edits(with("backoffLimitPerIndex", 1), set("spec/failFast", true)), "backoffLimitPerIndex has no effect: remove one of the two"},
	})
}
