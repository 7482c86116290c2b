package v1alpha1_test

import (
	"maps"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/apiserver"
)

const expiry = "2026-12-01T00:00:00Z"

var environment = kind("Environment", fields{})

func TestEnvironmentValidation(t *testing.T) {
	submit(t, environment, map[string]row{
		"Least":                {"an Environment may have nothing but its name", edits(), ""},
		"LongestName":          {"63 characters make a label", set("metadata/name", strings.Repeat("e", 63)), ""},
		"NameTooLong":          {"the name becomes a label", set("metadata/name", strings.Repeat("e", 64)), "the name of an Environment must be a DNS label"},
		"NameWithDot":          {"the name becomes a label of pods", set("metadata/name", "eu.staging"), "the name of an Environment must be a DNS label"},
		"NoSpec":               {"kubectl apply of half a file", remove("spec"), "spec: Required"},
		"URL":                  {"the usual", set("spec/url", "https://staging.example.com"), ""},
		"URLPlain":             {"http, a port, a path and a query", set("spec/url", "http://shop.default.svc:8080/a/b?c=d#e"), ""},
		"URLIPv6":              {"an address", set("spec/url", "http://[2001:db8::1]:8080"), ""},
		"URLEmpty":             {"an empty value is not the same as none", set("spec/url", ""), "url must be an absolute http or https URL"},
		"URLWithoutScheme":     {"a host is no URL", set("spec/url", "staging.example.com"), "url must be an absolute http or https URL"},
		"URLOtherScheme":       {"browsers do not open ftp", set("spec/url", "ftp://example.com"), "url must be an absolute http or https URL"},
		"URLScript":            {"it becomes a link", set("spec/url", "javascript:alert(1)"), "url must be an absolute http or https URL"},
		"URLWithoutHost":       {"there is nowhere to go", set("spec/url", "https:///path"), "url must be an absolute http or https URL"},
		"URLRelative":          {"to what?", set("spec/url", "/path"), "url must be an absolute http or https URL"},
		"URLOfNoScheme":        {"whose scheme?", set("spec/url", "//example.com"), "url must be an absolute http or https URL"},
		"URLWithSpace":         {"not a URL", set("spec/url", "https://exa mple.com"), "url must be an absolute http or https URL"},
		"URLLongest":           {"2,048 bytes", set("spec/url", "https://e.com/"+text(2034)), ""},
		"URLTooLong":           {"2,049 bytes", set("spec/url", "https://e.com/"+text(2035)), "Too long"},
		"VariablesFrom":        {"Secrets and ConfigMaps", set("spec/variablesFrom", list{fields{"secretRef": fields{"name": "a"}}, fields{"configMapRef": fields{"name": "b"}, "prefix": "B_"}}), ""},
		"VariablesFromLong":    {"253 characters are a name", set("spec/variablesFrom", list{fields{"secretRef": fields{"name": text(253)}, "prefix": text(253)}}), ""},
		"VariablesFromTooLong": {"254", set("spec/variablesFrom", list{fields{"configMapRef": fields{"name": text(254)}}}), "Too long"},
		"VariablesFromPrefix":  {"254", set("spec/variablesFrom", list{fields{"secretRef": fields{"name": "a"}, "prefix": text(254)}}), "Too long"},
		"VariablesFromTooMany": {"17", set("spec/variablesFrom", repeat(fields{"secretRef": fields{"name": "a"}}, 17)), "must have at most 16 items"},
		"Booked":               {"one run at a time", set("spec/maxConcurrentSuites", 1), ""},
		"NoLimit":              {"0 is no limit", set("spec/maxConcurrentSuites", 0), ""},
		"LimitNegative":        {"there is no such limit", set("spec/maxConcurrentSuites", -1), "greater than or equal to 0"},
		"LimitBeyond32Bits":    {"clients read 32 bits", set("spec/maxConcurrentSuites", int64(1)<<31), "spec.maxConcurrentSuites"},
		"Hold":                 {"a person debugs", set("spec/hold", fields{"until": expiry, "reason": "debugging 812"}), ""},
		"HoldWithoutReason":    {"the time is enough", set("spec/hold", fields{"until": expiry}), ""},
		"HoldOver":             {"the schema knows no time, and an old hold means nothing", set("spec/hold", fields{"until": "2020-01-01T00:00:00Z"}), ""},
		"HoldForever":          {"somebody would forget it", set("spec/hold", fields{"reason": "debugging 812"}), "spec.hold.until: Required"},
		"HoldUntilNull":        {"null is no end", set("spec/hold", fields{"until": nil}), "spec.hold.until: Required"},
		"HoldUntilSoon":        {"only a time is an end", set("spec/hold", fields{"until": "tomorrow"}), "spec.hold.until"},
		"HoldOfADay":           {"a date has no time zone", set("spec/hold", fields{"until": "2026-12-01"}), "spec.hold.until"},
		"HoldLongestReason":    {"256 characters", set("spec/hold", fields{"until": expiry, "reason": text(256)}), ""},
		"HoldReasonTooLong":    {"every run that waits shows it", set("spec/hold", fields{"until": expiry, "reason": text(257)}), "Too long"},
		"HoldTypo":             {"a misspelt field is rejected", set("spec/hold", fields{"until": expiry, "for": "1h"}), `unknown field "spec.hold.for"`},
		"Settle":               {"the limit has a default", settled("2m", nil), ""},
		"SettleAtMost":         {"several deployments in a row", settled("2m", "10m"), ""},
		"SettleAtMostIsQuiet":  {"the shortest", settled("1m30s", "90s"), ""},
		"SettleShortest":       {"a second", settled("1s", nil), ""},
		"SettleLongest":        {"anyone who wants to wait for longer needs a schedule", settled("1h", "24h"), ""},
		"SettleZero":           {"leave it out instead", settled("0s", nil), "quiet must be from 1s to 1h"},
		"SettleTooLong":        {"it would look like a stuck queue", settled("61m", nil), "quiet must be from 1s to 1h"},
		"SettleAtMostTooLong":  {"a run would be of yesterday", settled("1h", "1441m"), "atMost must be from 1s to 24h"},
		"SettleAtMostLess":     {"no run could wait for quiet", settled("2m", "119s"), "atMost must be at least quiet"},
		"SettleOnlyAtMost":     {"after what?", set("spec/settle", fields{"atMost": "10m"}), "spec.settle.quiet: Required"},
		"SettleEmpty":          {"there is no default", set("spec/settle", fields{}), "spec.settle.quiet: Required"},
		"SettleNegative":       {"time does not go back", settled("-2m", nil), "spec.settle.quiet"},
		"SettleOfDays":         {"Go has no such unit", settled("2d", nil), "spec.settle.quiet"},
		"SettleNumber":         {"of what?", settled(120, nil), "spec.settle.quiet"},
		"SettleTypo":           {"a misspelt field is rejected", set("spec/settle", fields{"quiet": "2m", "atmost": "10m"}), `unknown field "spec.settle.atmost"`},
		"Ephemeral":            {"made by a notification", set("spec/ephemeral", fields{"deploymentURL": "https://pr-1.example.com", "expiresAt": expiry}), ""},
		"EphemeralForever":     {"it would never be deleted", set("spec/ephemeral", fields{"deploymentURL": "https://pr-1.example.com"}), "spec.ephemeral.expiresAt: Required"},
		"EphemeralOfNothing":   {"it stands for a deployment URL", set("spec/ephemeral", fields{"expiresAt": expiry}), "spec.ephemeral.deploymentURL: Required"},
		"UnknownField":         {"a misspelt field is rejected", set("spec/variable", fields{"A": "b"}), `unknown field "spec.variable"`},
	})
}

func settled(quiet, atMost any) edit {
	settle := fields{"quiet": quiet}
	if atMost != nil {
		settle["atMost"] = atMost
	}
	return set("spec/settle", settle)
}

// Workloads are read with the rights of the manager, so that a wrong one must not mean something else.
func TestWorkloadValidation(t *testing.T) {
	const either, needed, oneOf = "a workload has a name or a selector", "apiVersion is needed for this kind", "spec.workloads[0].sha"
	one := func(more fields) edit {
		w := fields{"name": "web"}
		maps.Copy(w, more)
		return set("spec/workloads", list{w})
	}
	without := func(more fields) edit { return set("spec/workloads", list{more}) }
	sha := func(value fields) edit { return one(fields{"sha": value}) }
	labels := fields{"matchLabels": fields{"app": "web"}}
	rows := map[string]row{
		"Least":             {"a Deployment of the namespace", one(nil), ""},
		"Whole":             {"every field", one(fields{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "namespace": "argocd", "repository": "acme/shop", "hostingService": "GitLab", "notify": true, "sha": fields{"annotation": "a"}, "branch": fields{"value": "main"}, "deploymentType": fields{"expression": "object.kind"}}), ""},
		"Selector":          {"several objects", without(fields{"selector": labels}), ""},
		"Labels64":          {"64 labels", without(fields{"selector": selectLabels(64)}), ""},
		"Labels65":          {"65", without(fields{"selector": selectLabels(65)}), "must have at most 64 items"},
		"LabelLong":         {"64 characters are no value of a label", without(fields{"selector": fields{"matchLabels": fields{"app": text(64)}}}), "Too long"},
		"Requirements64":    {"64, of 64 values of 63 characters each", without(fields{"selector": selectOne(text(63), 64, 64)}), ""},
		"Requirements65":    {"65", without(fields{"selector": selectOne("a", 65, 1)}), "must have at most 64 items"},
		"Values65":          {"65", without(fields{"selector": selectOne("a", 1, 65)}), "must have at most 64 items"},
		"ValueLong":         {"64 characters are no value of a label", without(fields{"selector": selectOne(text(64), 1, 1)}), "Too long"},
		"KeyLongest":        {"a prefix of 253, and 63", without(fields{"selector": fields{"matchExpressions": list{fields{"key": text(317), "operator": "Exists"}}}}), ""},
		"KeyTooLong":        {"318", without(fields{"selector": fields{"matchExpressions": list{fields{"key": text(318), "operator": "Exists"}}}}), "Too long"},
		"Both":              {"which one would decide?", one(fields{"selector": labels}), either},
		"Neither":           {"all of a kind is never meant", without(fields{"kind": "Deployment"}), either},
		"NameEmpty":         {"an empty value is not the same as none", one(fields{"name": ""}), "spec.workloads[0].name"},
		"NameLongest":       {"253 characters are a name", one(fields{"name": text(253)}), ""},
		"NameTooLong":       {"254", one(fields{"name": text(254)}), "Too long"},
		"OtherKind":         {"whose?", one(fields{"kind": "Service"}), needed},
		"OtherKindOf":       {"any group, with its version", one(fields{"kind": "Service", "apiVersion": "serving.knative.dev/v1"}), ""},
		"KindLower":         {"that is a resource", one(fields{"kind": "deployment"}), "spec.workloads[0].kind"},
		"KindPlural":        {"nor is this a kind", one(fields{"kind": "deployments.apps"}), "spec.workloads[0].kind"},
		"KindTooLong":       {"64", one(fields{"kind": "K" + text(63), "apiVersion": "a.b/v1"}), "Too long"},
		"CoreGroup":         {"Secrets are there", one(fields{"kind": "Secret", "apiVersion": "v1"}), "spec.workloads[0].apiVersion"},
		"CoreGroupSlash":    {"an empty group is the same one", one(fields{"kind": "Secret", "apiVersion": "/v1"}), "spec.workloads[0].apiVersion"},
		"CoreGroupByKind":   {"it has no default", one(fields{"kind": "Secret"}), needed},
		"OwnGroup":          {"an Environment that names itself would start runs without end", one(fields{"kind": "Environment", "apiVersion": "postflight.dev/v1alpha1"}), "objects of this group cannot be workloads"},
		"EventsGroup":       {"the manager reads events for its task", one(fields{"kind": "Event", "apiVersion": "events.k8s.io/v1"}), "objects of this group cannot be workloads"},
		"NoVersion":         {"a group is not enough", one(fields{"apiVersion": "apps"}), "spec.workloads[0].apiVersion"},
		"OddVersion":        {"versions begin with v", one(fields{"apiVersion": "apps/1"}), "spec.workloads[0].apiVersion"},
		"TwoSlashes":        {"a path is no version", one(fields{"apiVersion": "apps/v1/x"}), "spec.workloads[0].apiVersion"},
		"VersionTooLong":    {"257", one(fields{"apiVersion": text(254) + "/v1"}), "Too long"},
		"NamespaceUpper":    {"not a namespace's name", one(fields{"namespace": "Shop"}), "spec.workloads[0].namespace"},
		"NamespaceDot":      {"not a namespace's name", one(fields{"namespace": "a.b"}), "spec.workloads[0].namespace"},
		"NamespaceTooLong":  {"64", one(fields{"namespace": text(64)}), "Too long"},
		"RepositoryLongest": {"256, as in a notification", one(fields{"repository": text(256)}), ""},
		"RepositoryTooLong": {"257", one(fields{"repository": text(257)}), "Too long"},
		"UnknownHost":       {"there is no such service", one(fields{"hostingService": "Gitea"}), "Unsupported value"},
		"NotifyAsText":      {"YAML's \"yes\" in quotes is no boolean", one(fields{"notify": "yes"}), "spec.workloads[0].notify"},
		"ValueTwice":        {"which one would decide?", sha(fields{"annotation": "a", "value": "b"}), oneOf},
		"ValueNowhere":      {"leave it out instead", sha(fields{}), oneOf},
		"ValueMisspelt":     {"a misspelt field is rejected", sha(fields{"label": "a"}), "unknown field"},
		"AnnotationEmpty":   {"it has a name", sha(fields{"annotation": ""}), oneOf + ".annotation"},
		"AnnotationLongest": {"a prefix of 253, and 63", sha(fields{"annotation": text(317)}), ""},
		"AnnotationTooLong": {"318", sha(fields{"annotation": text(318)}), "Too long"},
		"ContainerEmpty":    {"it has a name", sha(fields{"imageTagOf": ""}), oneOf + ".imageTagOf"},
		"ContainerTooLong":  {"64", sha(fields{"imageTagOf": text(64)}), "Too long"},
		"ExpressionEmpty":   {"it has a value", sha(fields{"expression": ""}), oneOf + ".expression"},
		"ExpressionLongest": {"1,024 characters", sha(fields{"expression": text(1024)}), ""},
		"ExpressionTooLong": {"1,025", sha(fields{"expression": text(1025)}), "Too long"},
		"ConstantEmpty":     {"leave it out instead", sha(fields{"value": ""}), oneOf + ".value"},
		"ConstantTooLong":   {"257", sha(fields{"value": text(257)}), "Too long"},
		"Most":              {"20", set("spec/workloads", repeat(fields{"name": "web"}, 20)), ""},
		"TooMany":           {"21", set("spec/workloads", repeat(fields{"name": "web"}, 21)), "must have at most 20 items"},
		"UnknownField":      {"a misspelt field is rejected", one(fields{"container": "web"}), "unknown field"},
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "Rollout", "Application", "Kustomization", "HelmRelease"} {
		rows[kind] = row{"its version is known", one(fields{"kind": kind}), ""}
	}
	submit(t, environment, rows)
}

func selectLabels(n int) fields {
	all := fields{}
	for _, name := range named(n) {
		all[name["name"].(string)] = "x"
	}
	return fields{"matchLabels": all}
}

func selectOne(value string, requirements, values int) fields {
	return fields{"matchExpressions": repeat(fields{"key": "app", "operator": "In", "values": repeat(value, values)}, requirements)}
}

func repeat(item any, n int) list {
	var all list
	for range n {
		all = append(all, item)
	}
	return all
}

// Variables have the same rules wherever they stand.
func TestVariablesValidation(t *testing.T) {
	const badName = "the name of a variable must start with a letter"
	rows := map[string]row{
		"Names":           {"what Kubernetes allows in a pod", set("spec/variables", fields{"A": "1", "_b": "2", "c.d-e": "3", "-f": "4", ".g": "5"}), ""},
		"Empty":           {"a value may be empty, and hold anything", set("spec/variables", fields{"A": "", "B": "ü\n\t$(C) $"}), ""},
		"None":            {"an empty map is a map", set("spec/variables", fields{}), ""},
		"Most":            {"128", set("spec/variables", manyVariables(128)), ""},
		"TooMany":         {"129", set("spec/variables", manyVariables(129)), "must have at most 128 items"},
		"LongestName":     {"256", set("spec/variables", fields{text(256): ""}), ""},
		"NameTooLong":     {"257", set("spec/variables", fields{text(257): ""}), badName},
		"NameEmpty":       {"a pod cannot have it", set("spec/variables", fields{"": "x"}), badName},
		"NameDigit":       {"a pod cannot have it", set("spec/variables", fields{"1A": "x"}), badName},
		"NameEquals":      {"it would set another variable", set("spec/variables", fields{"A=B": "x"}), badName},
		"NameSpace":       {"a pod cannot have it", set("spec/variables", fields{"A B": "x"}), badName},
		"NameNewline":     {"a pod cannot have it", set("spec/variables", fields{"A\n": "x"}), badName},
		"NameNotASCII":    {"a pod cannot have it", set("spec/variables", fields{"Ä": "x"}), badName},
		"LongestValue":    {"32 KiB", set("spec/variables", fields{"A": text(32768)}), ""},
		"ValueTooLong":    {"a byte more", set("spec/variables", fields{"A": text(32769)}), "Too long"},
		"MostTogether":    {"64 KiB", set("spec/variables", fields{"A": text(32768), "B": text(32768)}), ""},
		"TooMuchTogether": {"a byte more", set("spec/variables", fields{"A": text(32768), "B": text(32768), "C": "x"}), "at most 65536 characters"},
		"ValueIsANumber":  {"YAML makes a number of 1 without quotes", set("spec/variables", fields{"A": 1}), "spec.variables.A"},
		"ValueIsABoolean": {"and a boolean of true", set("spec/variables", fields{"A": true}), "spec.variables.A"},
		"List":            {"the form of a pod's env is another", set("spec/variables", list{fields{"name": "A", "value": "b"}}), "spec.variables"},
	}
	for name, base := range map[string]func() fields{"Environment": environment, "Trigger": trigger, "Suite": suite} {
		t.Run(name, func(t *testing.T) { submit(t, base, rows) })
	}
}

func TestEnvironmentUpdates(t *testing.T) {
	ephemeral := set("spec/ephemeral", fields{"deploymentURL": "https://pr-1.example.com", "expiresAt": expiry})
	cases := map[string]struct {
		reason string
		is     edit
		change edit
		want   string
	}{
		"Change":        {"an Environment moves", set("spec/url", "https://a.example.com"), set("spec/url", "https://b.example.com"), ""},
		"Renewed":       {"a notification moves the expiry", ephemeral, set("spec/ephemeral/expiresAt", "2027-01-01T00:00:00Z"), ""},
		"Variables":     {"so may its variables", ephemeral, set("spec/variables", fields{"A": "b"}), ""},
		"DeploymentURL": {"the name is made from it", ephemeral, set("spec/ephemeral/deploymentURL", "https://pr-2.example.com"), "deploymentURL cannot change"},
		"Becomes":       {"a static one would be deleted", edits(), ephemeral, "an Environment cannot become ephemeral, or stop being so"},
		"Stops":         {"an ephemeral one would stay", ephemeral, remove("spec/ephemeral"), "an Environment cannot become ephemeral, or stop being so"},
	}
	s := apiserver.New(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := store(t, s, object(t, environment, tc.is))
			change(t, u, tc.change)
			check(t, s.Client.Update(t.Context(), u, client.FieldValidation("Strict")), tc.want, tc.reason)
		})
	}
}
