package hub

import (
	"net/url"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Place is a cluster that has what a page here lacks.
type Place struct {
	Cluster      string
	Environments string // names, for a sentence
	URL          string // of the page there, or of the cluster; empty if neither is known
}

// As many clusters as the other pages of a team show, and as many names as fit on a line.
const maxPlaces, maxPlaced = 50, 5

// Places returns the clusters with Environments of a team, and their pages of a kind, such as "runs". If an Environment is chosen, it
// returns at most its cluster.
func Places(all []*v1alpha1.Environment, answers []Answer, kind, chosen string) (places []Place) {
	query := ""
	if chosen != "" {
		query = "?environment=" + url.QueryEscape(chosen)
		all = slices.DeleteFunc(slices.Clone(all), func(e *v1alpha1.Environment) bool { return e.Name != chosen })
	}
	for _, t := range delegation.Targets(all) {
		if len(places) == maxPlaces {
			break
		}
		p := Place{Cluster: t.Cluster, Environments: named(t.Environments)}
		if i := slices.IndexFunc(answers, func(a Answer) bool { return a.Cluster == t.Cluster }); i >= 0 {
			p.URL = answers[i].page(kind, query)
		}
		places = append(places, p)
	}
	return places
}

// page returns a page of the team in the cluster. As long as the namespace there is not known, it is the first page.
func (a Answer) page(kind, query string) string {
	first := link(a.URL, "")
	if a.Overview == nil || first == "" {
		return first
	}
	return link(a.URL, "", kind, a.Overview.Namespace) + query
}

func named(names []string) string {
	if more := len(names) - maxPlaced; more > 0 {
		names = append(slices.Clone(names[:maxPlaced]), plaintext.Count(more, "other Environment"))
	}
	return plaintext.All(names)
}
