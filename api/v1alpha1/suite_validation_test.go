package v1alpha1_test

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/apiserver"
)

var suite = kind("Suite", fields{"trigger": fields{"name": "smoke"}, "environment": "staging"})

func TestSuiteValidation(t *testing.T) {
	rows := map[string]row{
		"Least":                 {"made by hand", edits(), ""},
		"Whole":                 {"made by a notification", whole, ""},
		"LongestName":           {"52: a Job and its pods are named after it", set("metadata/name", strings.Repeat("s", 52)), ""},
		"NameTooLong":           {"53", set("metadata/name", strings.Repeat("s", 53)), "the name of a Suite must be a DNS label of at most 52 characters"},
		"NameWithDot":           {"pods are named after it", set("metadata/name", "a.b"), "the name of a Suite must be a DNS label"},
		"NameUpperCase":         {"not a name", set("metadata/name", "A"), "RFC 1123"},
		"NoSpec":                {"a run of what?", remove("spec"), "spec: Required"},
		"NoTrigger":             {"a run of what?", remove("spec/trigger"), "spec.trigger: Required"},
		"TriggerNameless":       {"a run of what?", set("spec/trigger", fields{"uid": "u"}), "spec.trigger.name: Required"},
		"TriggerEmpty":          {"a run of what?", set("spec/trigger/name", ""), "spec.trigger.name"},
		"TriggerTooLong":        {"64", set("spec/trigger/name", text(64)), "Too long"},
		"TriggerUIDTooLong":     {"65", set("spec/trigger/uid", text(65)), "Too long"},
		"NoEnvironment":         {"a run where?", remove("spec/environment"), "spec.environment: Required"},
		"EnvironmentEmpty":      {"a run where?", set("spec/environment", ""), "spec.environment"},
		"EnvironmentTooLong":    {"64", set("spec/environment", text(64)), "Too long"},
		"HostingServiceUnknown": {"it is normalized before", set("spec/deployment/hostingService", "github"), "Unsupported value"},
		"PullRequestZero":       {"they count from 1", set("spec/deployment/pullRequestNumber", 0), "greater than or equal to 1"},
		"PullRequestText":       {"a number", set("spec/deployment/pullRequestNumber", "7"), "pullRequestNumber"},
		"PipelineZero":          {"they count from 1", set("spec/deployment/pipelineID", 0), "greater than or equal to 1"},
		"SupersedeKeyLongest":   {"a branch and an Environment", set("spec/supersedeKey", text(1100)), ""},
		"SupersedeKeyTooLong":   {"1,101", set("spec/supersedeKey", text(1101)), "Too long"},
		"SupersedeBranch":       {"the default", set("spec/supersede", "Branch"), ""},
		"SupersedeAll":          {"of the whole Environment", set("spec/supersede", "Environment"), ""},
		"SupersedeNone":         {"nothing", set("spec/supersede", "None"), ""},
		"SupersedeEmpty":        {"an empty value is not the same as none", set("spec/supersede", ""), "spec.supersede: Unsupported value"},
		"SupersedeElse":         {"there is no fourth", set("spec/supersede", "Trigger"), "spec.supersede: Unsupported value"},
		"AttemptZero":           {"they count from 1", set("spec/attempt", 0), "greater than or equal to 1"},
		"AttemptNegative":       {"they count from 1", set("spec/attempt", -1), "greater than or equal to 1"},
		"ReceivedAtNotATime":    {"no time", set("spec/receivedAt", "yesterday"), "spec.receivedAt"},
		"SHA":                   {"of a commit", set("spec/deployment/sha", strings.Repeat("5ca1ab1e", 5)), ""},
		"SHA256":                {"of a commit", set("spec/deployment/sha", strings.Repeat("5ca1ab1e", 8)), ""},
		"SHAUpperCase":          {"notifications are in lower case", set("spec/deployment/sha", strings.Repeat("5CA1AB1E", 5)), inLowerCase},
		"SHAMixedCase":          {"notifications are in lower case", set("spec/deployment/sha", strings.Repeat("5ca1ab1E", 8)), inLowerCase},
		"SHAShort":              {"not a full commit: any text", set("spec/deployment/sha", "5CA1AB1E"), ""},
		"SHAElse":               {"40 characters, but not of a commit", set("spec/deployment/sha", strings.Repeat("BUILD-42", 5)), ""},
		"OnlyFailed":            {"what is repeated", set("spec/onlyFailedOf", fields{"name": "smoke-1", "uid": "4b1c"}), ""},
		"OnlyFailedNameless":    {"of what?", set("spec/onlyFailedOf", fields{"uid": "4b1c"}), "spec.onlyFailedOf.name: Required"},
		"OnlyFailedOfAny":       {"a later Suite of the name is another run", set("spec/onlyFailedOf", fields{"name": "smoke-1"}), "spec.onlyFailedOf.uid: Required"},
		"OnlyFailedEmpty":       {"of what?", set("spec/onlyFailedOf", fields{"name": "", "uid": "4b1c"}), "spec.onlyFailedOf.name"},
		"OnlyFailedTooLong":     {"64", set("spec/onlyFailedOf", fields{"name": text(64), "uid": "4b1c"}), "Too long"},
		"OnlyFailedUIDTooLong":  {"65", set("spec/onlyFailedOf", fields{"name": "a", "uid": text(65)}), "Too long"},
		"CancelAtOnce":          {"a restored backup", set("spec/cancel", true), ""},
		"UnknownField":          {"a misspelt field is rejected", set("spec/canceled", true), `unknown field "spec.canceled"`},
		"UnknownDeployment":     {"a misspelt field is rejected", set("spec/deployment/ref", "main"), `unknown field "spec.deployment.ref"`},
	}
	for field, most := range map[string]int{"branch": 1024, "sha": 128, "type": 256, "url": 2048, "commitURL": 2048, "repository": 256} {
		rows[field+"/Longest"] = row{"the bound", set("spec/deployment/"+field, text(most)), ""}
		rows[field+"/TooLong"] = row{"one more", set("spec/deployment/"+field, text(most+1)), "Too long"}
	}
	submit(t, suite, rows)
}

// whole has every field of a Suite's spec, but for cancel.
var whole = edits(
	set("spec/trigger/uid", "4b1c"),
	set("spec/deployment", fields{
		"branch": "main", "sha": "5ca1ab1e", "type": "staging", "url": "https://a.example.com", "hostingService": "GitLab",
		"commitURL": "https://b.example.com", "commitMessage": "Fix login", "commitAuthor": "Ann Lee", "repository": "acme/shop", "pullRequestNumber": 7, "pipelineID": 345,
	}),
	set("spec/variables", fields{"A": "1", "B": "2"}),
	set("spec/siblings", list{"load", "visual"}),
	set("spec/supersedeKey", "main/staging"),
	set("spec/supersede", "Branch"),
	set("spec/attempt", 2),
	set("spec/onlyFailedOf", fields{"name": "smoke-1", "uid": "4b1c"}),
	set("spec/receivedAt", "2026-11-20T18:00:00.123456Z"),
)

const (
	inLowerCase  = "the full SHA of a commit must be in lower case"
	cannotChange = "the spec of a Suite cannot change, but for cancel"
	noWayBack    = "cancel cannot be taken back"
)

type update struct {
	reason string
	is     edit // the stored Suite
	change edit
	want   string
}

func TestSuiteSpecNeverChanges(t *testing.T) {
	cases := map[string]update{
		"Cancel":         {"the one thing that may change", whole, set("spec/cancel", true), ""},
		"CancelLeast":    {"also where there is little", edits(), set("spec/cancel", true), ""},
		"CancelFalse":    {"saying what holds anyway", whole, set("spec/cancel", false), ""},
		"StillCanceled":  {"others may touch the object", set("spec/cancel", true), set("metadata/labels", fields{"a": "b"}), ""},
		"CancelBack":     {"its Job is gone", set("spec/cancel", true), set("spec/cancel", false), noWayBack},
		"CancelRemoved":  {"its Job is gone", set("spec/cancel", true), remove("spec/cancel"), noWayBack},
		"CancelAndMore":  {"not under that cover", whole, edits(set("spec/cancel", true), set("spec/attempt", 3)), cannotChange},
		"Metadata":       {"labels belong to everybody", whole, set("metadata/labels", fields{"a": "b"}), ""},
		"VariableAdded":  {"it would say what did not run", whole, set("spec/variables/C", "3"), cannotChange},
		"VariableGone":   {"it would say what did not run", whole, remove("spec/variables/A"), cannotChange},
		"VariablesEmpty": {"it would say what did not run", whole, set("spec/variables", fields{}), cannotChange},
	}
	for field, other := range map[string]any{
		"trigger/name": "other", "trigger/uid": "other", "environment": "other", "variables/A": "other", "siblings": list{"load"}, "supersedeKey": "other", "supersede": "None",
		"onlyFailedOf/name": "other", "onlyFailedOf/uid": "other",
		"attempt": 3, "receivedAt": "2026-11-20T18:00:00.123457Z",
		"deployment/branch": "other", "deployment/sha": "other", "deployment/type": "other", "deployment/url": "other",
		"deployment/hostingService": "GitHub", "deployment/commitURL": "other", "deployment/repository": "a/b", "deployment/pullRequestNumber": 8,
	} {
		cases["Change/"+field] = update{"it would say what did not run", whole, set("spec/"+field, other), cannotChange}
	}
	for _, field := range []string{
		"trigger/uid", "variables", "siblings", "supersedeKey", "supersede", "attempt", "receivedAt", "deployment", "onlyFailedOf",
		"deployment/branch", "deployment/sha", "deployment/type", "deployment/url", "deployment/hostingService",
		"deployment/commitURL", "deployment/repository", "deployment/pullRequestNumber",
	} {
		cases["Remove/"+field] = update{"nothing is taken away", whole, remove("spec/" + field), cannotChange}
	}
	for field, value := range map[string]any{
		"trigger/uid": "u", "variables": fields{"A": "1"}, "siblings": list{"load"}, "supersedeKey": "k", "supersede": "None", "receivedAt": "2026-11-20T18:00:00.123456Z",
		"deployment": fields{"branch": "main"}, "deployment/sha": "abc", "onlyFailedOf": fields{"name": "smoke-1", "uid": "4b1c"},
	} {
		cases["Add/"+field] = update{"nothing is added", edits(), set("spec/"+field, value), cannotChange}
	}
	testUpdates(t, cases, func(s *apiserver.Server) client.SubResourceWriter { return nil })
}

// testUpdates stores each Suite and then changes it, or its status.
func testUpdates(t *testing.T, cases map[string]update, status func(*apiserver.Server) client.SubResourceWriter) {
	s := apiserver.New(t)
	ns := s.Namespace(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := object(t, suite, tc.is, remove("metadata/name"), set("metadata/generateName", "s-"), set("metadata/namespace", ns))
			was := maps.Clone(u.Object)
			store(t, s, u)
			w := status(s)
			if w == nil {
				change(t, u, tc.change)
				check(t, s.Client.Update(t.Context(), u, client.FieldValidation("Strict")), tc.want, tc.reason)
				return
			}
			u.Object["status"] = was["status"]
			if err := w.Update(t.Context(), u); err != nil {
				t.Fatalf("write the status to start from: %v", err)
			}
			change(t, u, tc.change)
			check(t, w.Update(t.Context(), u), tc.want, tc.reason)
		})
	}
}

func change(t *testing.T, u *unstructured.Unstructured, e edit) {
	t.Helper()
	e(u.Object)
	u.Object = asJSON(t, u.Object)
}

// succeeded is the status of a run with a Succeeded condition, among others.
func succeeded(status, reason string) edit {
	return set("status/conditions", list{condition("Reported", "False", "Later"), condition("Succeeded", status, reason)})
}

func condition(kind, status, reason string) fields {
	return fields{"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-11-20T18:00:00Z"}
}

func TestSuiteEndNeverChanges(t *testing.T) {
	const never = "a finished Suite never changes how it ended"
	queued, running := succeeded("Unknown", "Queued"), succeeded("Unknown", "Running")
	cases := map[string]update{
		"Starts":         {"on its way", queued, running, ""},
		"Waits":          {"its Job could not be created", running, queued, ""},
		"OtherCondition": {"the report comes later", succeeded("True", "Passed"), set("status/conditions", list{condition("Reported", "True", "Posted"), condition("Succeeded", "True", "Passed")}), ""},
		"OtherGone":      {"only the end is kept", succeeded("True", "Passed"), set("status/conditions", list{condition("Succeeded", "True", "Passed")}), ""},
		"OtherField":     {"the inputs may be recorded at the end", succeeded("True", "Passed"), set("status/inputs", list{fields{"path": "a.csv"}}), ""},
		"TooMany":        {"conditions are few", queued, set("status/conditions", manyConditions(17)), "must have at most 16 items"},
		"Twice":          {"one of a type", queued, set("status/conditions", list{condition("A", "True", "A"), condition("A", "True", "A")}), "Duplicate value"},
		"StatusInvented": {"True, False or Unknown", queued, succeeded("Maybe", "Passed"), "Unsupported value"},
	}
	ends := map[string]string{"Passed": "True", "Failed": "False", "TimedOut": "False", "Canceled": "False", "Superseded": "False", "Error": "False"}
	for reason, status := range ends {
		is := succeeded(status, reason)
		add := func(name, why string, change edit, want string) {
			cases[reason+"/"+name] = update{why, is, change, want}
		}
		add("Ends", "a run ends", edits(), "")
		add("Queued", "a stale writer", queued, never)
		add("Running", "a stale writer", running, never)
		add("NoConditionOfIt", "forgotten", set("status/conditions", list{condition("Reported", "False", "Later")}), never)
		add("ConditionsEmpty", "forgotten", set("status/conditions", list{}), never)
		add("NoConditions", "forgotten", remove("status/conditions"), "the conditions of a Suite cannot be taken away")
		add("NoStatus", "forgotten", remove("status"), "the conditions of a Suite cannot be taken away")
		for other, otherStatus := range ends {
			if other != reason {
				add(other, "it ended already", succeeded(otherStatus, other), never)
			}
		}
		add("OtherMessage", "the message is part of the end", set("status/conditions", list{with(condition("Succeeded", status, reason), "message", "Not so.")}), never)
		flipped := map[string]string{"True": "False", "False": "True"}[status]
		add("Flipped", "the reason alone is not the end", succeeded(flipped, reason), never)
	}
	whole := edits(succeeded("False", "Superseded"), set("status/completionTime", "2026-11-20T18:00:00Z"), set("status/supersededBy", "smoke-2"))
	counted := edits(whole, set("status/results", fields{"tests": 3, "passed": 2, "failed": 1, "skipped": 0}), set("status/artifacts", fields{"count": 1, "bytes": 9, "prefix": "acme/x/"}))
	const lasting = "the results of a finished Suite never change"
	cases["Counted/Same"] = update{"written again", counted, edits(), ""}
	cases["Counted/AtTheEnd"] = update{"one write has all", queued, counted, ""}
	cases["Counted/Archived"] = update{"a condition comes later", counted, set("status/conditions", list{condition("Archived", "True", "Saved"), condition("Succeeded", "False", "Superseded")}), ""}
	cases["Counted/OtherCount"] = update{"a stale writer", counted, set("status/results/failed", 0), lasting}
	cases["Counted/NoResults"] = update{"forgotten", counted, remove("status/results"), lasting}
	cases["Counted/NoArtifacts"] = update{"forgotten", counted, remove("status/artifacts"), lasting}
	cases["Counted/OtherPrefix"] = update{"files of something else", counted, set("status/artifacts/prefix", "other/x/"), lasting}
	cases["Counted/Later"] = update{"its pods have reported before", whole, counted, lasting}
	const decided = "a finished Suite never changes what decided its end"
	judged := edits(whole, set("status/decidedBy", "Tests"))
	cases["Judged/AtTheEnd"] = update{"one write has all", queued, judged, ""}
	cases["Judged/Same"] = update{"written again", judged, edits(), ""}
	cases["Judged/Otherwise"] = update{"a stale writer", judged, set("status/decidedBy", "ExitCode"), decided}
	cases["Judged/Forgotten"] = update{"forgotten", judged, remove("status/decidedBy"), decided}
	cases["Judged/Later"] = update{"its pods have reported before", whole, judged, decided}
	cases["Judged/Invented"] = update{"there is no such rule", queued, set("status/decidedBy", "Coverage"), "Unsupported value"}
	cases["Whole/Same"] = update{"written again", whole, edits(), ""}
	cases["Whole/LaterTime"] = update{"a stale writer", whole, set("status/completionTime", "2026-11-20T18:00:01Z"), never}
	cases["Whole/NoTime"] = update{"forgotten", whole, remove("status/completionTime"), never}
	cases["Whole/ByAnother"] = update{"a stale writer", whole, set("status/supersededBy", "smoke-3"), never}
	cases["Whole/SupersededByGone"] = update{"forgotten", whole, remove("status/supersededBy"), never}
	testUpdates(t, cases, func(s *apiserver.Server) client.SubResourceWriter { return s.Client.Status() })
}

func with(o fields, field string, value any) fields {
	o[field] = value
	return o
}

func manyConditions(n int) list {
	var all list
	for i := range n {
		all = append(all, condition("T"+strings.Repeat("t", i), "True", "R"))
	}
	return all
}
