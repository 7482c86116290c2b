package environment

import (
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// Deployed is what an Environment has of a repository, or of one service of it.
type Deployed struct {
	Repository string     // empty if none is named
	Service    string     // empty: the whole repository
	Commit     *view.Link // nil if its workloads have several
	Revision   string     // by which its verdict is known; empty without a commit
	Branch     string
	Type       string // empty if it is the name of the Environment
	Since      *view.Time
	By         string // who said so; completes "by"
	Ready      bool   // all its workloads have rolled it out, as far as that is known
	Message    string // what is missing
	Workloads  []Workload
	Runs       []view.Row // of each Trigger that tested it, the run that decides, by name
}

// Rest returns the message, unless the messages of workloads say the same.
func (d Deployed) Rest() string {
	if d.Ready || slices.ContainsFunc(d.Workloads, func(w Workload) bool { return !w.Ready }) {
		return ""
	}
	return d.Message
}

// Workload is an object of the cluster that has the code.
type Workload struct {
	Kind, Name string
	Namespace  string // empty if it is the namespace of the Environment
	Ready      bool
	Message    string // how far the rollout is
	SHA        string // short; empty if it is the deployed one
	Digests    []Digest
}

// Digest is what a container ran.
type Digest struct{ Container, Short, Whole string }

// reporters complete "by".
var reporters = map[v1alpha1.DeploymentReporter]string{v1alpha1.ReportedByNotification: "CI", v1alpha1.ReportedByWorkload: "the rollout"}

// DeployedIn returns what the status of an Environment names. Runs are the runs of the Environment, newest first.
func DeployedIn(e *v1alpha1.Environment, runs []*v1alpha1.Suite, now time.Time) []Deployed {
	all := make([]Deployed, 0, len(e.Status.Deployed))
	for i := range e.Status.Deployed {
		all = append(all, deployedOf(e, &e.Status.Deployed[i], runs, now))
	}
	return all
}

func deployedOf(e *v1alpha1.Environment, d *v1alpha1.Deployed, runs []*v1alpha1.Suite, now time.Time) Deployed {
	tests := testsOf(e, d, runs)
	v := Deployed{
		Repository: d.Repository, Service: d.Service, Commit: commitOf(e, d, tests, runs), Revision: revisionOf(d, tests), Branch: d.Branch,
		By: reporters[d.ReportedBy], Ready: d.Ready == nil || *d.Ready, Message: d.Message, Runs: decidingRuns(e, tests, now),
	}
	if d.DeploymentType != e.Name {
		v.Type = d.DeploymentType
	}
	if d.Since != nil {
		v.Since = view.TimeOf(d.Since.Time, now)
	}
	for _, w := range d.Workloads {
		v.Workloads = append(v.Workloads, workloadOf(w, e.Namespace, d.SHA))
	}
	return v
}

func workloadOf(w v1alpha1.DeployedWorkload, namespace, deployed string) Workload {
	v := Workload{Kind: w.Kind, Name: w.Name, Ready: w.Ready, Message: w.Message}
	if w.Namespace != namespace {
		v.Namespace = w.Namespace
	}
	if !commit.SameSHA(w.SHA, deployed) {
		v.SHA = commit.ShortSHA(w.SHA)
	}
	if v.Message == "" && !w.Ready {
		v.Message = "not rolled out"
	}
	for _, d := range w.Digests {
		v.Digests = append(v.Digests, Digest{Container: d.Container, Short: shortDigest(d.Digest), Whole: d.Digest})
	}
	return v
}

// shortDigest keeps as much as tells images apart.
func shortDigest(digest string) string {
	const short = 8
	algorithm, hash, found := strings.Cut(digest, ":")
	if !found || len(hash) <= short {
		return digest
	}
	return algorithm + ":" + hash[:short]
}

// testsOf returns the runs that tested what is deployed.
func testsOf(e *v1alpha1.Environment, d *v1alpha1.Deployed, runs []*v1alpha1.Suite) (tests []*v1alpha1.Suite) {
	own := commit.PartOf(d.Repository, d.Service)
	for _, s := range runs {
		if d.SHA != "" && commit.SameSHA(d.SHA, s.Spec.Deployment.SHA) &&
			ledger.PartOf(e, s.Spec.Deployment.Repository, s.Spec.Deployment.Service).SamePart(own) {
			tests = append(tests, s)
		}
	}
	return tests
}

// revisionOf is the revision by which runs tested what is deployed: a workload may have only a part of it.
func revisionOf(d *v1alpha1.Deployed, tests []*v1alpha1.Suite) string {
	if len(tests) > 0 {
		return tests[0].Spec.Deployment.SHA
	}
	return d.SHA
}

// decidingRuns leaves out what a verdict does: runs of an earlier Environment of that name, and of a backup.
func decidingRuns(e *v1alpha1.Environment, tests []*v1alpha1.Suite, now time.Time) (rows []view.Row) {
	l := ledger.Of(e, nil)
	byTest := map[test][]*v1alpha1.Suite{}
	for _, s := range tests {
		if !l.Removed(s) && !s.Restored() {
			byTest[testOf(s)] = append(byTest[testOf(s)], s)
		}
	}
	for _, own := range byTest {
		rows = append(rows, view.RowOf(verdict.Deciding(own), 0, now))
	}
	slices.SortFunc(rows, compareNames)
	return rows
}

// commitOf links to the commit as the runs of the repository do, which know its code host.
func commitOf(e *v1alpha1.Environment, d *v1alpha1.Deployed, tests, runs []*v1alpha1.Suite) *view.Link {
	if len(tests) > 0 {
		return view.Commit(tests[0].Spec.Deployment)
	}
	at := v1alpha1.Deployment{SHA: d.SHA, Repository: d.Repository}
	for _, w := range e.Spec.Workloads {
		if commit.SameRepository(w.Repository, d.Repository) {
			at.HostingService = w.HostingService
		}
	}
	i := slices.IndexFunc(runs, func(s *v1alpha1.Suite) bool {
		return d.Repository != "" && commit.SameRepository(s.Spec.Deployment.Repository, d.Repository)
	})
	if i >= 0 {
		other := runs[i].Spec.Deployment
		at.HostingService = other.HostingService
		at.CommitURL = view.CommitURL(other, d.SHA)
	}
	return view.Commit(at)
}
