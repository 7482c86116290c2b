package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"
)

var eventSource = kind("EventSource", fields{"type": "GitHub"})

func TestEventSourceValidation(t *testing.T) {
	var many list
	for i := range 65 {
		many = append(many, fmt.Sprintf("acme/shop-%d", i))
	}
	secret := func(name, key string) fields { return fields{"name": name, "key": key} }
	environment := func(event, deploymentType string) fields {
		return fields{"event": event, "deploymentType": deploymentType}
	}
	const fullName = "an entry of repositories is a full name without its host"
	submit(t, eventSource, map[string]row{
		"Good":                    {"events of the manager's App", set("spec/type", "GitHub"), ""},
		"NameWithDot":             {"it is a segment of a URL", set("metadata/name", "git.hub"), "the name of an EventSource must be a DNS label"},
		"LongName":                {"it is a segment of a URL", set("metadata/name", strings.Repeat("x", 64)), "the name of an EventSource must be a DNS label"},
		"NoType":                  {"a signature is not enough to tell", remove("spec/type"), "spec.type: Required"},
		"OtherType":               {"there is no decoder", set("spec/type", "Gitea"), "spec.type: Unsupported"},
		"LowerCase":               {"hosting services are written like that", set("spec/type", "github"), "spec.type: Unsupported"},
		"OwnSecret":               {"the webhook of a repository", set("spec/secret", secret("postflight-events", "github")), ""},
		"GitLabWithoutSecret":     {"anybody could send events", set("spec/type", "GitLab"), "secret is missing"},
		"FluxWithoutSecret":       {"anybody could send events", set("spec/type", "Flux"), "secret is missing"},
		"SecretWithoutName":       {"it is nowhere", set("spec/secret", fields{"key": "github"}), "spec.secret.name: Required"},
		"EmptyName":               {"it is nowhere", set("spec/secret", secret("", "github")), "spec.secret.name"},
		"SecretWithoutKey":        {"a Secret may have several", set("spec/secret", fields{"name": "postflight-events"}), "spec.secret.key: Required"},
		"KeyWithSlash":            {"no key of a Secret has one", set("spec/secret", secret("postflight-events", "a/b")), "spec.secret.key"},
		"SecretElsewhere":         {"it is in the namespace", set("spec/secret", fields{"name": "a", "key": "b", "namespace": "c"}), `unknown field "spec.secret.namespace"`},
		"Repositories":            {"names and groups", set("spec/repositories", list{"acme/shop", "acme/labs/*"}), ""},
		"EmptyRepositories":       {"it could mean none, or all", set("spec/repositories", list{}), "spec.repositories"},
		"RepositoryTwice":         {"a mistake", set("spec/repositories", list{"acme/shop", "acme/shop"}), "Duplicate"},
		"AllRepositories":         {"leave the list out", set("spec/repositories", list{"*"}), fullName},
		"PatternInName":           {"groups end in /*", set("spec/repositories", list{"acme/sh*"}), fullName},
		"URL":                     {"the event has no host", set("spec/repositories", list{"https://github.com/acme/shop"}), fullName},
		"SixtyFourRepositories":   {"the most", set("spec/repositories", many[:64]), ""},
		"TooManyRepositories":     {"use a group", set("spec/repositories", many), "spec.repositories: Too many"},
		"Environments":            {"other names, and more than one", set("spec/environments", list{environment("Production", "production"), environment("Preview – é", "preview")}), ""},
		"EnvironmentTwice":        {"it is not clear which one counts", set("spec/environments", list{environment("a", "b"), environment("a", "c")}), "Duplicate"},
		"EnvironmentWithoutType":  {"there would be none", set("spec/environments", list{fields{"event": "a"}}), "deploymentType: Required"},
		"EnvironmentWithoutEvent": {"there is no default", set("spec/environments", list{fields{"deploymentType": "a"}}), "event: Required"},
		"LongType":                {"as in notifications", set("spec/environments", list{environment("a", strings.Repeat("x", 257))}), "Too long"},
		"Deployments":             {"names, files and beginnings", set("spec/deployments", fields{"workflows": list{"deploy.yml", "Deploy *"}, "jobs": list{"deploy (eu)"}, "tasks": list{"deploy"}, "exclude": fields{"jobs": list{"read*"}}}), ""},
		"OnlyExclude":             {"all others count", set("spec/deployments", fields{"exclude": fields{"jobs": list{"*"}}}), ""},
		"EmptyDeployments":        {"it could mean none, or all", set("spec/deployments", fields{}), "spec.deployments"},
		"EmptyExclude":            {"it does nothing", set("spec/deployments", fields{"exclude": fields{}}), "spec.deployments.exclude"},
		"EmptyJobs":               {"it could mean none, or all", set("spec/deployments", fields{"jobs": list{}}), "spec.deployments.jobs"},
		"EmptyJob":                {"no job has no name", set("spec/deployments", fields{"jobs": list{""}}), "spec.deployments.jobs[0]"},
		"JobTwice":                {"a mistake", set("spec/deployments", fields{"jobs": list{"a", "a"}}), "Duplicate"},
		"StarInWorkflow":          {"only beginnings", set("spec/deployments", fields{"workflows": list{"de*y"}}), "an entry is a name, or a beginning"},
		"StarTwiceInJob":          {"only beginnings", set("spec/deployments", fields{"exclude": fields{"jobs": list{"**"}}}), "an entry is a name, or a beginning"},
		"StarFirstInTask":         {"only beginnings", set("spec/deployments", fields{"tasks": list{"*deploy"}}), "an entry is a name, or a beginning"},
		"SixtyFourJobs":           {"the most", set("spec/deployments", fields{"jobs": many[:64]}), ""},
		"TooManyJobs":             {"use a beginning", set("spec/deployments", fields{"jobs": many}), "spec.deployments.jobs: Too many"},
		"LongJob":                 {"no job has such a name", set("spec/deployments", fields{"jobs": list{strings.Repeat("x", 257)}}), "Too long"},
		"ExcludeInExclude":        {"there is one level", set("spec/deployments", fields{"exclude": fields{"exclude": fields{"jobs": list{"a"}}}}), "unknown field"},
		"DeploymentsOfGitLab": {"its events do not name the job", edits(set("spec/type", "GitLab"), set("spec/secret", secret("a", "b")),
			set("spec/deployments", fields{"jobs": list{"deploy"}})), "deployments can only be selected for the type GitHub"},
		"Misspelt": {"it would not do what it says", set("spec/repository", "acme/shop"), `unknown field "spec.repository"`},
	})
}
