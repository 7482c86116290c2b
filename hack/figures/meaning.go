package main

import (
	"slices"
	"strings"
)

// meaning is what a comparison does with a key of a figure.
type meaning string

const (
	less    meaning = "less"    // is better
	more    meaning = "more"    // is better
	setting meaning = "setting" // it says what was measured: only figures with the same settings are compared
	omitted meaning = "omitted" // it is another thing's speed, or says neither good nor bad
	unknown meaning = "unknown"
)

// units end or begin a part of the name of a key. Less of them is better.
var units = []string{"seconds", "ms", "us", "mib", "kib", "bytes"}

// controls begin the names of what is measured beside Postflight, for ratios.
var controls = []string{"raw_", "direct_", "empty_", "short_queue_", "without_"}

// told has the keys whose names do not say what is better; "FIGURE key" precedes "key".
var told = map[string]meaning{
	"ratio": more, "ratio_with_suites": more, "p99_ratio": less, "times_raw": less, "SECOND_CACHE ratio": less,
	"slowest_over_mean": less, "worst_of_20": less, "within_half_and_twice": more,
	"posts_per_run": less, "requests_per_run": less, "get_secrets_per_run": less, "get_suites_per_run": less,
	"WORKLOADS idle_requests_per_second": less, "WORKLOADS lists": less, "store_connections": less, "goroutines": less,
	"arrival": less, "end_and_start": less, "deletion": less, "limit": less, "replay": less, "index": less,
	"ns/op": less, "B/op": less, "allocs/op": less, "MB/s": omitted,

	"archive": setting, "archived": setting, "at_once": setting, "caches": setting, "clients": setting, "clusters": setting,
	"concurrency": setting, "days": setting, "ended": setting, "entries": setting, "failures": setting, "files": setting,
	"finished": setting, "history": setting, "jobs": setting, "lease": setting, "limit_mib": setting, "load": setting,
	"logs": setting, "mib_each": setting, "mix": setting, "notifications": setting, "path": setting, "queued": setting,
	"rollouts": setting, "row": setting, "runs": setting, "shards": setting, "slots": setting, "step": setting, "suites": setting,
	"teams": setting, "tests_last": setting, "triggers": setting, "turns": setting, "values": setting, "waiting": setting,
	"watched": setting,

	"alone_runs": omitted, "arriving_runs": omitted, "fewest_jobs_of_a_team_at_half": omitted, "most": omitted, "pages": omitted,
	"ratio_p10": omitted, "ratio_p50": omitted, "ratio_p90": omitted, "repeated": omitted, "scan": omitted, "superseded": omitted,
	"unknown": omitted, "waited": omitted, "waiting_runs": omitted,
}

// meaningOf is told, or follows from the unit in the name of the key.
func meaningOf(figure, key string) meaning {
	if m, ok := told[figure+" "+key]; ok {
		return m
	}
	if m, ok := told[key]; ok {
		return m
	}
	for _, prefix := range controls {
		if strings.HasPrefix(key, prefix) {
			return omitted
		}
	}
	if strings.HasSuffix(key, "per_second") || strings.HasSuffix(key, "per_s") {
		return more
	}
	for word := range strings.SplitSeq(key, "_") {
		if slices.Contains(units, word) {
			return less
		}
	}
	return unknown
}
