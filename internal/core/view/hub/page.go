package hub

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
)

// oldAfter is when pages say how old an answer is, if the cluster answers.
const oldAfter = 30 * time.Second

// reader shows an Answer with an Overview.
type reader struct {
	Answer
	now    time.Time
	suites map[string]*v1alpha1.Suite
	urls   map[string]string
}

// read returns nil for an Answer with nothing to show.
func (a Answer) read(now time.Time) *reader {
	if a.Overview == nil {
		return nil
	}
	r := &reader{Answer: a, now: now, suites: map[string]*v1alpha1.Suite{}, urls: map[string]string{}}
	for _, run := range a.Overview.Runs {
		r.suites[run.ID] = record.SuiteOf(run)
		r.urls[run.ID] = link(a.URL, run.URL, "runs", run.Namespace, run.ID)
	}
	return r
}

// Age says how old the Answer is: "4 minutes ago"; empty if it is fresh, or if there is none.
func (a Answer) Age(now time.Time) string {
	if a.AnsweredAt.IsZero() || a.Problem == "" && now.Sub(a.AnsweredAt) < oldAfter {
		return ""
	}
	return plaintext.Ago(a.AnsweredAt, now)
}

func (r *reader) rows(ids []string) (rows []view.Row) {
	for _, id := range ids {
		if s := r.suites[id]; s != nil {
			rows = append(rows, r.placed(view.RowOf(s, 0, r.now)))
		}
	}
	return rows
}

func (r *reader) placed(row view.Row) view.Row {
	row.Cluster, row.URL = r.Cluster, r.urls[row.ID]
	return row
}

// Board merges the tiles of this cluster and of others.
func Board(tiles []view.Tile, answers []Answer, now time.Time) []view.Tile {
	for _, a := range answers {
		r := a.read(now)
		if r == nil {
			continue
		}
		for _, t := range a.Overview.Board {
			tiles = append(tiles, r.tile(t))
		}
	}
	view.SortTiles(tiles)
	return tiles
}

func (r *reader) tile(t httpapi.BoardTile) view.Tile {
	tile := view.Tile{Since: t.Streak, Trail: t.Trail, Age: r.Age(r.now)}
	if rows := r.rows([]string{t.Run}); len(rows) > 0 {
		tile.Row = rows[0]
		return tile
	}
	tile.Row = view.Row{Trigger: t.Trigger, Environment: t.Environment, Service: t.Service, State: view.NoRun, Why: t.Message,
		Cluster: r.Cluster, URL: link(r.URL, t.URL, "triggers", r.Overview.Namespace, t.Trigger)}
	if t.NotWorking {
		tile.State = view.NotWorking
	}
	return tile
}

// Environments returns the Environments of this cluster, and of other clusters what they say about theirs.
func Environments(all []*v1alpha1.Environment, runs []*v1alpha1.Suite, answers []Answer, now time.Time) []environment.Summary {
	here := slices.DeleteFunc(slices.Clone(all), func(e *v1alpha1.Environment) bool { return e.Spec.Cluster != "" })
	summaries := environment.SummariesOf(here, runs, now)
	for _, a := range answers {
		summaries = append(summaries, a.Environments(all, now)...)
	}
	environment.SortSummaries(summaries)
	return summaries
}

// Environments returns what a cluster says about the Environments of a namespace that it has, and about ephemeral ones derived from them.
func (a Answer) Environments(all []*v1alpha1.Environment, now time.Time) (summaries []environment.Summary) {
	found := map[string]int{}
	if r := a.read(now); r != nil {
		for i, e := range a.Overview.Environments {
			found[e.Environment.Name] = i
			summaries = append(summaries, r.summary(e))
		}
	}
	for _, e := range all {
		if e.Spec.Cluster != a.Cluster {
			continue
		}
		i, known := found[e.Name]
		if !known {
			i = len(summaries)
			summaries = append(summaries, environment.Summary{Name: e.Name, Cluster: a.Cluster, Unknown: a.unknown(e.Name),
				PageURL: link(a.URL, "", "environments", e.Namespace, e.Name)})
		}
		summaries[i].Namespace = e.Namespace // of the page here
		if e.Spec.URL != "" {
			summaries[i].URL = view.DeployedAt(e.Spec.URL)
		}
	}
	return summaries
}

// unknown says why nothing is known of an Environment.
func (a Answer) unknown(name string) string {
	if a.Overview == nil {
		return fmt.Sprintf("Nothing is known of it: the cluster %s %s.", a.Cluster, a.Problem)
	}
	return fmt.Sprintf("The team has no Environment %s in the cluster %s. Create it there.", name, a.Cluster)
}

// summary shows an Environment as if it were here, without links to what is outside of its cluster.
func (r *reader) summary(o httpapi.OverviewEnvironment) environment.Summary {
	status := o.Environment
	var own []*v1alpha1.Suite
	for _, id := range o.Runs {
		if s := r.suites[id]; s != nil {
			own = append(own, s)
		}
	}
	slices.SortFunc(own, func(a, b *v1alpha1.Suite) int { return b.Received().Compare(a.Received().Time) })
	v := environment.SummariesOf([]*v1alpha1.Environment{environmentOf(status)}, own, r.now)[0]
	v.Cluster, v.PageURL, v.Age = r.Cluster, link(r.URL, status.PageURL, "environments", status.Namespace, status.Name), r.Age(r.now)
	v.DeployedOmitted = o.DeployedOmitted
	if v.Settling = ""; status.Settling != nil {
		v.Settling = "Settling: " + queue.SettlingClause(*status.Settling, r.now) + "."
	}
	if v.Latest = nil; r.suites[o.LastDeployment] != nil {
		v.Latest = new(view.RunOf(view.Subject{Suite: r.suites[o.LastDeployment]}, r.now))
		if v.Latest.Commit != nil {
			v.Latest.Commit.URL = ""
		}
	}
	if v.URL != nil {
		v.URL.URL = ""
	}
	for _, d := range v.Deployed {
		if d.Commit != nil {
			d.Commit.URL = ""
		}
	}
	for i := range v.Runs {
		v.Runs[i] = r.placed(v.Runs[i])
	}
	return v
}

// environmentOf is the inverse of record.EnvironmentOf, for what lists show.
func environmentOf(s httpapi.EnvironmentStatus) *v1alpha1.Environment {
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace}, Spec: v1alpha1.EnvironmentSpec{URL: s.URL}}
	if s.Ephemeral {
		e.Spec.Ephemeral = &v1alpha1.EphemeralEnvironment{DeploymentURL: s.URL}
		if s.ExpiresAt != nil {
			e.Spec.Ephemeral.ExpiresAt = metav1.NewTime(*s.ExpiresAt)
		}
	}
	if s.Ready != nil && !*s.Ready {
		e.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: s.Message}}
	}
	if h := s.Hold; h != nil {
		e.Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(h.Until), Reason: h.Reason}
		metav1.SetMetaDataAnnotation(&e.ObjectMeta, v1alpha1.AnnotationHeldBy, h.HeldBy)
	}
	for _, d := range s.Deployed {
		deployed := v1alpha1.Deployed{
			Repository: d.Repository, Service: d.Service, SHA: d.SHA, Branch: d.Branch, Ready: d.Ready, Message: d.Message,
		}
		if d.Since != nil {
			deployed.Since = new(metav1.NewTime(*d.Since))
		}
		e.Status.Deployed = append(e.Status.Deployed, deployed)
	}
	return e
}

// Notices are sentences about what a page does not show of clusters, or shows although it is old.
func Notices(answers []Answer, omitted int, now time.Time) (all []string) {
	for _, a := range answers {
		switch {
		case a.Problem != "" && a.Overview != nil:
			age := view.Span(now.Sub(a.AnsweredAt))
			all = append(all, fmt.Sprintf("The cluster %s %s. What is shown of it is %s old.", a.Cluster, a.Problem, age))
		case a.Problem != "":
			all = append(all, fmt.Sprintf("Nothing is shown of the cluster %s: it %s.", a.Cluster, a.Problem))
		}
		if a.Overview != nil && a.Overview.Omitted != "" {
			all = append(all, fmt.Sprintf("Of the cluster %s: %s", a.Cluster, a.Overview.Omitted))
		}
	}
	if omitted > 0 {
		all = append(all, plaintext.Count(omitted, "cluster")+" more of the team, the last by name, are not shown.")
	}
	return all
}
