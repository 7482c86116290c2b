package v1alpha1_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
)

var team = kind("Team", fields{})

func TestTeamValidation(t *testing.T) {
	submit(t, team, map[string]row{
		"Least":                {"a Team needs nothing but a name", edits(), ""},
		"NoSpec":               {"not even a spec", remove("spec"), ""},
		"Whole":                {"every field", set("spec", fields{"namespace": "team-a", "suspended": true, "maxConcurrentSuites": 5}), ""},
		"NoLimit":              {"0 is no limit", set("spec/maxConcurrentSuites", 0), ""},
		"Bounds":               {"of what is stored", set("spec", fields{"maxSuites": 100, "maxUnfinishedSuites": 10}), ""},
		"NoBounds":             {"0 is no limit", set("spec", fields{"maxSuites": 0, "maxUnfinishedSuites": 0}), ""},
		"BoundNegative":        {"there is no such bound", set("spec/maxSuites", -1), "greater than or equal to 0"},
		"UnfinishedNegative":   {"there is no such bound", set("spec/maxUnfinishedSuites", -1), "greater than or equal to 0"},
		"LongestName":          {"63 characters make a label", set("metadata/name", strings.Repeat("a", 63)), ""},
		"NameTooLong":          {"the name becomes a label and a path", set("metadata/name", strings.Repeat("a", 64)), "the name of a Team must be a DNS label"},
		"NameWithDot":          {"the name becomes a path", set("metadata/name", "team.a"), "the name of a Team must be a DNS label"},
		"NameEndsWithDash":     {"not a label", set("metadata/name", "a-"), "a lowercase RFC 1123 subdomain"},
		"NamespaceUpper":       {"not a namespace's name", set("spec/namespace", "Team"), "spec.namespace"},
		"NamespaceDot":         {"not a namespace's name", set("spec/namespace", "a.b"), "spec.namespace"},
		"NamespaceDash":        {"not a namespace's name", set("spec/namespace", "-a"), "spec.namespace"},
		"NamespaceEmpty":       {"an empty value is not the same as none", set("spec/namespace", ""), "spec.namespace"},
		"NamespaceTooLong":     {"63 is what a namespace may have", set("spec/namespace", strings.Repeat("a", 64)), "Too long"},
		"LimitNegative":        {"there is no such limit", set("spec/maxConcurrentSuites", -1), "greater than or equal to 0"},
		"LimitBeyond32Bits":    {"clients read 32 bits", set("spec/maxConcurrentSuites", int64(1)<<31), "spec.maxConcurrentSuites"},
		"LimitNotWhole":        {"half a run is none", set("spec/maxConcurrentSuites", 1.5), "spec.maxConcurrentSuites"},
		"SuspendedAsText":      {"YAML's \"yes\" in quotes is no boolean", set("spec/suspended", "yes"), "spec.suspended"},
		"Repositories":         {"one, a whole owner, and a subgroup", set("spec/repositories", list{"github.com/acme/shop", "git.acme.example:8443/beta/*", "gitlab.com/group/sub/*"}), ""},
		"RepositoriesBare":     {"they are for GitHub", set("spec/repositories", list{"acme/shop", "beta/*", "group/sub/*"}), ""},
		"RepositoriesHost":     {"that would be those of others", set("spec/repositories", list{"gitlab.com/*"}), "names an owner or a group, too"},
		"RepositoriesName":     {"whose?", set("spec/repositories", list{"gitlab.com/shop"}), "names an owner or a group, too"},
		"RepositoriesScheme":   {"not a name", set("spec/repositories", list{"https://github.com/acme/shop"}), "an entry of repositories"},
		"RepositoriesEscaped":  {"not a name", set("spec/repositories", list{"github.com/acme/%2e%2e"}), "an entry of repositories"},
		"RepositoriesAll":      {"that would be those of others", set("spec/repositories", list{"*"}), "an entry of repositories"},
		"RepositoriesEvery":    {"that would be those of others", set("spec/repositories", list{"*/*"}), "an entry of repositories"},
		"RepositoriesPart":     {"acme-evil would match too", set("spec/repositories", list{"acme*"}), "an entry of repositories"},
		"RepositoriesOwner":    {"is it acme/*?", set("spec/repositories", list{"acme"}), "an entry of repositories"},
		"Webhooks":             {"with an address, and with one in the Secret", set("spec/webhooks", list{webhook("a", fields{"url": "https://example.com/x?y=z", "events": list{"Queued", "Passed"}}), webhook("b", nil)}), ""},
		"WebhookTwice":         {"the status is by name", set("spec/webhooks", list{webhook("a", nil), webhook("a", nil)}), "Duplicate value"},
		"WebhookNameless":      {"the status is by name", set("spec/webhooks", list{fields{"secretRef": fields{"name": "s"}}}), "name: Required"},
		"WebhookName":          {"not a label", set("spec/webhooks", list{webhook("A b", nil)}), "spec.webhooks[0].name"},
		"WebhookUnsigned":      {"events are always signed", set("spec/webhooks", list{fields{"name": "a"}}), "secretRef: Required"},
		"WebhookToFile":        {"not an address", set("spec/webhooks", list{webhook("a", fields{"url": "file:///etc/passwd"})}), "absolute https URL"},
		"WebhookToNothing":     {"not an address", set("spec/webhooks", list{webhook("a", fields{"url": "https//example.com"})}), "absolute https URL"},
		"WebhookEvents":        {"there is no such event", set("spec/webhooks", list{webhook("a", fields{"events": list{"Running"}})}), "Unsupported value"},
		"WebhookAllEvents":     {"every event has a name", set("spec/webhooks", list{webhook("a", fields{"events": allEvents()})}), ""},
		"WebhookWhen":          {"only what is new", set("spec/webhooks", list{webhook("a", fields{"when": list{"NewFailure", "Recovery"}})}), ""},
		"WebhookWhenAndEvents": {"which of them decides?", set("spec/webhooks", list{webhook("a", fields{"when": list{"Failure"}, "events": list{"Failed"}})}), "set events or when, not both"},
		"WebhookNoEvents":      {"then remove it", set("spec/webhooks", list{webhook("a", fields{"events": list{}})}), "at least 1"},
		"WebhookFormats":       {"the default by its name, and the other", set("spec/webhooks", list{webhook("a", fields{"format": "CloudEvents"}), webhook("b", fields{"format": "CDEvents"})}), ""},
		"WebhookFormat":        {"there is no such format", set("spec/webhooks", list{webhook("a", fields{"format": "cdevents"})}), "Unsupported value"},
		"WebhookFormatEmpty":   {"an empty value is not the same as none", set("spec/webhooks", list{webhook("a", fields{"format": ""})}), "Unsupported value"},
		"WebhooksTooMany":      {"9", set("spec/webhooks", manyWebhooks(9)), "Too many"},
		"Workloads":            {"a namespace, and one with names", set("spec/workloadNamespaces", list{fields{"name": "shop-prod"}, fields{"name": "argocd", "workloads": list{"shop", "shop.eu"}}}), ""},
		"WorkloadsTwice":       {"one entry has all names", set("spec/workloadNamespaces", list{fields{"name": "argocd"}, fields{"name": "argocd", "workloads": list{"shop"}}}), "Duplicate value"},
		"WorkloadsNameless":    {"whose?", set("spec/workloadNamespaces", list{fields{"workloads": list{"shop"}}}), "name: Required"},
		"WorkloadsAll":         {"patterns would allow those of others", set("spec/workloadNamespaces", list{fields{"name": "*"}}), "spec.workloadNamespaces[0].name"},
		"WorkloadsUpper":       {"not a namespace's name", set("spec/workloadNamespaces", list{fields{"name": "Shop"}}), "spec.workloadNamespaces[0].name"},
		"WorkloadsLong":        {"64", set("spec/workloadNamespaces", list{fields{"name": strings.Repeat("a", 64)}}), "Too long"},
		"WorkloadsEmpty":       {"an object has a name", set("spec/workloadNamespaces", list{fields{"name": "argocd", "workloads": list{""}}}), "spec.workloadNamespaces[0].workloads[0]"},
		"WorkloadsRepeated":    {"once is enough", set("spec/workloadNamespaces", list{fields{"name": "argocd", "workloads": list{"a", "a"}}}), "Duplicate value"},
		"WorkloadsMost":        {"64 names", set("spec/workloadNamespaces", list{fields{"name": "argocd", "workloads": many(64)}}), ""},
		"WorkloadsTooMany":     {"65 names", set("spec/workloadNamespaces", list{fields{"name": "argocd", "workloads": many(65)}}), "must have at most 64 items"},
		"WorkloadsEverywhere":  {"17 namespaces", set("spec/workloadNamespaces", manyNamespaces(17)), "must have at most 16 items"},
		"UnknownField":         {"a misspelt field is rejected", set("spec/maxConcurrentSuite", 3), `unknown field "spec.maxConcurrentSuite"`},
		"UnknownFieldOutside":  {"at the top too", set("suspended", true), `unknown field "suspended"`},
	})
}

func webhook(name string, more fields) fields {
	w := fields{"name": name, "secretRef": fields{"name": "postflight-webhook"}}
	maps.Copy(w, more)
	return w
}

func manyWebhooks(n int) (all list) {
	for i := range n {
		all = append(all, webhook(fmt.Sprint("w", i), nil))
	}
	return all
}

func manyNamespaces(n int) (all list) {
	for i := range n {
		all = append(all, fields{"name": fmt.Sprint("n", i)})
	}
	return all
}

var digest = strings.Repeat("0123456789abcdef", 4)

var apiKey = kind("APIKey", fields{"sha256": digest})

func TestAPIKeyValidation(t *testing.T) {
	submit(t, apiKey, map[string]row{
		"Least":              {"a key is its hash", edits(), ""},
		"Whole":              {"every field", set("spec", fields{"sha256": digest, "expiresAt": "2027-01-01T00:00:00Z", "suspended": true, "description": text(256)}), ""},
		"Expired":            {"a key from Git may have expired by the time it is applied", set("spec/expiresAt", "2020-01-01T00:00:00Z"), ""},
		"NameWithDot":        {"the name of a key is no label", set("metadata/name", "ci.example.com"), ""},
		"NoSpec":             {"a key without a hash is none", remove("spec"), "spec: Required"},
		"NoHash":             {"a key without a hash is none", set("spec", fields{}), "spec.sha256: Required"},
		"HashEmpty":          {"the hash of nothing is not nothing", set("spec/sha256", ""), "spec.sha256"},
		"HashUpperCase":      {"the hash is compared as text", set("spec/sha256", strings.ToUpper(digest)), "spec.sha256"},
		"HashShort":          {"63 digits", set("spec/sha256", digest[1:]), "spec.sha256"},
		"HashLong":           {"65 digits", set("spec/sha256", digest+"0"), "spec.sha256"},
		"HashNotHex":         {"g is no digit", set("spec/sha256", "g"+digest[1:]), "spec.sha256"},
		"HashNewline":        {"sha256sum prints more than the hash", set("spec/sha256", digest+"\n"), "spec.sha256"},
		"HashIsTheKey":       {"the key itself must not be stored", set("spec/sha256", "pf_secret"), "spec.sha256"},
		"ExpiresNotATime":    {"a date is no time", set("spec/expiresAt", "2027-01-01"), "spec.expiresAt"},
		"DescriptionTooLong": {"it is a line for people", set("spec/description", text(257)), "Too long"},
		"UnknownField":       {"a misspelt field is rejected", set("spec/expires", "2027-01-01T00:00:00Z"), `unknown field "spec.expires"`},
		"TheKeyAsAField":     {"the key itself must not be stored", set("spec/key", "pf_secret"), `unknown field "spec.key"`},
	})
}

// TestTeamKeepsItsNamespace: the records of the team would belong to another one.
func TestTeamKeepsItsNamespace(t *testing.T) {
	s := apiserver.New(t)
	for name, tc := range map[string]struct {
		is, change edit
		want       string
	}{
		"another":        {set("spec/namespace", "team-a"), set("spec/namespace", "team-b"), "spec.namespace cannot change"},
		"from its name":  {edits(), set("spec/namespace", "team-b"), "spec.namespace cannot change"},
		"to its name":    {set("spec/namespace", "team-a"), remove("spec/namespace"), "spec.namespace cannot change"},
		"no spec":        {set("spec/namespace", "team-a"), remove("spec"), "spec.namespace cannot change"},
		"something else": {set("spec/namespace", "team-a"), set("spec/suspended", true), ""},
		"without any":    {edits(), set("spec/suspended", true), ""},
		"without a spec": {remove("spec"), set("metadata/labels", fields{"a": "b"}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := store(t, s, object(t, team, tc.is))
			change(t, u, tc.change)
			check(t, s.Client.Update(t.Context(), u, client.FieldValidation("Strict")), tc.want, "its records stay where they are")
		})
	}
}

// allEvents are what a webhook can be sent: that a run is queued, that it starts, and each way to end.
func allEvents() (all list) {
	for _, e := range append([]string{string(v1alpha1.EventQueued), string(v1alpha1.EventStarted)}, v1alpha1.Ends()...) {
		all = append(all, e)
	}
	return all
}
