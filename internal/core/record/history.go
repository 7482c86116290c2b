package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// EnvironmentAt returns an Environment with what it had at a time, by the lines that the archive has of it and by its status.
func EnvironmentAt(team string, e *v1alpha1.Environment, archived []Deployment, at time.Time) httpapi.EnvironmentStatus {
	s := EnvironmentOf(team, e, at)
	s.Deployed, s.Hold, s.Ready, s.Message, s.At = []httpapi.Deployed{}, nil, nil, "", new(at.UTC())
	for _, d := range DeployedAt(slices.Concat(previousOf(team, e), archived, DeploymentsOf(team, e)), at) {
		since := d.Since
		s.Deployed = append(s.Deployed, httpapi.Deployed{
			Repository: d.Repository, Service: d.Service, SHA: d.SHA, Branch: d.Branch, DeploymentType: d.DeploymentType, Since: &since,
			ReportedBy: d.ReportedBy, Message: d.Message, Workloads: d.Workloads,
		})
	}
	return s
}

// Span is a time in which deployments began. The first one may have been there before. A zero time is no bound.
type Span struct{ After, Before time.Time }

// HistoryOf returns what an Environment had after a time, newest first, by the lines that the archive has of it and by its status.
func HistoryOf(team string, e *v1alpha1.Environment, archived []Deployment, after time.Time, limit int) httpapi.DeploymentHistory {
	type deployment struct {
		part  commit.Part
		sha   string
		since int64
	}
	known := map[deployment]Deployment{}
	for _, d := range slices.Concat(previousOf(team, e), archived, DeploymentsOf(team, e)) {
		key := deployment{partOf(d.Deployment).Key(), commit.NormalSHA(d.SHA), d.Since.Unix()}
		if other, found := known[key]; found && !other.brief {
			d = other.Merge(d)
		}
		known[key] = d
	}
	var all []httpapi.Deployment
	for _, d := range known {
		all = append(all, d.Deployment)
	}
	slices.SortFunc(all, func(a, b httpapi.Deployment) int {
		return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Service, b.Service),
			cmp.Compare(a.SHA, b.SHA))
	})
	setUntil(all)
	all = slices.DeleteFunc(all, func(d httpapi.Deployment) bool { return d.Until != nil && !d.Until.After(after) })
	h := httpapi.DeploymentHistory{Deployments: []httpapi.Deployment{}, More: len(all) > limit}
	h.Deployments = append(h.Deployments, all[:min(len(all), limit)]...)
	return h
}

// setUntil ends each deployment with the next one of its repository and service, unless it ended earlier with the Environment.
func setUntil(newestFirst []httpapi.Deployment) {
	next := map[commit.Part]time.Time{}
	for i := range newestFirst {
		d := &newestFirst[i]
		key := partOf(*d).Key()
		if end, found := next[key]; found && (d.Until == nil || end.Before(*d.Until)) {
			d.Until = &end
		}
		next[key] = d.Since
	}
}
