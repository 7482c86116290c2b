package v1alpha1_test

import (
	"strings"
	"testing"
)

var (
	deploymentGate = kind("DeploymentGate", fields{
		"source": "github", "environments": list{"production"}, "requires": list{fields{"environment": "staging"}},
	})
	deploymentReview = kind("DeploymentReview", fields{
		"gate": "production", "source": "github", "hostingService": "GitHub", "repository": "acme/shop", "environment": "production", "runID": 7,
	})
)

func TestDeploymentGateValidation(t *testing.T) {
	rule := func(name, value string) list {
		return list{fields{"environment": "staging", "rule": fields{name: value}}}
	}
	submit(t, deploymentGate, map[string]row{
		"Good":              {"all that is needed", set("spec/source", "github"), ""},
		"NameWithDot":       {"it names reviews", set("metadata/name", "pro.duction"), "must be a DNS label"},
		"NoSource":          {"nothing would ask", remove("spec/source"), "spec.source: Required"},
		"NoEnvironments":    {"all would be too many", remove("spec/environments"), "spec.environments: Required"},
		"StarFirst":         {"only beginnings", set("spec/environments", list{"*production"}), "a beginning that ends in '*'"},
		"Beginning":         {"a group of them", set("spec/environments", list{"prod-*"}), ""},
		"NothingRequired":   {"everything would be approved", set("spec/requires", list{}), "spec.requires"},
		"RequiredTwice":     {"it is not clear which rule counts", set("spec/requires", list{fields{"environment": "a"}, fields{"environment": "a"}}), "Duplicate"},
		"Rule":              {"it replaces the rule of the Environment", set("spec/requires", rule("maxAge", "24h")), ""},
		"ShortAge":          {"no run is so fast", set("spec/requires", rule("maxAge", "1s")), "maxAge must be from 1m"},
		"Timeouts":          {"none at all, and a month", edits(set("spec/startTimeout", "0s"), set("spec/timeout", "720h")), ""},
		"LongTimeout":       {"GitHub waits for 30 days", set("spec/timeout", "721h"), "timeout must be from 1m to 720h"},
		"LongStartTimeout":  {"a day is long", set("spec/startTimeout", "25h"), "startTimeout must be from 0s to 24h"},
		"RepositoryWithURL": {"events have no host", set("spec/repositories", list{"https://github.com/acme/shop"}), "full name without its host"},
		"Misspelt":          {"it would not do what it says", set("spec/require", list{}), `unknown field "spec.require"`},
	})
}

func TestDeploymentReviewValidation(t *testing.T) {
	submit(t, deploymentReview, map[string]row{
		"Good":           {"all that is needed", set("spec/runID", 7), ""},
		"Deployment":     {"GitLab has no runs", edits(remove("spec/runID"), set("spec/deploymentID", 9)), ""},
		"Neither":        {"nothing could be decided", remove("spec/runID"), "needs runID or deploymentID"},
		"NoSource":       {"nothing has asked", remove("spec/source"), "spec.source: Required"},
		"NegativeRun":    {"there is none", set("spec/runID", -1), "spec.runID"},
		"OtherHost":      {"there is no client", set("spec/hostingService", "Gitea"), "spec.hostingService: Unsupported"},
		"LongRepository": {"no repository has such a name", set("spec/repository", strings.Repeat("x", 257)), "Too long"},
	})
}
