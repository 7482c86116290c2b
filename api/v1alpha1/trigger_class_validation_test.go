package v1alpha1_test

import (
	"strings"
	"testing"
)

var triggerClass = kind("TriggerClass", fields{"timeout": "10m"})

func TestTriggerClassValidation(t *testing.T) {
	submit(t, triggerClass, map[string]row{
		"Least":           {"nothing is required", set("spec", fields{}), ""},
		"NoSpec":          {"kubectl apply of half a file", remove("spec"), "spec: Required"},
		"NameWithDot":     {"Triggers name it by a label", set("metadata/name", "web.v2"), "the name of a TriggerClass must be a DNS label"},
		"NameTooLong":     {"Triggers name it by a label", set("metadata/name", strings.Repeat("t", 64)), "the name of a TriggerClass must be a DNS label"},
		"PartOfAJob":      {"the Trigger adds the image", set("spec/jobTemplate", fields{"spec": fields{"template": fields{"spec": fields{"containers": list{fields{"name": "test"}}}}}}), ""},
		"JobFieldUnknown": {"a misspelt field is rejected", set("spec/jobTemplate/spec/backofLimit", 1), `unknown field "spec.jobTemplate.spec.backofLimit"`},
		"Timeout":         {"a day", set("spec/timeout", "24h"), ""},
		"TimeoutLong":     {"nobody waits so long", set("spec/timeout", "169h"), "timeout must be from 1s to 168h"},
		"StartTimeout":    {"a second", set("spec/startTimeout", "999ms"), "startTimeout must be from 1s to 168h"},
		"TTL":             {"a year", set("spec/retention/ttlAfterFinished", "8761h"), "ttlAfterFinished must be from 1s to 8760h"},
		"Variables":       {"a map", set("spec/variables", fields{"A": "b"}), ""},
		"VariableName":    {"no pod takes it", set("spec/variables", fields{"A=B": "b"}), "spec.variables"},
		"AllowVariables":  {"none", set("spec/allowVariables", list{}), ""},
		"AllowNothing":    {"not a name", set("spec/allowVariables", list{"*A"}), "an entry of allowVariables is the name of a variable"},
		"Results":         {"with their defaults", set("spec/results", fields{}), ""},
		"MinTests":        {"they belong together", set("spec/results", fields{"require": "Nothing", "minTests": 3}), "minTests needs require: Tests"},
		"Match":           {"that is the Trigger's own", set("spec/match", fields{"branches": list{"main"}}), `unknown field "spec.match"`},
	})
}
