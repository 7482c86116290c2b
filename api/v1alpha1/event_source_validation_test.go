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
		"Misspelt":                {"it would not do what it says", set("spec/repository", "acme/shop"), `unknown field "spec.repository"`},
	})
}
