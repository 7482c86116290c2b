package handon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/record/replay"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// locate returns the cluster that a request is about, or nil if it is this one.
func (q *question) locate(w http.ResponseWriter, s Subject) (*delegation.Target, error) {
	switch s {
	case Run:
		return q.locateRun()
	case Environment:
		return q.targetOf(EnvironmentOf(q.Request)), nil
	case Upload:
		return q.locateUpload()
	default:
		return q.locateTriggers(w)
	}
}

// EnvironmentOf returns the name of the Environment that a request is about.
func EnvironmentOf(r *exchange.Request) string {
	return cmp.Or(r.PathValue("name"), r.URL.Query().Get("environment"))
}

// targetOf returns the cluster with an Environment or with its base, as far as names tell.
func (q *question) targetOf(environment string) *delegation.Target {
	for _, e := range q.elsewhere {
		if e.Name == environment {
			return q.target(e.Spec.Cluster)
		}
	}
	for _, e := range q.elsewhere {
		if suite.MayDerive(e.Name, environment) && !q.isHere(environment) {
			return q.target(e.Spec.Cluster)
		}
	}
	return nil
}

func (q *question) isHere(environment string) bool {
	name := types.NamespacedName{Namespace: q.Principal.Team.NamespaceName(), Name: environment}
	return q.Cache.Get(q.Context(), name, &v1alpha1.Environment{}) == nil
}

func (q *question) target(cluster string) *delegation.Target {
	all := delegation.Targets(q.elsewhere)
	if i := slices.IndexFunc(all, func(t delegation.Target) bool { return t.Cluster == cluster }); i >= 0 {
		return &all[i]
	}
	return nil
}

// locateRun prefers this cluster, then what it remembers, then the cluster that says it has the run. Ids are unique over the Environments
// of a team, and each of them is in one cluster.
func (q *question) locateRun() (*delegation.Target, error) {
	name := runs.NameOf(q.Principal.Team.NamespaceName(), q.PathValue("id"))
	moved := false
	s := &v1alpha1.Suite{}
	if err := q.Cache.Get(q.Context(), name, s, client.UnsafeDisableDeepCopy); err == nil {
		known := grant.Grant{Known: q.names()}
		if moved = known.KnowsRun(s.Spec.Environment, s.Spec.Deployment.URL); !moved {
			return nil, nil
		}
	}
	if cluster, ok := q.found.Get(name.Namespace, name.Name); ok {
		if t := q.target(cluster); t != nil {
			return t, q.checkGrant(*t, name.Name)
		}
	}
	claims, missing := q.search(name.Name)
	switch {
	case len(claims) == 1:
		q.Remember(name.Namespace, name.Name, claims[0].Cluster)
		return &claims[0], q.checkGrant(claims[0], name.Name)
	case len(claims) > 1: // one of them lies, or has a copy of the other's objects
		return nil, &exchange.Failure{Code: "cluster_refused", Message: fmt.Sprintf("The clusters %s and %s both say that they have this run, "+
			"so neither is believed. Ask the operator of this service.", claims[0].Cluster, claims[1].Cluster)}
	case len(missing) == 0:
		return nil, nil
	}
	if _, err := q.Runs.Find(q.Context(), q.Principal.Team, name.Name); err == nil && !moved {
		return nil, nil
	}
	return nil, notFound(missing)
}

// notFound is why it is not known whether a cluster has a run. A cluster that is unavailable may be back soon.
func notFound(missing map[string]error) error {
	var silent []string
	for _, cluster := range slices.Sorted(maps.Keys(missing)) {
		if failed, ok := errors.AsType[*delegation.Error](missing[cluster]); !ok || !failed.Refused {
			silent = append(silent, cluster)
		}
	}
	if len(silent) == 0 {
		first := slices.Sorted(maps.Keys(missing))[0]
		return Failure(first, missing[first])
	}
	return &exchange.Failure{Code: "cluster_unavailable", Message: fmt.Sprintf("The run is in no cluster that answers, and these do not: %s. "+
		"Ask again in a few seconds.", strings.Join(silent, ", "))}
}

func (q *question) names() []string {
	names := make([]string, len(q.elsewhere))
	for i, e := range q.elsewhere {
		names[i] = e.Name
	}
	return names
}

// search asks all clusters of the team at once for a run, and returns those that say they have it, and why others gave no answer. After the
// first claim, it waits a moment for a second one, because a cluster must not answer for a run of another one; but not for clusters that
// gave no answer lately.
func (q *question) search(run string) (claims []delegation.Target, missing map[string]error) {
	ctx, cancel := context.WithTimeout(q.Context(), limits.ClusterTimeout)
	defer cancel()
	all := delegation.Targets(q.elsewhere)
	type answer struct {
		delegation.Target
		has bool
		err error
	}
	answers, pending := make(chan answer, len(all)), map[string]bool{}
	for _, t := range all {
		pending[t.Cluster] = true
		go func() {
			has, err := q.has(ctx, t, run)
			answers <- answer{t, has, err}
		}()
	}
	missing = map[string]error{}
	for len(pending) > 0 && (len(claims) == 0 || !q.silent.all(pending)) {
		a := <-answers
		delete(pending, a.Cluster)
		if a.has && len(claims) == 0 {
			time.AfterFunc(limits.ClusterGrace, cancel)
		}
		if a.has {
			claims = append(claims, a.Target)
		}
		if a.err != nil {
			missing[a.Cluster] = a.err
		}
		q.silent.note(a.Cluster, a.err)
	}
	return claims, missing
}

func (q *question) has(ctx context.Context, t delegation.Target, run string) (bool, error) {
	resp, err := q.get(ctx, t, "/api/v0/runs/"+url.PathEscape(run))
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	var said struct {
		ID          string `json:"id"`
		FailureCode string `json:"failureCode"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, limits.MaxAgentAnswer)).Decode(&said)
	switch {
	case err == nil && resp.StatusCode == http.StatusOK && said.ID == run:
		return true, nil
	case err == nil && resp.StatusCode == http.StatusNotFound && said.FailureCode == "run_not_found":
		return false, nil
	}
	switch resp.StatusCode {
	case http.StatusForbidden, http.StatusFailedDependency:
		return false, &delegation.Error{Refused: true, Message: "does not let this hub read its runs: add read to allow of its TrustPolicy there"}
	default:
		return false, fmt.Errorf("it answers %s", resp.Status)
	}
}

func (q *question) get(ctx context.Context, t delegation.Target, path string) (*http.Response, error) {
	if !q.slots.TryAcquire(t.Cluster) {
		return nil, errBusy(t.Cluster)
	}
	defer q.slots.Release(t.Cluster)
	c := q.command(t)
	c.Delegation.Bounds = grant.Bounds{} // of commands, and this is a question
	return q.Clusters.Do(ctx, t.Cluster, c, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}, Header: http.Header{}})
}

// checkGrant lets a sender that may read some runs read their successors, too.
func (q *question) checkGrant(t delegation.Target, run string) error {
	granted := q.Principal.Grant.Runs
	if len(granted) == 0 || slices.Contains(granted, run) {
		return nil
	}
	ctx, cancel := context.WithTimeout(q.Context(), limits.ClusterTimeout)
	defer cancel()
	for _, root := range granted {
		if q.counts(ctx, t, root) == run {
			return nil
		}
	}
	return &exchange.Failure{Code: "run_not_found", Message: "Run not found: this token reads certain runs only."}
}

// counts returns the run that counts for another one, or "".
func (q *question) counts(ctx context.Context, t delegation.Target, root string) string {
	resp, err := q.get(ctx, t, "/api/v0/ci-greenlight/"+url.PathEscape(root))
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var answer httpapi.Greenlight
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, limits.MaxAgentAnswer)).Decode(&answer) != nil {
		return ""
	}
	return answer.Counting()
}

// locateUpload finds out where the run will be that gets the file.
func (q *question) locateUpload() (*delegation.Target, error) {
	if name := q.URL.Query().Get("environment"); name != "" {
		return q.targetOf(name), nil
	}
	all := delegation.Targets(q.elsewhere)
	list := &v1alpha1.EnvironmentList{}
	err := q.Cache.List(q.Context(), list, client.UnsafeDisableDeepCopy, client.InNamespace(q.Principal.Team.NamespaceName()))
	if err != nil {
		return nil, err
	}
	if len(all) == 1 && len(list.Items) == len(q.elsewhere) {
		return &all[0], nil
	}
	return nil, exchange.InvalidRequest("The Environments of this team are in several clusters, and a file is kept where the run is that " +
		"gets it. Say for which Environment it is: add environment=NAME to the query.")
}

// locateTriggers reads the body, which is then read again.
func (q *question) locateTriggers(w http.ResponseWriter) (*delegation.Target, error) {
	if !q.AcquireLarge(q.Request, true) {
		return nil, exchange.Overloaded("The server is answering as many replays as it can, or as many of this team as leave room for others. " +
			"Send the request again in a few seconds.")
	}
	body, err := q.ReadBody(w, q.Request, q.Limits.BodyBytes)
	if err != nil {
		return nil, err
	}
	q.body = body
	q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	triggers, _, err := replay.Parse(body)
	if err != nil || len(triggers) == 0 {
		return nil, nil // the handler says what is wrong
	}
	first := q.targetOf(triggers[0].Spec.Environment)
	for _, t := range triggers {
		if other := q.targetOf(t.Spec.Environment); (other == nil) != (first == nil) || other != nil && other.Cluster != first.Cluster {
			return nil, exchange.InvalidRequest("These Triggers are of Environments in several clusters. Replay the Triggers of each cluster on " +
				"their own.")
		}
	}
	return first, nil
}
