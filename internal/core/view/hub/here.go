package hub

import (
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// Here leaves out the Triggers and runs of Environments that other clusters have: they are of a time when these were here.
func Here(
	triggers []*v1alpha1.Trigger, runs []*v1alpha1.Suite, environments []*v1alpha1.Environment,
) ([]*v1alpha1.Trigger, []*v1alpha1.Suite) {
	g := grant.Grant{}
	for _, e := range environments {
		if e.Spec.Cluster != "" {
			g.Known = append(g.Known, e.Name)
		}
	}
	if len(g.Known) == 0 {
		return triggers, runs
	}
	here := Subject{Triggers: triggers, Runs: runs}.selected(
		func(name string) bool { return !g.Knows(name) },
		func(environment, deploymentURL string) bool { return !g.KnowsRun(environment, deploymentURL) })
	return here.Triggers, here.Runs
}

// Within leaves out what a cluster says about Environments that the hub does not name for it, perhaps no longer.
func (a Answer) Within(environments []string) Answer {
	if a.Overview == nil {
		return a
	}
	named := func(name string) bool {
		return slices.ContainsFunc(environments, func(base string) bool { return name == base || suite.MayDerive(base, name) })
	}
	o := *a.Overview
	o.Board = selected(o.Board, func(t httpapi.BoardTile) bool { return named(t.Environment) })
	o.Environments = selected(o.Environments, func(e httpapi.OverviewEnvironment) bool { return named(e.Environment.Name) })
	a.Overview = &o
	return a
}
