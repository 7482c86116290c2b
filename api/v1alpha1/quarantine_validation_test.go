package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"
)

var quarantine = kind("Quarantine", fields{
	"triggers": list{"e2e"}, "tests": list{"cart.spec.ts > keeps items"}, "reason": "issue 812", "owner": "team-checkout",
	"since": "2026-11-26", "until": "2026-12-15",
})

func TestQuarantineValidation(t *testing.T) {
	var many list
	for i := range 51 {
		many = append(many, fmt.Sprintf("test %d", i))
	}
	const copied = "copy it from postflight runs results"
	submit(t, quarantine, map[string]row{
		"Good":              {"as in the sample", set("spec/environments", list{"staging"}), ""},
		"NameWithDot":       {"runs name it", set("metadata/name", "flaky.cart"), "the name of a Quarantine must be a DNS label"},
		"NoTrigger":         {"all Triggers are said explicitly", remove("spec/triggers"), "spec.triggers: Required"},
		"EmptyTriggers":     {"all Triggers are said explicitly", set("spec/triggers", list{}), "spec.triggers"},
		"AllTriggers":       {"explicit", set("spec/triggers", list{"*"}), ""},
		"AllAndOne":         {"one of them is wrong", set("spec/triggers", list{"*", "e2e"}), "triggers must be names of Triggers, or '*' alone"},
		"TriggerPattern":    {"it would match Triggers to come", set("spec/triggers", list{"e2e-*"}), "triggers must be names of Triggers"},
		"Environment":       {"no name", set("spec/environments", list{"Staging"}), "spec.environments"},
		"NoTests":           {"it would do nothing", remove("spec/tests"), "spec.tests: Required"},
		"EmptyTest":         {"no test has no name", set("spec/tests", list{""}), "spec.tests"},
		"ManyTests":         {"50 are enough", set("spec/tests", many[:50]), ""},
		"TooManyTests":      {"repair some", set("spec/tests", many), "spec.tests: Too many"},
		"LongName":          {"shown names have at most 512 bytes", set("spec/tests", list{strings.Repeat("x", 10<<10)}), "Too long"},
		"ControlCharacter":  {"no shown name has one", set("spec/tests", list{"cart\x1b[31m"}), copied},
		"LineBreak":         {"no shown name has one", set("spec/tests", list{"cart\nlogin"}), copied},
		"BidirectionalMark": {"it would show another name than it is", set("spec/tests", list{"cart \u202etrac"}), copied},
		"ZeroWidthSpace":    {"nobody sees it", set("spec/tests", list{"cart\u200b"}), copied},
		"Spaces":            {"no shown name begins with one", set("spec/tests", list{" cart"}), copied},
		"OtherScript":       {"tests are named in all languages", set("spec/tests", list{"购物车 > 保留 🛒"}), ""},
		"ShortName":         {"exact", set("spec/tests", list{"a"}), ""},
		"Everything":        {"a Quarantine of all tests", set("spec/tests", list{"*"}), "a pattern needs three characters in a row"},
		"EverythingElse":    {"a Quarantine of all tests", set("spec/tests", list{"* > *"}), "a pattern needs three characters in a row"},
		"AlmostEverything":  {"a Quarantine of most tests", set("spec/tests", list{"*a*e*"}), "a pattern needs three characters in a row"},
		"Pattern":           {"a file", set("spec/tests", list{"cart.spec.ts > *"}), ""},
		"Stars":             {"eight", set("spec/tests", list{"abc" + strings.Repeat("*x", 8)}), ""},
		"TooManyStars":      {"each takes time", set("spec/tests", list{"abc" + strings.Repeat("*x", 9)}), "at most eight '*'"},
		"NoReason":          {"somebody asks in a month", remove("spec/reason"), "spec.reason: Required"},
		"BlankReason":       {"it says nothing", set("spec/reason", " "), "reason must be one line of visible text"},
		"LongReason":        {"a link is enough", set("spec/reason", strings.Repeat("x", 513)), "spec.reason"},
		"ReasonOfTwoLines":  {"lists have one", set("spec/reason", "a\nb"), "reason must be one line of visible text"},
		"NoOwner":           {"somebody repairs it", remove("spec/owner"), "spec.owner: Required"},
		"MarkInOwner":       {"it would show another name than it is", set("spec/owner", "\u202etimda"), "owner must be one line"},
		"NoUntil":           {"it would never end", remove("spec/until"), "spec.until: Required"},
		"NoSince":           {"nobody knows how long it is", remove("spec/since"), "spec.since: Required"},
		"NinetyDays":        {"the longest", set("spec/until", "2027-02-24"), ""},
		"NinetyOneDays":     {"renew it instead", set("spec/until", "2027-02-25"), "until must be at most 90 days after since; to renew"},
		"Reversed":          {"it would never begin", set("spec/until", "2026-11-26"), "until must be later than since"},
		"NoDay":             {"February has 28 or 29", set("spec/until", "2027-02-30"), "spec.until"},
		"ATime":             {"days are days in UTC", set("spec/until", "2026-12-15T00:00:00Z"), "spec.until"},
		"Misspelt":          {"it would not do what it says", set("spec/test", "a"), `unknown field "spec.test"`},
	})
}
