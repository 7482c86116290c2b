package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// Trigger is a Trigger with the history of its runs.
type Trigger struct {
	Name, Namespace, Environment string

	State    State  // of its last run, unless it is not Ready
	Class    string // its TriggerClass; may be empty
	Paused   bool
	Problem  string // why it cannot match; empty if it can
	Warning  string // why it may not do what its author wants; may be empty
	Matches  []Condition
	Schedule *Schedule // nil: it has none
	Timeout  string
	Queued   int32
	Active   int32
	History  History
}

// Schedule is the schedule of a Trigger.
type Schedule struct {
	Times   string // the cron expression and its time zone
	Next    string // when the next run starts; empty: it does not run
	Problem string // when a run was not started, and why; empty: it was
}

func scheduleOf(t *v1alpha1.Trigger) *Schedule {
	if t.Spec.Schedule == nil {
		return nil
	}
	s := &Schedule{Times: t.Spec.Schedule.Cron + " " + cmp.Or(t.Spec.Schedule.TimeZone, "UTC")}
	if status := t.Status.Schedule; status != nil {
		s.Problem = status.Message
		if status.NextTime != nil {
			s.Next = status.NextTime.UTC().Format("Mon 2 Jan, 15:04 UTC")
		}
		if s.Problem != "" && status.LastTime != nil {
			s.Problem = status.LastTime.UTC().Format("Mon 2 Jan, 15:04 UTC") + ": not all runs were started. " + s.Problem
		}
	}
	return s
}

// Condition is a condition of a Trigger, in words.
type Condition struct {
	Name   string
	Values []string
}

// TriggersOf returns all Triggers, by name. The runs come newest first.
func TriggersOf(triggers []*v1alpha1.Trigger, runs []*v1alpha1.Suite, now time.Time) []Trigger {
	byTrigger := ByTrigger(runs)
	var all []Trigger
	for _, t := range triggers {
		all = append(all, TriggerOf(t, byTrigger[t.Name], now))
	}
	slices.SortFunc(all, func(a, b Trigger) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// TriggerOf returns a Trigger; runs are its own, newest first.
func TriggerOf(t *v1alpha1.Trigger, runs []*v1alpha1.Suite, now time.Time) Trigger {
	v := Trigger{
		Name: t.Name, Namespace: t.Namespace, Environment: t.Spec.Environment, Class: t.Spec.TriggerClassName, Paused: t.Spec.Paused,
		Matches: conditionsOf(t.Spec.Match), Schedule: scheduleOf(t), Timeout: Duration(t.RunTimeout()),
		Queued: t.Status.QueuedSuites, Active: t.Status.ActiveSuites, History: HistoryOf(runs, now), State: NoRun,
		Warning: v1alpha1.ReadyWarning(t.Status.Conditions),
	}
	if v.Schedule != nil && t.Spec.Schedule.Only {
		v.Matches = append([]Condition{{"notifications", []string{"none, only the schedule"}}}, v.Matches...)
	}
	if v.Problem = v1alpha1.ReadyProblem(t.Status.Conditions); v.Problem != "" {
		v.State = NotWorking
	} else if len(runs) > 0 {
		v.State = StateOf(runs[0])
	}
	return v
}

// ByTrigger returns the runs of each Trigger, in their order.
func ByTrigger(runs []*v1alpha1.Suite) map[string][]*v1alpha1.Suite {
	return groupBy(runs, func(s *v1alpha1.Suite) string { return s.Spec.Trigger.Name })
}

// ByEnvironment returns the runs of each Environment, in their order.
func ByEnvironment(runs []*v1alpha1.Suite) map[string][]*v1alpha1.Suite {
	return groupBy(runs, func(s *v1alpha1.Suite) string { return s.Spec.Environment })
}

func conditionsOf(m v1alpha1.TriggerMatch) []Condition {
	var all []Condition
	add := func(name string, values ...string) {
		if len(values) > 0 && values[0] != "" {
			all = append(all, Condition{name, values})
		}
	}
	add("branch", m.Branches...)
	add("type", m.DeploymentTypes...)
	add("repository", m.Repositories...)
	add("service", m.Services...)
	add("pull requests", strings.ToLower(string(m.PullRequest)))
	add("expression", m.Expression)
	return all
}

// LastDeployment returns the newest run that a deployment started, or nil. The others were started by a person or a schedule. The runs come
// newest first.
func LastDeployment(runs []*v1alpha1.Suite) *v1alpha1.Suite {
	i := slices.IndexFunc(runs, ledger.IsDeployment)
	if i < 0 {
		return nil
	}
	return runs[i]
}

// Tile is an Environment and a Trigger on the board.
type Tile struct {
	Row
	Since string   // how long it has been passing or failing; empty without a result
	Trail []string // the keys of the last results, oldest first
	Age   string   // of what another cluster said, if that is old
}

// trailLength is how many results a tile shows.
const trailLength = 12

// Board has a tile for each Trigger, Environment and service, those that need a look first. The runs come newest first.
func Board(triggers []*v1alpha1.Trigger, runs []*v1alpha1.Suite, now time.Time) []Tile {
	type pair struct{ trigger, environment string }
	type test struct {
		pair
		service string
	}
	byTest, known := map[test]*outcomes{}, map[pair]bool{}
	for _, s := range runs {
		t := test{pair{s.Spec.Trigger.Name, s.Spec.Environment}, s.Spec.Deployment.Service}
		r := byTest[t]
		if r == nil {
			r = &outcomes{newest: s}
			byTest[t], known[t.pair] = r, true
		}
		r.add(s)
	}
	var tiles []Tile
	ofTrigger := map[pair]bool{}
	for _, t := range triggers { // those without a run get a tile too
		p := pair{t.Name, t.Spec.Environment}
		if !known[p] || v1alpha1.ReadyProblem(t.Status.Conditions) != "" {
			tiles, ofTrigger[p] = append(tiles, tileOfTrigger(t, runs)), true
		}
	}
	for t, r := range byTest {
		if !ofTrigger[t.pair] {
			tiles = append(tiles, r.tile(now))
		}
	}
	SortTiles(tiles)
	return tiles
}

// SortTiles puts those first that need a look.
func SortTiles(tiles []Tile) {
	slices.SortFunc(tiles, func(a, b Tile) int {
		return cmp.Or(compareBool(b.State.Bad, a.State.Bad), cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.Name(), b.Name()),
			cmp.Compare(a.Cluster, b.Cluster))
	})
}

// tileOfTrigger is the tile of a Trigger whose last run, if any, does not say how it is. The runs are those of all Triggers.
func tileOfTrigger(t *v1alpha1.Trigger, runs []*v1alpha1.Suite) Tile {
	tile := Tile{Row: Row{Trigger: t.Name, Environment: t.Spec.Environment, State: NoRun}}
	var own outcomes
	for _, s := range runs {
		if s.Spec.Trigger.Name == t.Name && s.Spec.Environment == t.Spec.Environment {
			own.add(s)
		}
	}
	tile.Trail = own.trail()
	if problem := v1alpha1.ReadyProblem(t.Status.Conditions); problem != "" {
		tile.State, tile.Why = NotWorking, problem
	} else if ready := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		tile.Why = ready.Message
	}
	tile.Why = cmp.Or(tile.Why, "It runs with the next deployment that it matches.")
	return tile
}

// outcomes are what the tile of a test needs of its runs.
type outcomes struct {
	newest *v1alpha1.Suite
	keys   []string        // of the last results, newest first
	last   State           // of the last result
	since  *v1alpha1.Suite // the oldest result that is as good or bad as the last, without another in between
	broken bool            // an older result differs
}

// add takes the runs, newest first. Most are old, and only their names are looked at.
func (r *outcomes) add(s *v1alpha1.Suite) {
	if r.broken && len(r.keys) == trailLength {
		return
	}
	state := StateOf(s)
	if !state.Bad && !state.Green {
		return
	}
	if len(r.keys) < trailLength {
		r.keys = append(r.keys, state.Key)
	}
	if r.since == nil {
		r.last = state
	}
	if r.broken = r.broken || state.Bad != r.last.Bad; !r.broken {
		r.since = s
	}
}

func (r *outcomes) trail() []string {
	slices.Reverse(r.keys)
	return r.keys
}

func (r *outcomes) tile(now time.Time) Tile {
	tile := Tile{Row: RowOf(r.newest, 0, now), Trail: r.trail()}
	if r.since != nil {
		tile.Since = streak(r.last, now.Sub(r.since.Received().Time))
	}
	return tile
}

func streak(state State, passed time.Duration) string {
	word := "passing"
	if state.Bad {
		word = "failing"
	}
	return word + " for " + Span(passed)
}

func groupBy[K comparable](runs []*v1alpha1.Suite, key func(*v1alpha1.Suite) K) map[K][]*v1alpha1.Suite {
	groups := map[K][]*v1alpha1.Suite{}
	for _, s := range runs {
		groups[key(s)] = append(groups[key(s)], s)
	}
	return groups
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
