package hub

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// Team is a team with what it has here and in clusters.
type Team struct {
	Here    view.TeamRow
	Empty   bool // it has neither Triggers nor runs here
	Answers []Answer
}

// Teams are all teams that a person may see. Without clusters, only the Rows matter.
type Teams struct {
	view.Teams
	Clusters []Cluster
	Groups   []Group // in the order of the Rows
}

// Cluster is a cluster with how it answers.
type Cluster struct {
	Name, URL string
	Key       string // of an icon
	Text      string // how many teams it has, and how fast it is, or since when it does not answer
	Why       string // it does not, as a sentence
	silent    string // completes "The cluster NAME"
}

// Group is a team with a line for each place where it has something, those that need a look first.
type Group struct {
	Name, Namespace string
	Lines           []Line
}

// Line is what a team has in a cluster.
type Line struct {
	view.TeamRow
	Cluster string // empty: here
	URL     string // of its runs there
	Age     string // if it is old
	Unknown string // why nothing is known; empty: something is
}

// TeamsOf sums up all teams, in all clusters.
func TeamsOf(teams []Team, shared []view.Fact, now time.Time) Teams {
	rows, groups := make([]view.TeamRow, 0, len(teams)), map[string]Group{}
	for _, t := range teams {
		g := Group{Name: t.Here.Name, Namespace: t.Here.Namespace}
		if !t.Empty || len(t.Answers) == 0 {
			g.Lines = append(g.Lines, Line{TeamRow: t.Here})
		}
		for _, a := range t.Answers {
			g.Lines = append(g.Lines, a.line(now))
		}
		slices.SortStableFunc(g.Lines, func(a, b Line) int { return cmp.Compare(a.rank(), b.rank()) })
		groups[g.Namespace] = g
		rows = append(rows, g.row())
	}
	all := Teams{Teams: view.TeamsOf(rows, shared, now), Clusters: clustersOf(teams, now)}
	for _, r := range all.Rows {
		all.Groups = append(all.Groups, groups[r.Namespace])
	}
	if text := silence(all.Clusters); text != "" {
		all.Sentence += " " + text
	}
	return all
}

// rank orders lines: what needs a look, what is not known, and the rest.
func (l Line) rank() int {
	switch {
	case l.Look != "":
		return 0
	case l.Unknown != "":
		return 1
	default:
		return 2
	}
}

// row sums up the lines of a team. One without clusters is its only line.
func (g Group) row() view.TeamRow {
	row := g.Lines[0].TeamRow
	row.Name, row.Namespace = g.Name, g.Namespace
	for _, l := range g.Lines[1:] {
		row.Look = cmp.Or(row.Look, l.Look)
		row.Broken, row.Failing, row.Queued = row.Broken+l.Broken, row.Failing+l.Failing, row.Queued+l.Queued
		if !l.OldestQueued.IsZero() && (row.OldestQueued.IsZero() || l.OldestQueued.Before(row.OldestQueued)) {
			row.OldestQueued = l.OldestQueued
		}
	}
	return row
}

func (a Answer) line(now time.Time) Line {
	l := Line{Cluster: a.Cluster, URL: link(a.URL, ""), Age: a.Age(now)}
	r := a.read(now)
	if r == nil {
		l.Unknown = fmt.Sprintf("Nothing is known: it %s.", a.Problem)
		return l
	}
	o := a.Overview
	l.URL = link(a.URL, o.PageURL, "runs", o.Namespace)
	l.TeamRow = view.TeamRow{Look: o.NeedsLook, Newest: r.rows(o.Newest), Queued: o.Queued, Broken: o.NotWorking, Failing: o.Failing}
	if o.LastDeployment != nil {
		l.Deployed = view.TimeOf(*o.LastDeployment, now)
	}
	if o.QueuedSince != nil && o.Queued > 0 {
		l.OldestQueued = *o.QueuedSince
	}
	return l
}

// clustersOf returns the clusters of all teams, those that do not answer first. A cluster answers if it does for one team.
func clustersOf(teams []Team, now time.Time) (all []Cluster) {
	byName := map[string][]Answer{}
	for _, t := range teams {
		for _, a := range t.Answers {
			byName[a.Cluster] = append(byName[a.Cluster], a)
		}
	}
	for _, answers := range byName {
		newest := slices.MaxFunc(answers, func(a, b Answer) int {
			return cmp.Or(cmp.Compare(len(b.Problem), len(a.Problem)), a.AnsweredAt.Compare(b.AnsweredAt))
		})
		c := Cluster{Name: newest.Cluster, URL: link(newest.URL, ""), Key: state.Green().Key}
		switch {
		case newest.Problem == "":
			c.Text = plaintext.Count(len(answers), "team") + ", " + quick(newest.Took)
		case newest.AnsweredAt.IsZero():
			c.Text, c.silent = "no answer yet", "has not answered yet."
		default:
			age := view.Span(now.Sub(newest.AnsweredAt))
			c.Text, c.silent = "no answer for "+age, "has not answered for "+age+"; what is shown of it is that old."
		}
		if newest.Problem != "" {
			c.Key, c.Why = view.NotWorking.Key, "The cluster "+c.Name+" "+newest.Problem+"."
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Cluster) int {
		return cmp.Or(min(1, len(b.silent))-min(1, len(a.silent)), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// quick writes how long an answer took.
func quick(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", max(1, d.Milliseconds()))
	}
	return view.Duration(d)
}

// silence is a sentence about the clusters that do not answer, or "".
func silence(all []Cluster) string {
	var names []string
	last := Cluster{}
	for _, c := range all {
		if c.silent != "" {
			names, last = append(names, c.Name), c
		}
	}
	const most = 5
	switch {
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return "The cluster " + last.Name + " " + last.silent
	case len(names) > most:
		return fmt.Sprintf("%d of %d clusters do not answer.", len(names), len(all))
	default:
		return fmt.Sprintf("%d clusters do not answer: %s.", len(names), strings.Join(names, ", "))
	}
}
