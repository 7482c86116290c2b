// Package handon passes requests that are about other clusters on to them, and answers what they answer.
package handon

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// Clusters send requests to clusters. Errors are *delegation.Errors.
type Clusters interface {
	Do(ctx context.Context, cluster string, c delegation.Command, r *http.Request) (*http.Response, error)
}

// Config is what the API needs.
type Config struct {
	Clusters Clusters      // nil: there are no other clusters
	Cache    client.Reader // with the indexes of index.Setup
	Runs     *runs.Reader
	Waiting  *fairness.TeamLimiter // of all requests that wait
}

// API passes requests on.
type API struct {
	*exchange.Server
	Config
	found  *fairness.Cache[string, string] // the cluster of a run, by namespace and id; empty: look for it
	silent *silence
	slots  *fairness.TeamLimiter // by cluster: one that is slow takes none from others
}

// New returns an API.
func New(s *exchange.Server, c Config) *API {
	return &API{
		silent: &silence{clock: s.Clock, since: map[string]time.Time{}},
		Server: s, Config: c, found: fairness.NewCache[string, string](maxFound, maxFoundOfTeam),
		slots: fairness.NewTeamLimiter(s.Limits.HandedOn),
	}
}

// Collectors are the metrics of requests that are passed on.
func (a *API) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		exchange.Gauge("postflight_http_requests_handed_on", "Requests that other clusters are answering.", a.slots.InUse),
	}
}

// Runs whose cluster is remembered take a quarter of a KiB each. Others are looked for again, at the cost of a request.
const (
	maxFound       = 16 << 10
	maxFoundOfTeam = 2 << 10
)

// Remember keeps which cluster has a run. A later claim of another cluster is ignored.
func (a *API) Remember(namespace, run, cluster string) {
	if known, _ := a.found.Get(namespace, run); known == "" {
		a.found.Add(namespace, run, cluster)
	}
}

// Subject is what the requests of a route are about.
type Subject int

// The subjects.
const (
	Here        Subject = iota // this cluster alone, or more than one
	Run                        // the run in the path
	Environment                // the Environment in the path, or in the query, if it has one
	Upload                     // a file for runs
	Triggers                   // manifests in the body
)

// Serve passes a request on if it is about another cluster, and reports whether it was.
func (a *API) Serve(w http.ResponseWriter, r *exchange.Request, s Subject, action grant.Action) (handled bool, err error) {
	if a.Clusters == nil || s == Here {
		return false, nil
	}
	elsewhere, err := index.Elsewhere(r.Context(), a.Cache, r.Principal.Team.NamespaceName())
	if err != nil || len(elsewhere) == 0 {
		return false, err
	}
	q := &question{API: a, Request: r, action: action, elsewhere: elsewhere}
	target, err := q.locate(w, s)
	if err != nil || target == nil {
		return false, err
	}
	r.AddToAudit("cluster", target.Cluster)
	if r.Delegation != nil {
		return true, &exchange.Failure{Code: "loop", Message: "A hub sent this request, and it is about yet another cluster, " + target.Cluster +
			". Name that cluster in spec.cluster of the hub's Environment."}
	}
	return true, q.pass(w, s, *target)
}

// question is a request that may be about another cluster.
type question struct {
	*API
	*exchange.Request
	action    grant.Action
	elsewhere []*v1alpha1.Environment
	body      []byte
}

// command is what the sender may ask a cluster.
func (q *question) command(t delegation.Target) delegation.Command {
	d := delegation.Delegation{For: q.Principal.Sender.Text, Environments: t.Environments}
	if q.action == grant.Act {
		d.Bounds = q.Principal.Grant.Acts
	}
	return delegation.Command{Team: q.Principal.Team, Delegation: d, RequestID: q.ID}
}
