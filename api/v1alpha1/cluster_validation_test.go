package v1alpha1_test

import (
	"strings"
	"testing"
)

var cluster = kind("Cluster", fields{"url": "https://postflight.eu.example.com", "teams": list{"*"}})

func TestClusterValidation(t *testing.T) {
	const badURL, badTeam = "url must be an absolute https URL", "an entry of teams is the name of a Team"
	submit(t, cluster, map[string]row{
		"Least":            {"an address, and who may use it", edits(), ""},
		"Whole":            {"every field", edits(set("spec/ca", "-----BEGIN CERTIFICATE-----"), set("spec/credential", "Key"), set("spec/audience", "eu")), ""},
		"NoSpec":           {"kubectl apply of half a file", remove("spec"), "spec: Required"},
		"LongestName":      {"63 characters, as in spec.cluster of an Environment", set("metadata/name", strings.Repeat("c", 63)), ""},
		"NameTooLong":      {"no Environment could name it", set("metadata/name", strings.Repeat("c", 64)), "the name of a Cluster must be a DNS label"},
		"NameWithDot":      {"files of keys are called CLUSTER.TEAM", set("metadata/name", "eu.prod"), "the name of a Cluster must be a DNS label"},
		"URLMissing":       {"where?", remove("spec/url"), "spec.url: Required"},
		"URLEmpty":         {"an empty value is not the same as none", set("spec/url", ""), "spec.url"},
		"URLPath":          {"a proxy serves it below a path", set("spec/url", "https://example.com/postflight"), ""},
		"URLPlain":         {"the machine of a developer; others are refused when they are asked", set("spec/url", "http://127.0.0.1:8080"), ""},
		"URLWithoutScheme": {"a host is no URL", set("spec/url", "postflight.eu.example.com"), badURL},
		"URLOtherScheme":   {"the API is HTTP", set("spec/url", "ftp://example.com"), badURL},
		"URLWithoutHost":   {"there is nowhere to go", set("spec/url", "https:///path"), badURL},
		"URLRelative":      {"to what?", set("spec/url", "/path"), badURL},
		"URLLongest":       {"2,048 bytes", set("spec/url", "https://e.com/"+text(2034)), ""},
		"URLTooLong":       {"2,049 bytes", set("spec/url", "https://e.com/"+text(2035)), "Too long"},
		"CATooLong":        {"64 KiB hold 30 certificates", set("spec/ca", text(65537)), "Too long"},
		"TeamsMissing":     {"a mistake must not open it for all", remove("spec/teams"), "spec.teams: Required"},
		"TeamsEmpty":       {"a Cluster for no Team does nothing", set("spec/teams", list{}), "should have at least 1 items"},
		"TeamsMost":        {"64", set("spec/teams", many64("t")), ""},
		"TeamsTooMany":     {"65; use a beginning", set("spec/teams", append(many64("t"), "u")), "must have at most 64 items"},
		"TeamTwice":        {"it is a set", set("spec/teams", list{"shop", "shop"}), "Duplicate"},
		"TeamBeginning":    {"all Teams of a division", set("spec/teams", list{"shop", "pay-*"}), ""},
		"TeamLongest":      {"63 characters and the asterisk", set("spec/teams", list{strings.Repeat("a", 63) + "*"}), ""},
		"TeamTooLong":      {"no Team has such a name", set("spec/teams", list{strings.Repeat("a", 65)}), "Too long"},
		"TeamEmpty":        {"not a name", set("spec/teams", list{""}), badTeam},
		"TeamUpper":        {"not a name", set("spec/teams", list{"Shop"}), badTeam},
		"TeamInside":       {"an asterisk ends a beginning", set("spec/teams", list{"a*b"}), badTeam},
		"TeamTwoAsterisks": {"that is no glob", set("spec/teams", list{"a**"}), badTeam},
		"TeamDash":         {"not a name", set("spec/teams", list{"-a*"}), badTeam},
		"CredentialOther":  {"there are two kinds", set("spec/credential", "Password"), "Unsupported value"},
		"AudienceLongest":  {"256", set("spec/audience", text(256)), ""},
		"AudienceTooLong":  {"257", set("spec/audience", text(257)), "Too long"},
		"AudienceHere":     {"the cluster could act for every team of the hub", set("spec/audience", "postflight"), "the cluster could use tokens of this audience here"},
		"AudienceOfPods":   {"it could act as a pod of a run", set("spec/audience", "postflight-collect"), "the cluster could use tokens of this audience here"},
		"AudienceOfAPI":    {"it could be the manager at the hub's API server", set("spec/audience", "https://kubernetes.default.svc"), "the cluster could use tokens of this audience here"},
		"AudienceOfAPIs":   {"the same, with the name of its domain", set("spec/audience", "https://kubernetes.default.svc.cluster.local"), "the cluster could use tokens of this audience here"},
		"UnknownField":     {"a misspelt field is rejected", set("spec/caData", "x"), `unknown field "spec.caData"`},
		"NoKubeconfig":     {"a hub has no rights in the API server of a cluster", set("spec/kubeconfig", fields{"name": "eu"}), `unknown field "spec.kubeconfig"`},
	})
}

// many64 are 64 different names.
func many64(name string) list {
	var all list
	for i := range 64 {
		all = append(all, strings.Repeat(name, i/8+1)+"-"+strings.Repeat("a", i%8+1))
	}
	return all
}

// TestEnvironmentOfACluster: what would never have an effect is refused.
func TestEnvironmentOfACluster(t *testing.T) {
	const badType, elsewhere = "an entry of deploymentTypes is a name", "an Environment with cluster has no workloads"
	there := func(more ...edit) edit { return edits(append([]edit{set("spec/cluster", "eu")}, more...)...) }
	types := func(values ...any) edit { return there(set("spec/deploymentTypes", values)) }
	submit(t, environment, map[string]row{
		"Cluster":             {"the usual", there(), ""},
		"WithURL":             {"people see it on pages", there(set("spec/url", "https://eu.example.com"), set("spec/variables", fields{"A": "b"})), ""},
		"Limit":               {"a limit of the hub limits nothing, and does no harm", there(set("spec/maxConcurrentSuites", 1)), ""},
		"ClusterLongest":      {"63 characters", set("spec/cluster", strings.Repeat("c", 63)), ""},
		"ClusterTooLong":      {"no Cluster has such a name", set("spec/cluster", strings.Repeat("c", 64)), "Too long"},
		"ClusterEmpty":        {"an empty value is not the same as none", set("spec/cluster", ""), "spec.cluster"},
		"ClusterUpper":        {"not a name", set("spec/cluster", "EU"), "spec.cluster"},
		"ClusterDot":          {"not a name", set("spec/cluster", "eu.prod"), "spec.cluster"},
		"Workloads":           {"they are in the cluster", there(set("spec/workloads", list{fields{"name": "web"}})), elsewhere},
		"Gate":                {"the cluster answers for verdicts", there(set("spec/gate", fields{"triggers": list{"smoke"}})), elsewhere},
		"Hold":                {"the cluster starts runs", there(set("spec/hold", fields{"until": expiry})), elsewhere},
		"Settle":              {"the cluster starts runs", there(settled("2m", nil)), elsewhere},
		"Ephemeral":           {"the cluster makes these", there(set("spec/ephemeral", fields{"deploymentURL": "https://pr-1.example.com", "expiresAt": expiry})), elsewhere},
		"Types":               {"names and a beginning", types("staging", "preview-*"), ""},
		"TypesAll":            {"the same as none", types("*"), ""},
		"TypesOfThisCluster":  {"Triggers match types here", set("spec/deploymentTypes", list{"staging"}), "deploymentTypes needs cluster"},
		"TypesEmpty":          {"it would hand on nothing", there(set("spec/deploymentTypes", list{})), "should have at least 1 items"},
		"TypesMost":           {"32", there(set("spec/deploymentTypes", many(32))), ""},
		"TypesTooMany":        {"33", there(set("spec/deploymentTypes", many(33))), "must have at most 32 items"},
		"TypeTwice":           {"it is a set", types("staging", "staging"), "Duplicate"},
		"TypeEmpty":           {"not a type", types(""), "spec.deploymentTypes"},
		"TypeLongest":         {"256, as in a notification", types(text(256)), ""},
		"TypeTooLong":         {"257", types(text(257)), "Too long"},
		"TypeAsteriskInside":  {"an asterisk ends a beginning", types("a*b"), badType},
		"TypeAsteriskAtFirst": {"an ending is no beginning", types("*-preview"), badType},
	})
}
