// Package workloads says what an Environment has of each repository: what its workloads run, or else what was notified last. It is pure:
// objects of the cluster in, a status out.
package workloads

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// MaxWorkloads is how many objects of a repository count, as many as the status may have.
const MaxWorkloads = 20

const (
	maxParts        = 50 // the bounds of the status
	maxMessage      = 1024
	maxWorkloadText = 512
)

// Found is an object that a workload of an Environment means, or why there is none.
type Found struct {
	Workload v1alpha1.Workload
	Source   Source
	Object   *unstructured.Unstructured // nil: there is a Problem
	Problem  string                     // a sentence
	Do       string                     // what to do about it, for Explain; empty: the Problem says it
	// Expressions may be shared by all of an Environment, and nil.
	Expressions *Expressions
	// Digests are those of its pods, if the rollout is complete and they were read; nil: those that the status has of the revision.
	Digests []v1alpha1.ImageDigest
}

// Observed is what is known of an Environment.
type Observed struct {
	Environment *v1alpha1.Environment
	Team        *v1alpha1.Team // of the namespace; nil: there is none
	Found       []Found
	Suites      []*v1alpha1.Suite // of the Environment
	Now         time.Time
}

// Status returns what the Environment has. The problems are sentences about its workloads. What cannot be seen at the moment stays as it
// was, because runs are deleted and watches break.
func Status(o Observed) (deployed []v1alpha1.Deployed, problems []string) {
	before, after := byPart(o.Environment.Status.Deployed), map[commit.Part]v1alpha1.Deployed{}
	notified := ledger.Of(o.Environment, o.Suites).Notified()
	workloads, says, problems := observe(o, func(p commit.Part, sha string) string {
		whole := notified[commit.PartOf(p.Repository, "")].Revisions // it may be about any service
		return completeSHA(sha, slices.Concat(notified[p].Revisions, []string{before[p].SHA}, whole)...)
	})
	for _, p := range slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(workloads)),
		slices.Collect(maps.Keys(notified))) {
		d, seen := before[p], workloads[p]
		if d.Service = p.Service; len(seen) > 0 {
			d.Repository = says[p].repository
			d = ofWorkloads(d, seen, says[p], notified[p], o.Now)
			d.Notification = notificationOf(before[p], d, says[p], o.Team)
		} else if !decidedByOthers(p, workloads, func(seen []v1alpha1.DeployedWorkload) bool { return len(seen) > 0 }) {
			d.Repository = cmp.Or(d.Repository, notified[p].Repository)
			d = ofNotification(d, notified[p])
		} else {
			continue
		}
		after[p] = d
	}
	return known(after), problems
}

// partOf is what an object is, under the key of its part.
func (f Found) partOf() commit.Part {
	return commit.PartOf(f.Workload.Repository, f.Workload.Service).Key()
}

// Counted returns the objects that the status mentions, and one more of each part, which becomes a problem. A selector may find thousands,
// and each would cost time, and its digests a request.
func Counted(found []Found) (counted []Found) {
	ofPart := map[commit.Part]int{}
	for _, f := range sorted(found) {
		p := f.partOf()
		if ofPart[p]++; ofPart[p] <= MaxWorkloads+1 {
			counted = append(counted, f)
		}
	}
	return counted
}

// observe returns the workloads and their names by the keys of parts, in a stable order.
func observe(
	o Observed, complete func(p commit.Part, sha string) string,
) (workloads map[commit.Part][]v1alpha1.DeployedWorkload, says map[commit.Part]names, problems []string) {
	workloads, says = map[commit.Part][]v1alpha1.DeployedWorkload{}, map[commit.Part]names{}
	for _, f := range sorted(o.Found) {
		p := f.partOf()
		if len(workloads[p]) == MaxWorkloads {
			if problem := tooMany(f.Workload); !slices.Contains(problems, problem) {
				problems = append(problems, problem)
			}
			continue
		}
		w, n, problem := f.observe(o.Environment)
		if problem != "" {
			problems = append(problems, problem)
		}
		w.SHA = complete(p, w.SHA)
		workloads[p] = append(workloads[p], w)
		says[p] = says[p].join(n, f.Workload)
	}
	return workloads, says, problems
}

func tooMany(w v1alpha1.Workload) string {
	part := fmt.Sprintf("the repository %q", w.Repository)
	if w.Service != "" {
		part = fmt.Sprintf("the service %q of %s", w.Service, part)
	}
	return fmt.Sprintf("More than %d objects have %s. Only the first are looked at: name fewer, or give them several repositories or "+
		"services.", MaxWorkloads, part)
}

// sorted orders objects as they are shown, because caches list them in no order, and only the first count.
func sorted(found []Found) []Found {
	return slices.SortedStableFunc(slices.Values(found), func(a, b Found) int {
		return cmp.Or(
			strings.Compare(a.Source.Kind, b.Source.Kind), strings.Compare(a.Source.Namespace, b.Source.Namespace), strings.Compare(a.name(),
				b.name()),
		)
	})
}

func (f Found) name() string {
	if f.Object == nil {
		return f.Workload.Name
	}
	return f.Object.GetName()
}

func (f Found) observe(e *v1alpha1.Environment) (w v1alpha1.DeployedWorkload, n names, problem string) {
	if f.Object == nil {
		return f.unseen(e), n, f.Problem
	}
	n, problem = f.read()
	r := rolloutOf(f.Object)
	w = v1alpha1.DeployedWorkload{
		Kind: f.Object.GetKind(), Namespace: f.Object.GetNamespace(), Name: f.Object.GetName(), UID: f.Object.GetUID(),
		Revision: r.revision, SHA: n.sha, Ready: r.ready && problem == "", Digests: f.Digests,
		Message: plaintext.Line(cmp.Or(problem, r.message), maxWorkloadText),
	}
	if f.Digests == nil {
		w.Digests = digestsOf(e, w)
	}
	return w, n, problem
}

// digestsOf returns the digests in the status: of the same revision, or of the last revision that was rolled out.
func digestsOf(e *v1alpha1.Environment, w v1alpha1.DeployedWorkload) []v1alpha1.ImageDigest {
	if known := recorded(e, w.UID); known != nil && (!w.Ready || known.Revision == w.Revision) {
		return known.Digests
	}
	return nil
}

// recorded returns what the status has of an object, or nil.
func recorded(e *v1alpha1.Environment, uid types.UID) *v1alpha1.DeployedWorkload {
	for i := range e.Status.Deployed {
		for j := range e.Status.Deployed[i].Workloads {
			if w := &e.Status.Deployed[i].Workloads[j]; w.UID == uid {
				return w
			}
		}
	}
	return nil
}

// ofWorkloads changes the commit when all workloads have rolled it out. Until then, the message says how far they are.
func ofWorkloads(d v1alpha1.Deployed, seen []v1alpha1.DeployedWorkload, says names, n ledger.Notified, now time.Time) v1alpha1.Deployed {
	d = withoutPreview(d)
	before := d
	d.Workloads, d.Ready, d.Message = seen, new(false), ""
	shas := map[string][]string{}
	for _, w := range seen {
		if !w.Ready {
			d.Message = plaintext.Line(strings.TrimSpace(d.Message+" "+rollingOut(w, before.SHA)), maxMessage)
		}
		shas[w.SHA] = append(shas[w.SHA], w.Name)
	}
	if d.Message != "" {
		return d
	}
	if d.SHA = seen[0].SHA; len(shas) > 1 {
		d.SHA, d.Message = "", plaintext.Line(severalCommits(shas), maxMessage)
	}
	*d.Ready = len(shas) == 1
	if d.SHA != before.SHA || d.Since == nil {
		d.Previous = previous(before)
		d.Since, d.ReportedBy, d.Branch, d.DeploymentType = following(before, now), v1alpha1.ReportedByWorkload, "", ""
		if *d.Ready && n.Revision == d.SHA && d.SHA != "" && (before.Since == nil || n.At.After(before.Since.Time)) {
			d.Since, d.ReportedBy = stored(n.At), v1alpha1.ReportedByNotification
		}
	}
	if *d.Ready && n.Run != nil && n.Revision == d.SHA {
		d.Branch, d.DeploymentType = n.Run.Spec.Deployment.Branch, n.Run.Spec.Deployment.Type
	}
	d.Branch, d.DeploymentType = cmp.Or(says.branch, d.Branch), cmp.Or(says.deploymentType, d.DeploymentType)
	return d
}

// rollingOut names the commit only if another one was there.
func rollingOut(w v1alpha1.DeployedWorkload, before string) string {
	if w.SHA == "" || w.SHA == before {
		return w.Message
	}
	return fmt.Sprintf("%s comes: %s", commit.ShortSHA(w.SHA), w.Message)
}

func severalCommits(shas map[string][]string) string {
	var parts []string
	for _, sha := range slices.Sorted(maps.Keys(shas)) {
		slices.Sort(shas[sha])
		verb := " has "
		if len(shas[sha]) > 1 {
			verb = " have "
		}
		parts = append(parts, strings.Join(shas[sha], ", ")+verb+commit.ShortSHA(sha))
	}
	return "Its workloads have several commits: " + strings.Join(parts, "; ") + "."
}

// bounded orders by repository and service. If there are too many, it drops those whose last deployment is the oldest, notified ones first.
func bounded(all []v1alpha1.Deployed) []v1alpha1.Deployed {
	if len(all) > maxParts {
		slices.SortFunc(all, func(a, b v1alpha1.Deployed) int {
			return cmp.Or(cmp.Compare(min(1, len(b.Workloads)), min(1, len(a.Workloads))), since(b).Compare(since(a)),
				byName(a, b))
		})
		all = all[:maxParts]
	}
	slices.SortFunc(all, byName)
	return all
}

func byName(a, b v1alpha1.Deployed) int {
	return cmp.Or(strings.Compare(a.Repository, b.Repository), strings.Compare(a.Service, b.Service))
}

// stored is a time as the API server keeps it, in whole seconds.
func stored(t time.Time) *metav1.Time { return new(metav1.NewTime(t.Truncate(time.Second))) }

// following is when a rollout is complete that follows another one: later, though the clock may have been set back.
func following(before v1alpha1.Deployed, now time.Time) *metav1.Time {
	if before.Since != nil && now.Before(before.Since.Add(time.Second)) {
		now = before.Since.Add(time.Second)
	}
	return stored(now)
}

func since(d v1alpha1.Deployed) time.Time {
	if d.Since == nil {
		return time.Time{}
	}
	return d.Since.Time
}

// NothingFound says that a workload means no object.
func NothingFound(w v1alpha1.Workload, s Source) string {
	if w.Selector != nil {
		return fmt.Sprintf("No %s in namespace %s matches the selector.", s.Kind, s.Namespace)
	}
	return fmt.Sprintf("There is no %s %s in namespace %s.", s.Kind, w.Name, s.Namespace)
}
