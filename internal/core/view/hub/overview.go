// Package hub sums up what a team has for a hub, and decides what the pages of the hub show of its clusters.
package hub

import (
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
)

// Subject is a team with what it has in its namespace. The runs come newest first.
type Subject struct {
	Team         *v1alpha1.Team
	Triggers     []*v1alpha1.Trigger
	Environments []*v1alpha1.Environment
	Runs         []*v1alpha1.Suite
	PublicURL    string // of the pages; empty: links are paths
}

// Known leaves out what does not exist for a sender.
func (s Subject) Known(g grant.Grant) Subject { return s.selected(g.Knows, g.KnowsRun) }

// selected leaves what is of the Environments with these bases.
func (s Subject) selected(base func(name string) bool, run func(environment, deploymentURL string) bool) Subject {
	s.Triggers = selected(s.Triggers, func(t *v1alpha1.Trigger) bool { return base(t.Spec.Environment) })
	s.Environments = selected(s.Environments, func(e *v1alpha1.Environment) bool { return base(suite.BaseOf(e)) })
	known := map[[2]string]bool{} // a team has many runs of few Environments, and each question takes hashes
	s.Runs = selected(s.Runs, func(r *v1alpha1.Suite) bool {
		place := [2]string{r.Spec.Environment, r.Spec.Deployment.URL}
		answer, asked := known[place]
		if !asked {
			answer = run(place[0], place[1])
			known[place] = answer
		}
		return answer
	})
	return s
}

func selected[T any](all []T, known func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !known(one) })
}

// OverviewOf answers with what the pages of a team show.
func OverviewOf(s Subject, now time.Time) httpapi.Overview {
	namespace := s.Team.NamespaceName()
	row := view.TeamOf(s.Team.Name, namespace, s.Triggers, s.Runs, now)
	b := &builder{Subject: s, now: now, byID: map[string]*v1alpha1.Suite{}, named: map[string]bool{}}
	for _, r := range s.Runs {
		b.byID[r.Name] = r
	}
	b.out = httpapi.Overview{
		Team: s.Team.Name, Namespace: namespace, At: now.UTC(), PageURL: b.page("/runs/" + namespace),
		NeedsLook: row.Look, NotWorking: row.Broken, Failing: row.Failing, Queued: row.Queued,
		Newest: []string{}, Board: []httpapi.BoardTile{}, Environments: []httpapi.OverviewEnvironment{}, Runs: []httpapi.Run{},
	}
	if row.Queued > 0 {
		b.out.QueuedSince = new(row.OldestQueued.UTC())
	}
	if row.Deployed != nil {
		b.out.LastDeployment = new(row.Deployed.At.UTC())
	}
	b.addBoard(view.Board(s.Triggers, s.Runs, now))
	for _, r := range row.Newest {
		b.out.Newest = append(b.out.Newest, r.ID)
	}
	b.addEnvironments()
	b.addRuns()
	return Bounded(b.out)
}

type builder struct {
	Subject
	now   time.Time
	byID  map[string]*v1alpha1.Suite
	out   httpapi.Overview
	named map[string]bool // runs that are in the answer
}

func (b *builder) page(path string) string { return publicurl.Join(b.PublicURL, path) }

func (b *builder) addBoard(tiles []view.Tile) {
	for _, t := range tiles {
		tile := httpapi.BoardTile{
			Trigger: t.Trigger, Environment: t.Environment, Service: t.Service, Run: t.ID, NotWorking: t.ID == "" && t.State.Bad,
			Streak: t.Since, Trail: t.Trail, URL: b.page("/triggers/" + b.Team.NamespaceName() + "/" + t.Trigger),
		}
		if t.ID == "" {
			tile.Message = t.Why
		}
		b.out.Board = append(b.out.Board, tile)
	}
}

func (b *builder) addEnvironments() {
	byName := map[string]*v1alpha1.Environment{}
	for _, e := range b.Environments {
		byName[e.Name] = e
	}
	runs := view.ByEnvironment(b.Runs)
	for _, summary := range environment.SummariesOf(b.Environments, b.Runs, b.now) {
		e := byName[summary.Name]
		shown := record.EnvironmentOf(b.Team.Name, e, b.now)
		shown.Settling = queue.SettlingOf(e, queue.BurstOf(e, runs[e.Name]), b.now)
		shown.PageURL = b.page("/environments/" + e.Namespace + "/" + e.Name)
		v := httpapi.OverviewEnvironment{Environment: shown, Runs: []string{}}
		if summary.Latest != nil && len(summary.Deployed) == 0 {
			v.LastDeployment = summary.Latest.ID
		}
		for _, r := range summary.Runs {
			v.Runs = append(v.Runs, r.ID)
		}
		b.out.Environments = append(b.out.Environments, v)
	}
}

// addRuns adds each run that the lists name, once.
func (b *builder) addRuns() {
	for _, id := range names(b.out) {
		if s := b.byID[id]; s != nil && !b.named[id] {
			b.named[id] = true
			r := record.RunOf(b.Team.Name, s)
			r.URL = b.page("/runs/" + r.Namespace + "/" + r.ID)
			b.out.Runs = append(b.out.Runs, r)
		}
	}
}

// names returns the ids of the runs that lists name, those first that matter most if there are too many.
func names(o httpapi.Overview) (all []string) {
	for _, t := range o.Board {
		all = append(all, t.Run)
	}
	all = append(all, o.Newest...)
	for _, e := range o.Environments {
		all = append(append(all, e.LastDeployment), e.Runs...)
	}
	return all
}
