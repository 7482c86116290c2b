package overview

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
)

// +kubebuilder:rbac:groups=postflight.dev,resources=deploymentgates;deploymentreviews,verbs=list;watch

type commitData struct {
	environment.CommitPage
	Query string // of the page, with the question mark
}

// CommitPage shows the verdict of a commit in an Environment.
func (u *Pages) CommitPage(r *site.Request) (*site.Page, error) {
	if page, err := u.commitElsewhere(r); page != nil || err != nil {
		return page, err
	}
	v, err := u.verdict(r)
	if err != nil {
		return nil, err
	}
	o := environment.CommitSubject{Verdict: v, Sites: u.Sites}
	if o.Reviews, o.Gates, err = u.reviews(r); err != nil {
		return nil, err
	}
	d := &commitData{CommitPage: environment.CommitPageOf(o), Query: queryOf(v.Commit)}
	d.CanStart = d.CanStart && r.Act
	return &site.Page{Template: "commit", Title: d.State.Label + ": " + d.Title(), Section: "environments", Description: d.Sentence,
		Icon: d.State.Key, Live: true, Data: d}, nil
}

// commitElsewhere leads to the cluster that has the Environment, if that is another one.
func (u *Pages) commitElsewhere(r *site.Request) (*site.Page, error) {
	e, err := u.environment(r, r.Namespace())
	if err != nil || e == nil || e.Spec.Cluster == "" {
		return nil, err
	}
	all, err := u.environments(r)
	if err != nil {
		return nil, err
	}
	return u.elsewherePage(r, e, all), nil
}

// Bounds of the schema, in bytes: nothing longer was ever deployed.
const (
	maxRevision   = 128
	maxRepository = 256
	maxService    = 128
)

// verdict answers the question of a page.
func (u *Pages) verdict(r *site.Request) (verdict.Verdict, error) {
	query := r.URL.Query()
	c := commit.New(query.Get("repository"), query.Get("service"), r.PathValue("sha"))
	if c.Revision == "" || len(c.Revision) > maxRevision || len(c.Repository) > maxRepository || len(c.Service) > maxService {
		return verdict.Verdict{}, site.NotFound()
	}
	v, err := u.Verdicts.Verdict(r.Context(), verdicts.Query{Namespace: r.Namespace(), Environment: r.PathValue("id"), Commit: c})
	if errors.Is(err, verdicts.ErrNotFound) {
		return v, site.NotFound()
	}
	return v, err
}

func (u *Pages) reviews(r *site.Request) ([]*v1alpha1.DeploymentReview, []v1alpha1.DeploymentGate, error) {
	reviews, gates := &v1alpha1.DeploymentReviewList{}, &v1alpha1.DeploymentGateList{}
	own := client.InNamespace(r.Namespace())
	err := errors.Join(u.Cache.List(r.Context(), reviews, client.UnsafeDisableDeepCopy, own),
		u.Cache.List(r.Context(), gates, client.UnsafeDisableDeepCopy, own))
	return pointers(reviews.Items), gates.Items, err
}

// StartMissing starts what is missing for a verdict, or stale.
func (u *Pages) StartMissing(w http.ResponseWriter, r *site.Request) error {
	switch {
	case !r.SignedIn:
		return site.ErrSignIn
	case !r.Act:
		return site.OnlyRead()
	}
	v, err := u.verdict(r)
	if err != nil {
		return err
	}
	r.Audit = []any{"environment", v.Environment.Name, "sha", v.Commit.Revision}
	if obstacle := verdicts.Obstacle(v); obstacle != "" {
		return site.Unchanged(obstacle)
	}
	team, err := index.Owner(r.Context(), u.Cache, r.Namespace())
	if err == nil && team == nil {
		err = site.Unchanged("The namespace of the Environment belongs to no Team any more.")
	}
	if err != nil {
		return err
	}
	all, err := verdicts.Start(r.Context(), u.Starter, dispatch.Command{
		Team: team, By: r.Access.Name, RequestID: "page." + rand.Text(), ReceivedAt: u.Steady.Now(),
	}, v)
	if err != nil {
		return err
	}
	started, problem := sumUp(all)
	r.Audit = append(r.Audit, "runs", strings.Join(started, " "))
	if len(started) == 0 {
		return site.Unchanged(problem)
	}
	u.Redirect(w, r, commitPath(r.Namespace(), v.Environment.Name, v.Commit.Revision)+queryOf(v.Commit))
	return nil
}

// sumUp returns the runs that were started, and why the others were not, as sentences.
func sumUp(all []verdicts.Started) (runs []string, problem string) {
	var problems []string
	for _, s := range all {
		if s.Problem == "" {
			runs = append(runs, s.Run.Name)
		} else {
			problems = append(problems, v1alpha1.TestName(s.Trigger, plaintext.Line(s.Service, maxService))+": "+s.Problem)
		}
	}
	return runs, cmp.Or(strings.Join(problems, " "), "Nothing is missing, and nothing is stale.")
}

func commitPath(namespace, name, revision string) string {
	return "/environments/" + url.PathEscape(namespace) + "/" + url.PathEscape(name) + "/commits/" + url.PathEscape(revision)
}

func queryOf(c commit.Commit) string {
	q := url.Values{}
	for name, value := range map[string]string{"repository": c.Repository, "service": c.Service} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}
