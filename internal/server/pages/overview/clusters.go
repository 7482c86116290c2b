package overview

import (
	"context"
	"sync"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
)

// clustersOf returns what other clusters say about a team, and how many clusters are left out.
func (u *Pages) clustersOf(
	ctx context.Context, team *v1alpha1.Team, environments []*v1alpha1.Environment,
) (answers []hub.Answer, omitted int) {
	if u.Clusters == nil {
		return nil, 0
	}
	return u.Clusters.Of(ctx, team, environments)
}

// places returns where a page here lacks something of a team: see hub.Places.
func (u *Pages) places(r *site.Request, environments []*v1alpha1.Environment, kind, chosen string) []hub.Place {
	answers, _ := u.clustersOf(r.Context(), r.Team, environments)
	return hub.Places(environments, answers, kind, chosen)
}

// askClusters asks for all teams of the reader at once, because each may have to wait a moment.
func (u *Pages) askClusters(r *site.Request, teams []hub.Team) error {
	if u.Clusters == nil {
		return nil
	}
	var asking sync.WaitGroup
	defer asking.Wait()
	for i := range teams {
		elsewhere, err := index.Elsewhere(r.Context(), u.Cache, teams[i].Here.Namespace)
		if err != nil {
			return err
		}
		if len(elsewhere) > 0 {
			asking.Go(func() { teams[i].Answers, _ = u.clustersOf(r.Context(), r.Access.Teams[i].Team, elsewhere) })
		}
	}
	return nil
}

type elsewhereData struct {
	environment.Summary
	Notices []string
}

// elsewherePage leads to the cluster that has an Environment of the team.
func (u *Pages) elsewherePage(r *site.Request, e *v1alpha1.Environment, all []*v1alpha1.Environment) *site.Page {
	d := &elsewhereData{Summary: environment.Summary{Name: e.Name, Namespace: e.Namespace, Cluster: e.Spec.Cluster,
		Unknown: "This Postflight asks no other clusters."}}
	answers, _ := u.clustersOf(r.Context(), r.Team, all) // about all Environments, as other pages ask, so that they share the answer
	now := u.Clock.Now()
	for _, a := range answers {
		if a.Cluster != e.Spec.Cluster {
			continue
		}
		for _, found := range a.Environments([]*v1alpha1.Environment{e}, now) {
			if found.Name != e.Name {
				continue
			}
			if d.Summary = found; found.Unknown == "" { // otherwise it says the same
				d.Notices = hub.Notices([]hub.Answer{a}, 0, now)
			}
		}
	}
	return &site.Page{Template: "elsewhere", Title: e.Name, Section: "environments", Live: true, Data: d,
		Description: "The cluster " + e.Spec.Cluster + " has this Environment."}
}
