package v1alpha1_test

import (
	"strings"
	"testing"
)

func TestReadyValidation(t *testing.T) {
	http := func(more fields) edit {
		all := fields{"path": "/version"}
		for name, value := range more {
			if all[name] = value; value == nil {
				delete(all, name)
			}
		}
		return set("spec/ready", fields{"http": all})
	}
	submit(t, trigger, map[string]row{
		"Least":             {"the workloads are enough", set("spec/ready", fields{}), ""},
		"Whole":             {"everything", edits(http(fields{"status": 204, "json": fields{"pointer": "/build/commit"}, "successes": 5, "interval": "5s"}), set("spec/ready/workloads", true), set("spec/ready/timeout", "15m")), ""},
		"NotForWorkloads":   {"the probe is enough", edits(http(nil), set("spec/ready/workloads", false)), ""},
		"TimeoutLeast":      {"10s", set("spec/ready/timeout", "10s"), ""},
		"TimeoutMost":       {"6h", set("spec/ready/timeout", "6h"), ""},
		"TimeoutTooShort":   {"no rollout is that fast", set("spec/ready/timeout", "9s"), "ready.timeout must be from 10s to 6h"},
		"TimeoutTooLong":    {"somebody has noticed", set("spec/ready/timeout", "6h1s"), "ready.timeout must be from 10s to 6h"},
		"TimeoutElse":       {"no duration", set("spec/ready/timeout", "a while"), "spec.ready.timeout"},
		"Nothing":           {"where?", http(fields{"path": nil}), "http has a path or a url"},
		"Both":              {"which?", http(fields{"url": "https://example.com/version"}), "http has a path or a url"},
		"URL":               {"of another server", http(fields{"path": nil, "url": "http://shop.shop.svc:8080/version?x=1"}), ""},
		"URLRelative":       {"where is it?", http(fields{"path": nil, "url": "/version"}), "url must be an absolute http or https URL"},
		"URLOfAFile":        {"nothing but HTTP", http(fields{"path": nil, "url": "file:///etc/passwd"}), "url must be an absolute http or https URL"},
		"URLTooLong":        {"2049", http(fields{"path": nil, "url": "https://example.com/" + strings.Repeat("a", 2029)}), "Too long"},
		"PathRelative":      {"it is appended", http(fields{"path": "version"}), "spec.ready.http.path"},
		"PathWithSpace":     {"it has to be escaped", http(fields{"path": "/the version"}), "spec.ready.http.path"},
		"PathWithNewline":   {"it has to be escaped", http(fields{"path": "/a\nb"}), "spec.ready.http.path"},
		"PathTooLong":       {"1025", http(fields{"path": "/" + strings.Repeat("a", 1024)}), "Too long"},
		"StatusOfProgress":  {"no final answer", http(fields{"status": 100}), "greater than or equal to 200"},
		"StatusUnknown":     {"there is none", http(fields{"status": 600}), "less than or equal to 599"},
		"StatusUnwanted":    {"some want a 401", http(fields{"status": 401}), ""},
		"JSONAndHeader":     {"which?", http(fields{"json": fields{"pointer": "/commit"}, "header": "X-Version"}), "http has json or header, not both"},
		"JSONNowhere":       {"where is it?", http(fields{"json": fields{}}), "spec.ready.http.json.pointer: Required"},
		"PointerOfAList":    {"the second", http(fields{"json": fields{"pointer": "/services/1/commit"}}), ""},
		"PointerEscaped":    {"names may have slashes", http(fields{"json": fields{"pointer": "/a~1b/c~0d"}}), ""},
		"PointerEscapedBad": {"there is no ~2", http(fields{"json": fields{"pointer": "/a~2b"}}), "spec.ready.http.json.pointer"},
		"PointerOfJQ":       {"another language", http(fields{"json": fields{"pointer": ".commit"}}), "spec.ready.http.json.pointer"},
		"PointerEmpty":      {"the document is no commit", http(fields{"json": fields{"pointer": ""}}), "spec.ready.http.json.pointer"},
		"PointerTooLong":    {"257", http(fields{"json": fields{"pointer": "/" + strings.Repeat("a", 256)}}), "Too long"},
		"Header":            {"of the server", http(fields{"header": "X-Version"}), ""},
		"HeaderWithColon":   {"a name only", http(fields{"header": "X-Version:"}), "spec.ready.http.header"},
		"SuccessesMost":     {"100", http(fields{"successes": 100}), ""},
		"SuccessesTooMany":  {"101", http(fields{"successes": 101}), "less than or equal to 100"},
		"SuccessesNone":     {"nothing would be asked", http(fields{"successes": 0}), "greater than or equal to 1"},
		"IntervalTooShort":  {"a flood", http(fields{"interval": "999ms"}), "ready.http.interval must be from 1s to 1m"},
		"IntervalTooLong":   {"too seldom", http(fields{"interval": "61s"}), "ready.http.interval must be from 1s to 1m"},
		"UnknownField":      {"a misspelt field is rejected", http(fields{"retries": 3}), `unknown field "spec.ready.http.retries"`},
	})
}
