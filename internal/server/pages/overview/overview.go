package overview

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
)

// HomePage introduces Postflight.
func (u *Pages) HomePage(*site.Request) (*site.Page, error) {
	return &site.Page{Template: "home", Title: "Postflight", Section: "home",
		Description: "Runs your tests against every deployment, and answers your pipeline."}, nil
}

// ReferencePage describes the HTTP API.
func (u *Pages) ReferencePage(*site.Request) (*site.Page, error) {
	return &site.Page{Template: "reference", Title: "The HTTP API", Section: "docs", Data: u.Reference}, nil
}

// leaseTimeout is for the only request of a page to the API server.
const leaseTimeout = 2 * time.Second

// TeamsPage has only the teams that its reader may see.
func (u *Pages) TeamsPage(r *site.Request) (*site.Page, error) {
	if !r.SignedIn {
		return nil, site.ErrSignIn
	}
	now, teams, waiting := u.Clock.Now(), []hub.Team(nil), 0
	keys := &v1alpha1.APIKeyList{}
	for _, t := range r.Access.Teams {
		namespace := t.Team.NamespaceName()
		triggers, err := u.triggersIn(r.Context(), namespace)
		if err != nil {
			return nil, err
		}
		own := &v1alpha1.APIKeyList{}
		if err := u.Cache.List(r.Context(), own, client.UnsafeDisableDeepCopy, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		keys.Items = append(keys.Items, own.Items...)
		elsewhere, err := index.Elsewhere(r.Context(), u.Cache, namespace)
		if err != nil {
			return nil, err
		}
		triggers, runs := hub.Here(triggers, u.Runs.Newest(namespace), elsewhere)
		row := view.TeamOf(t.Team.Name, namespace, triggers, runs, now)
		teams, waiting = append(teams, hub.Team{Here: row, Empty: len(triggers)+len(runs) == 0}), waiting+row.Waiting
	}
	if err := u.askClusters(r, teams); err != nil {
		return nil, err
	}
	shared := append(u.sharedFacts(r.Context(), waiting), view.KeysOf(keys.Items, now))
	return &site.Page{Template: "teams", Title: "All teams", Section: "teams", Data: hub.TeamsOf(teams, shared, u.Clock.Now())}, nil
}

// sharedFacts returns facts about the leader and the store, if there are these.
func (u *Pages) sharedFacts(ctx context.Context, waiting int) (facts []view.Fact) {
	if u.Lease != nil {
		ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
		defer cancel()
		lease, err := u.Lease(ctx)
		facts = append(facts, view.LeaderOf(lease, err, u.Clock.Now()))
	}
	if u.StoreProblem != nil {
		facts = append(facts, view.StoreOf(u.StoreProblem(), waiting))
	}
	return facts
}

type triggersData struct {
	Triggers []view.Trigger
	Steps    view.Steps
	Places   []hub.Place
}

// TriggersPage lists the Triggers of a team.
func (u *Pages) TriggersPage(r *site.Request) (*site.Page, error) {
	triggers, err := u.triggers(r)
	if err != nil {
		return nil, err
	}
	environments, err := u.environments(r)
	if err != nil {
		return nil, err
	}
	runs := u.Runs.Newest(r.Namespace())
	d := &triggersData{
		Triggers: view.TriggersOf(triggers, runs, u.Clock.Now()),
		Steps:    view.StepsOf(len(environments) > 0, len(triggers) > 0, len(runs) > 0),
		Places:   u.places(r, environments, "triggers", ""),
	}
	return &site.Page{Template: "triggers", Title: "Triggers", Section: "triggers", Live: true, Data: d}, nil
}

type triggerData struct {
	view.Trigger
	Rows        []view.Row
	Form        view.NotificationForm
	Explanation *match.Explanation
	FormProblem string // why the form cannot be read
}

const triggerRows = 10

// TriggerPage shows a Trigger with its newest runs.
func (u *Pages) TriggerPage(r *site.Request) (*site.Page, error) {
	triggers, err := u.triggers(r)
	if err != nil {
		return nil, err
	}
	for _, t := range triggers {
		if t.Name != r.PathValue("id") {
			continue
		}
		runs := view.RunsOfTrigger(u.Runs.Newest(r.Namespace()), t.Name)
		d := &triggerData{Trigger: view.TriggerOf(t, runs, u.Clock.Now())}
		for _, s := range runs[:min(len(runs), triggerRows)] {
			d.Rows = append(d.Rows, view.RowOf(s, d.History.Typical, u.Clock.Now()))
		}
		if err := u.explain(r, d); err != nil {
			return nil, err
		}
		return &site.Page{Template: "trigger", Title: t.Name, Section: "triggers", Live: d.Explanation == nil, Data: d}, nil
	}
	return nil, site.NotFound()
}

// explain answers the query of the page. It takes capacity from the team's notifications, so visitors may not ask.
func (u *Pages) explain(r *site.Request, d *triggerData) error {
	query := r.URL.Query()
	if !query.Has("explain") {
		return nil
	}
	d.Form = view.FormOf(query)
	if !r.SignedIn {
		d.FormProblem = "Sign in to find out."
		return nil
	}
	n, err := d.Form.Notification()
	if err != nil {
		d.FormProblem = err.Error()
		return nil
	}
	explanations, err := u.Explain(r.Context(), r.Team, n)
	if err != nil {
		return err
	}
	for e := range explanations {
		if e.Trigger.Name == d.Name {
			d.Explanation = &e
			break
		}
	}
	return nil
}

type environmentsData struct {
	Environments []environment.Summary
	Notices      []string // about clusters
}

// EnvironmentsPage lists the Environments of a team.
func (u *Pages) EnvironmentsPage(r *site.Request) (*site.Page, error) {
	environments, err := u.environments(r)
	if err != nil {
		return nil, err
	}
	answers, omitted := u.clustersOf(r.Context(), r.Team, environments)
	now := u.Clock.Now()
	d := &environmentsData{hub.Environments(environments, u.Runs.Newest(r.Namespace()), answers, now), hub.Notices(answers, omitted, now)}
	return &site.Page{Template: "environments", Title: "Environments", Section: "environments", Live: true, Data: d}, nil
}

// EnvironmentPage shows what was deployed to an Environment on a day.
func (u *Pages) EnvironmentPage(r *site.Request) (*site.Page, error) {
	environments, err := u.environments(r)
	if err != nil {
		return nil, err
	}
	now := u.Clock.Now()
	for _, e := range environments {
		if e.Name == r.PathValue("id") {
			if e.Spec.Cluster != "" {
				return u.elsewherePage(r, e, environments), nil
			}
			day := environment.ParseDay(r.URL.Query().Get("day"), now)
			runs := u.Runs.Newest(r.Namespace())
			ask := func(c commit.Commit) (verdict.Verdict, error) {
				return u.Verdicts.Verdict(r.Context(), verdicts.Query{Namespace: e.Namespace, Environment: e.Name, Commit: c})
			}
			d, err := environment.PageOf(workloads.WithCurrent(e, runs), runs, u.archived(r, e, day, now), ask, day, now)
			if err != nil {
				return nil, err
			}
			return &site.Page{Template: "environment", Title: e.Name, Section: "environments", Description: d.Lead.Text,
				Live: d.Day.Today || u.Deployments == nil, Data: &d}, nil
		}
	}
	return nil, site.NotFound()
}

// archived asks only for a day that is over: the page of today is live, and its deployments are in the cluster. Without an answer, the page
// has what the cluster knows.
func (u *Pages) archived(r *site.Request, e *v1alpha1.Environment, day, now time.Time) []httpapi.Deployment {
	end := day.AddDate(0, 0, 1)
	if u.Deployments == nil || end.After(now) {
		return nil
	}
	if !u.Archive.TryAcquire(r.Namespace()) { // as many pages read from the archive as this team may
		return nil
	}
	defer u.Archive.Release(r.Namespace())
	all, err := u.Deployments(r.Context(), r.Team, e.Name, record.Span{After: day, Before: end})
	if err != nil {
		u.Log.Info("the page of a day lacks what the archive has", "namespace", e.Namespace, "environment", e.Name, "reason", err.Error())
	}
	return all
}

type boardData struct {
	Tiles   []view.Tile
	Notices []string    // about clusters
	Places  []hub.Place // without tiles
}

// BoardPage is for a screen on the wall.
func (u *Pages) BoardPage(r *site.Request) (*site.Page, error) {
	triggers, err := u.triggers(r)
	if err != nil {
		return nil, err
	}
	environments, err := u.environments(r)
	if err != nil {
		return nil, err
	}
	answers, omitted := u.clustersOf(r.Context(), r.Team, environments)
	now := u.Clock.Now()
	triggers, runs := hub.Here(triggers, u.Runs.Newest(r.Namespace()), environments)
	d := &boardData{Tiles: hub.Board(view.Board(triggers, runs, now), answers, now), Notices: hub.Notices(answers, omitted, now)}
	if len(d.Tiles) == 0 {
		d.Places = hub.Places(environments, answers, "triggers", "")
	}
	return &site.Page{Template: "board", Title: "Board", Section: "board", Live: true, Wide: true, Data: d}, nil
}
