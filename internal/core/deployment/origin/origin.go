// Package origin has one row for each origin of a run: who asked for it, and what follows from that.
package origin

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Row holds what is known of an origin.
type Row struct {
	Origin     v1alpha1.Origin
	StartedBy  string // a noun, for pages and the command line; {at} is the time of the schedule, {by} the person
	Deployment bool   // something was deployed; else the run tests once more what was deployed before
	Later      bool   // the run is another attempt at an earlier one, and counts with it
	CDEvent    string // the type of the trigger of a testSuiteRun
	Way        string // in which the notification came, in records; empty: there is none
	Describes  Scope  // of the deployment
}

// Scope is what a notification says of URLs, variables and files, for the comparison with an earlier run of the same commit.
type Scope int

// The scopes.
const (
	Nothing Scope = iota
	Some          // what is left out may be as before
	Everything
)

// The ways of notifications.
const (
	WayAPI      = "api"      // a client sent it, usually CI
	WayEvent    = "event"    // an event of a code host or a GitOps tool
	WayWorkload = "workload" // a rollout of what an Environment names
)

// CDEvents knows a schedule, and calls all else an event: a notification may come from a pipeline, a person or a rollout.
var rows = []Row{
	{v1alpha1.OriginNotification, "a notification", true, false, "event", WayAPI, Everything},
	{v1alpha1.OriginRollout, "a rollout of the workloads", true, false, "event", WayWorkload, Nothing},
	{v1alpha1.OriginEvent, "an event of a code host or a GitOps controller", true, false, "event", WayEvent, Some},
	{v1alpha1.OriginSchedule, "the schedule of the Trigger, for {at}", false, false, "schedule", "", Nothing},
	{v1alpha1.OriginRerun, "a rerun, requested by {by}", false, true, "event", "", Everything},
	{v1alpha1.OriginRetry, "Postflight, as a retry after an error", false, true, "event", "", Everything},
	{v1alpha1.OriginRepetition, "Postflight, because what was tested changed", false, true, "event", "", Everything},
	{v1alpha1.OriginManual, "a person or a tool that created the Suite", true, false, "event", "", Everything},
}

// Of returns the row of an origin, also of one that only a later version knows.
func Of(o v1alpha1.Origin) Row {
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Origin == o }); i >= 0 {
		return rows[i]
	}
	return Row{o, string(o), true, false, "event", "", Everything}
}

// StartedBy says who asked for a run, as a noun. Of a schedule, at is the time; of a rerun, by is the person, if that is known.
func StartedBy(o v1alpha1.Origin, at time.Time, by string) string {
	return strings.NewReplacer("{at}", at.UTC().Format(time.RFC3339), "{by}", cmp.Or(by, "a person")).Replace(Of(o).StartedBy)
}
