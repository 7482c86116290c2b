// Package verdicts reads what decides whether a commit is green in an Environment.
package verdicts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// Reader answers questions about verdicts. What it returns is shared with the cache and must not be changed.
type Reader struct {
	Cache client.Reader // with the indexes of index.Setup
	Live  client.Reader // for queries that need it; may be nil otherwise
	// LeftOut returns the Triggers of a namespace that the cache lacks because of their size; nil: it has all.
	LeftOut func(namespace string) match.LeftOut
	// Now is by the API server's clock, as the times of runs are.
	Now func() time.Time
}

// ErrNotFound means that the team has no such Environment in this cluster.
var ErrNotFound = errors.New("there is no such Environment")

// Query is about a commit in an Environment of a namespace.
type Query struct {
	Namespace   string
	Environment string
	Commit      commit.Commit
	Rule        *v1alpha1.GateRule // its fields replace those of the Environment
	MaxAge      time.Duration      // also required; 0: nothing more
	Live        bool               // the runs of the commit are read from the API server, too: the cache may be behind
}

// Verdict answers a query.
func (r *Reader) Verdict(ctx context.Context, q Query) (verdict.Verdict, error) {
	e := &v1alpha1.Environment{}
	err := r.Cache.Get(ctx, client.ObjectKey{Namespace: q.Namespace, Name: q.Environment}, e, client.UnsafeDisableDeepCopy)
	if apierror.NotFound(err) || err == nil && e.Spec.Cluster != "" { // runs of an earlier time, when it was here, say nothing
		return verdict.Verdict{}, ErrNotFound
	}
	if err != nil {
		return verdict.Verdict{}, err
	}
	suites, err := index.Suites(ctx, r.Cache, q.Namespace, index.Deployed, e.Name)
	if err != nil {
		return verdict.Verdict{}, err
	}
	if q.Live {
		if suites, err = r.refreshed(ctx, suites, q); err != nil {
			return verdict.Verdict{}, err
		}
	}
	triggers, err := r.triggers(ctx, e)
	if err != nil {
		return verdict.Verdict{}, err
	}
	question := verdict.Question{
		Commit: q.Commit, Environment: e, Triggers: triggers, Suites: suites, Rule: q.Rule, MaxAge: q.MaxAge, Now: r.Now(),
	}
	if r.LeftOut != nil {
		question.LeftOut = r.LeftOut(q.Namespace).Shown()
	}
	return verdict.Of(question), nil
}

// refreshed replaces the runs of the commit by what the API server has now. What the list lacks was deleted, or a person removed its label.
func (r *Reader) refreshed(ctx context.Context, cached []*v1alpha1.Suite, q Query) (all []*v1alpha1.Suite, err error) {
	short, ok := suite.ShortSHALabel(q.Commit.Revision)
	if !ok {
		return cached, nil
	}
	list := &v1alpha1.SuiteList{}
	err = r.Live.List(ctx, list, client.InNamespace(q.Namespace), client.MatchingLabels{v1alpha1.LabelShortSHA: short})
	if err != nil {
		return nil, err
	}
	listed := sets.New[types.UID]()
	for i := range list.Items {
		all = append(all, &list.Items[i])
		listed.Insert(list.Items[i].UID)
	}
	var missing []*v1alpha1.Suite
	for _, s := range cached {
		label, _ := suite.ShortSHALabel(s.Spec.Deployment.SHA)
		switch {
		case listed.Has(s.UID):
		case label == short:
			missing = append(missing, s)
		default:
			all = append(all, s)
		}
	}
	if len(missing) > maxMissing {
		return nil, fmt.Errorf("%d runs of %s lack the label %s, and only %d are asked for one by one: delete them, or give them the label",
			len(missing), short, v1alpha1.LabelShortSHA, maxMissing)
	}
	for _, s := range missing {
		if s, err = r.now(ctx, s); err != nil {
			return nil, err
		}
		if s != nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// maxMissing runs take half a second to ask for. A person who removed the labels of ten thousand would hold up the gates of other teams.
const maxMissing = 100

// now returns what the API server has of a run, or nil.
func (r *Reader) now(ctx context.Context, cached *v1alpha1.Suite) (*v1alpha1.Suite, error) {
	s := &v1alpha1.Suite{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(cached), s)
	if err != nil || s.UID != cached.UID {
		return nil, apierror.IgnoreNotFound(err)
	}
	return s, nil
}

// triggers start runs in an Environment, or in what it is made of.
func (r *Reader) triggers(ctx context.Context, e *v1alpha1.Environment) (all []*v1alpha1.Trigger, err error) {
	list := &v1alpha1.TriggerList{}
	err = r.Cache.List(ctx, list, client.InNamespace(e.Namespace), client.MatchingFields{index.Environment: suite.BaseOf(e)},
		client.UnsafeDisableDeepCopy)
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return slices.Clip(all), err
}
