package report

import (
	"maps"
	"net/url"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Deployment is what a code host shows about a commit in an Environment. Runs of several Triggers share one.
type Deployment struct {
	Environment string
	URL         string // http or https; may be empty
	LogURL      string // the page of the run that decides; may be empty
	State       string // of that run; ReasonRunning until its end
	Description string // one line of plain text
	Newest      bool   // false: a later commit was deployed; create nothing, and change no other deployment
}

// DeploymentOf returns the deployment that shows a run and the runs of other Triggers and services. The id is 0 if no run knows it.
func DeploymentOf(self Run, others []Run, o Options) (d Deployment, id int64) {
	same := func(s *v1alpha1.Suite) bool {
		return s.Spec.Environment == self.Suite.Spec.Environment &&
			commit.Of(s.Spec.Deployment).SameRevision(commit.Of(self.Suite.Spec.Deployment))
	}
	runs := related(self, others, showsDeployments, same)
	target, _ := TargetOf(self.Suite, self.Trigger)
	for _, r := range append([]Run{self}, others...) { // perhaps only an earlier attempt knows the id
		if same(r.Suite) {
			id = max(id, DeploymentOn(PostedTo(r.Suite, target)).ID)
		}
	}
	decides := slices.MaxFunc(runs, func(a, b Run) int { return weight(a.Suite) - weight(b.Suite) }).Suite
	d = Deployment{
		Environment: decides.Spec.Environment, URL: webURL(decides.Spec.Deployment.URL), State: shownState(decides),
		Description: DeploymentDescription(decides), Newest: !superseded(self.Suite, others),
	}
	if !decides.Finished() {
		d.State = v1alpha1.ReasonRunning
	}
	d.LogURL = pageOf(decides, o)
	return d, id
}

// DeploymentDescription is what a code host shows of a deployment that a run decides.
func DeploymentDescription(s *v1alpha1.Suite) string {
	return mute(v1alpha1.TestName(s.Spec.Trigger.Name, s.Spec.Deployment.Service)+": "+title(s), maxTitle)
}

// Stopped reports whether the run that decides has no result. Nothing is created for it.
func (d Deployment) Stopped() bool {
	return state.Of(d.State).NoVerdict
}

// weight orders runs of a deployment: the heaviest decides. A failure counts at once, and success only if all passed.
func weight(s *v1alpha1.Suite) int {
	if !s.Finished() {
		return state.Of(v1alpha1.ReasonRunning).Weight
	}
	return state.Of(shownState(s)).Weight
}

func superseded(s *v1alpha1.Suite, others []Run) bool {
	return slices.ContainsFunc(others, func(r Run) bool {
		other := r.Suite
		return other.SameTest(s) && ledger.Replaces(other, s)
	})
}

func webURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.String()
}

func pageOf(s *v1alpha1.Suite, o Options) string {
	if page := o.Page(s); len(page) <= maxURL {
		return page
	}
	return ""
}

func sorted(runs map[[3]string]Run) (all []Run) {
	for _, key := range slices.SortedFunc(maps.Keys(runs), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		all = append(all, runs[key])
	}
	return all
}
