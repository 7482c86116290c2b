# Whether the verdicts of an image are good enough, by the rule of `postflight verify`: of each Trigger, the last run to end decides, so an
# old PASSED does not hide a newer FAILED. It checks no signature: give it only Statements that cosign, or Conforma, has verified.
#
# input: {"digest": "sha256 of the image, in hex", "statements": [...]}
# data.rule: {"team": "shop", "environment": "staging", "triggers": ["e2e"], "max_age": "24h"}
#
#   opa eval -d verdict.rego -d rule.json -i input.json --fail-defined 'data.postflight.deny[_]'
package postflight

import rego.v1

default allow := false

allow if count(deny) == 0

statement_type := "https://in-toto.io/Statement/v1"

predicate_type := "https://in-toto.io/attestation/test-result/v0.1"

# Verdicts about the image in the Environment of the rule, each with the Details of its run. What is malformed is none. One key signs for
# all teams, and others may have Environments and Triggers of the same names.
verdicts contains {"result": statement.predicate.result, "url": object.get(statement.predicate, "url", ""), "run": run} if {
	some statement in input.statements
	statement._type == statement_type
	statement.predicateType == predicate_type
	some subject in statement.subject
	subject.digest.sha256 == input.digest
	some descriptor in statement.predicate.configuration
	run := descriptor.annotations.postflight
	run.team == data.rule.team
	run.environment == data.rule.environment
}

ended(verdict) := time.parse_rfc3339_ns(verdict.run.endedAt)

# The last run to end is the newest. If two ended in one second, both must be good.
newest(trigger) := {verdict |
	some verdict in verdicts
	verdict.run.trigger == trigger
	ended(verdict) == max({ended(other) | some other in verdicts; other.run.trigger == trigger})
}

deny contains "The rule names no team, no Trigger, no Environment or no age." if not complete

complete if {
	count(data.rule.triggers) > 0
	data.rule.team != ""
	data.rule.environment != ""
	time.parse_duration_ns(data.rule.max_age) > 0
}

deny contains message if {
	some trigger in data.rule.triggers
	count(newest(trigger)) == 0
	message := sprintf("There is no verdict of the Trigger %s in %s about this image.", [trigger, data.rule.environment])
}

deny contains message if {
	some trigger in data.rule.triggers
	some verdict in newest(trigger)
	verdict.result != "PASSED"
	message := sprintf("The newest run of the Trigger %s is %s: %s", [trigger, verdict.result, verdict.url])
}

deny contains message if {
	some trigger in data.rule.triggers
	some verdict in newest(trigger)
	age := time.now_ns() - time.parse_rfc3339_ns(verdict.run.endedAt)
	age > time.parse_duration_ns(data.rule.max_age)
	message := sprintf("The run of the Trigger %s ended more than %s ago: %s", [trigger, data.rule.max_age, verdict.url])
}
