package v1alpha1_test

import "testing"

func TestScheduleValidation(t *testing.T) {
	const five, often, zone, jitter = "cron has five fields", "the times of cron must be at least 5 minutes apart", "timeZone is a name of the IANA time zone database", "jitter must be from 0s to 1h"
	cron := func(text any) edit { return set("spec/schedule", fields{"cron": text}) }
	with := func(field string, value any) edit {
		return set("spec/schedule", fields{"cron": "0 3 * * *", field: value})
	}
	submit(t, trigger, map[string]row{
		"Nightly":          {"the usual one", cron("0 3 * * *"), ""},
		"WorkingHours":     {"lists, ranges, steps and names", cron("*/30 8-18 1,15 jan-mar Mon-Fri"), ""},
		"Spaces":           {"they do no harm", cron(" 0  3 * * * "), ""},
		"EveryFiveMinutes": {"the most", cron("*/5 * * * *"), ""},
		"NoCron":           {"when?", set("spec/schedule", fields{"timeZone": "UTC"}), "spec.schedule.cron: Required"},
		"Empty":            {"when?", cron(""), five},
		"FourFields":       {"the day of the week is missing", cron("0 3 * *"), five},
		"SixFields":        {"there are no seconds", cron("0 0 3 * * *"), five},
		"Descriptor":       {"it is no cron expression", cron("@daily"), five},
		"ZoneInside":       {"there is a field for it", cron("TZ=UTC 0 3 * * *"), "the time zone belongs into timeZone"},
		"CronZoneInside":   {"there is a field for it", cron("CRON_TZ=UTC 0 3 * * *"), "the time zone belongs into timeZone"},
		"LineEnd":          {"it is one line", cron("0 3 *\n* *"), five},
		"EveryMinute":      {"runs take longer", cron("* * * * *"), often},
		"EveryFourMinutes": {"runs take longer", cron("*/4 3 * * *"), often},
		"QuestionMark":     {"it is another star", cron("? 3 * * *"), often},
		"Minute60":         {"the Ready condition reports it, which asks a parser", cron("60 3 * * *"), ""},
		"TooLong":          {"129", cron("0 3 * * " + text(121)), "Too long"},
		"Zone":             {"of a city", with("timeZone", "Europe/Berlin"), ""},
		"ZoneDeep":         {"of a city in a state", with("timeZone", "America/Argentina/Buenos_Aires"), ""},
		"ZoneFixed":        {"of an offset", with("timeZone", "Etc/GMT+5"), ""},
		"ZoneUTC":          {"the default", with("timeZone", "UTC"), ""},
		"ZoneUnknown":      {"the Ready condition reports it, because zones change", with("timeZone", "Europe/Bielefeld"), ""},
		"ZoneLocal":        {"that of which machine?", with("timeZone", "Local"), zone},
		"ZoneEmpty":        {"an empty value is not the same as none", with("timeZone", ""), "spec.schedule.timeZone"},
		"ZoneUp":           {"zones may be files", with("timeZone", "../etc/passwd"), zone},
		"ZoneSpace":        {"no zone has one", with("timeZone", "Europe/New Berlin"), zone},
		"ZoneOffset":       {"no zone is called so", with("timeZone", "+01:00"), zone},
		"Jitter":           {"spreads Triggers", with("jitter", "10m"), ""},
		"JitterNone":       {"the default", with("jitter", "0s"), ""},
		"JitterLongest":    {"the bound itself", with("jitter", "1h"), ""},
		"JitterTooLong":    {"a bit more", with("jitter", "1h1s"), jitter},
		"JitterNegative":   {"not before the time", with("jitter", "-1m"), "should match"},
		"Only":             {"no notification starts it", with("only", true), ""},
		"UnknownField":     {"a misspelt field is rejected", with("timezone", "UTC"), `unknown field "spec.schedule.timezone"`},
	})
	submit(t, kind("TriggerClass", fields{}), map[string]row{
		"OfAClass": {"a class says how tests run, not when", cron("0 3 * * *"), `unknown field "spec.schedule"`},
	})
}
