package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// MaxCompared is how many objects are compared, as many as the status of a Suite may have.
const MaxCompared = 50

const (
	maxChanged  = 2048
	maxRevision = 256
)

// Compared returns the objects that are compared, in their order.
func Compared(found []Found) []Found {
	all := sorted(found)
	return all[:min(len(all), MaxCompared)]
}

// Versions returns what each object is at the moment, as the start of a run. Digests of what was found are those of its pods now; nil: they
// are not known.
func Versions(found []Found) (all []v1alpha1.TestedWorkload) {
	for _, f := range Compared(found) {
		all = append(all, v1alpha1.TestedWorkload{
			Repository: f.Workload.Repository, Service: f.Workload.Service,
			Kind: f.Source.Kind, Namespace: f.Source.Namespace, Name: f.name(), Start: f.version(),
		})
	}
	return all
}

func (f Found) version() *v1alpha1.WorkloadVersion {
	if f.Object == nil {
		return &v1alpha1.WorkloadVersion{Message: plaintext.Line(f.Problem, maxWorkloadText)}
	}
	n, problem := f.read()
	r := rolloutOf(f.Object)
	if f.Object.GetDeletionTimestamp() != nil {
		return &v1alpha1.WorkloadVersion{Message: plaintext.Line(r.message, maxWorkloadText)}
	}
	return &v1alpha1.WorkloadVersion{
		UID: f.Object.GetUID(), Generation: f.Object.GetGeneration(), Revision: plaintext.Line(r.revision,
			maxRevision), SHA: n.sha, Digests: f.Digests, RolledOut: r.ready,
		Message: plaintext.Line(cmp.Or(r.message, problem), maxWorkloadText),
	}
}

// Tested returns what was under test from start to end, given what there is now.
func Tested(start, now []v1alpha1.TestedWorkload) *v1alpha1.UnderTest {
	u := &v1alpha1.UnderTest{}
	var changes []string
	for _, w := range start {
		current := sameObject(w, start, now)
		if w.End = nil; current != nil {
			w.End = current.Start
		}
		u.Workloads = append(u.Workloads, w)
		if change := changeOf(w); change != "" {
			changes = append(changes, change)
		}
	}
	for _, other := range now {
		if sameObject(other, now, start) != nil || other.Start == nil || other.Start.UID == "" {
			continue
		}
		if len(u.Workloads) < MaxCompared {
			other.Start, other.End = nil, other.Start
			u.Workloads = append(u.Workloads, other)
		}
		changes = append(changes, fmt.Sprintf("%s was created.", capital(titleOf(other))))
	}
	u.Changed = plaintext.Line(strings.Join(changes, " "), maxChanged)
	return u
}

// sameObject returns the entry of all for an entry of others. It need not be of the same part if each has one entry for the object.
func sameObject(w v1alpha1.TestedWorkload, others, all []v1alpha1.TestedWorkload) *v1alpha1.TestedWorkload {
	same := func(o v1alpha1.TestedWorkload) bool {
		return o.Kind == w.Kind && o.Namespace == w.Namespace && o.Name == w.Name
	}
	once := func(all []v1alpha1.TestedWorkload) bool {
		i := slices.IndexFunc(all, same)
		return i >= 0 && !slices.ContainsFunc(all[i+1:], same)
	}
	anyPart := once(others) && once(all)
	i := slices.IndexFunc(all, func(o v1alpha1.TestedWorkload) bool {
		return same(o) && (anyPart || testedPart(o).SamePart(testedPart(w)))
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

func testedPart(w v1alpha1.TestedWorkload) commit.Part { return commit.PartOf(w.Repository, w.Service) }

func titleOf(w v1alpha1.TestedWorkload) string { return "the " + w.Kind + " " + w.Name }

// changeOf says how the end of a workload differs from its start, as a sentence, or "". What could be read neither then nor now counts as
// unchanged: nothing is known of it. A restart changes nothing if its images are the same.
func changeOf(w v1alpha1.TestedWorkload) string {
	start, end := version(w.Start), version(w.End)
	name := capital(titleOf(w))
	switch {
	case start.UID == "" && end.UID == "":
		return ""
	case end.UID == "" && end.Message != "":
		return fmt.Sprintf("%s cannot be read any more: %s", name, end.Message)
	case end.UID == "":
		return name + " is gone, or the Environment does not name it any more."
	case start.UID == "":
		return fmt.Sprintf("%s was created, or could not be read before.", name)
	case start.UID != end.UID:
		return name + " was deleted and created again."
	case start.SHA != end.SHA:
		return fmt.Sprintf("%s had %s, and has %s.", name, named(start.SHA), named(end.SHA))
	case steps(w.Kind, start, end) > 1:
		return name + " was changed more than once."
	case len(start.Digests) > 0 && len(end.Digests) > 0:
		return imageChange(w)
	case steps(w.Kind, start, end) > 0 || !start.RolledOut && end.RolledOut:
		return name + " was rolled out."
	default:
		return ""
	}
}

func version(v *v1alpha1.WorkloadVersion) v1alpha1.WorkloadVersion {
	if v == nil {
		return v1alpha1.WorkloadVersion{}
	}
	return *v
}

func named(sha string) string { return cmp.Or(commit.ShortSHA(sha), "no commit") }

// steps returns how many rollouts are between two versions, as far as their kind counts them: two may have brought another image and taken
// it back. A StatefulSet has the same revision again then, so that its changes count, whatever they are.
func steps(kind string, start, end v1alpha1.WorkloadVersion) int64 {
	if kind == "StatefulSet" {
		changes := end.Generation - start.Generation
		if start.Revision == end.Revision && changes == 1 {
			return 0
		}
		return changes
	}
	before, err1 := strconv.ParseInt(start.Revision, 10, 64)
	after, err2 := strconv.ParseInt(end.Revision, 10, 64)
	if err1 != nil || err2 != nil { // a revision of Git, of the configuration as a rule
		return 0
	}
	return max(after-before, before-after)
}

func imageChange(w v1alpha1.TestedWorkload) string {
	for _, before := range w.Start.Digests {
		i := slices.IndexFunc(w.End.Digests, func(d v1alpha1.ImageDigest) bool { return d.Container == before.Container })
		switch {
		case i < 0:
			return fmt.Sprintf("The pods of %s no longer agree on the image of the container %s.", titleOf(w), before.Container)
		case w.End.Digests[i].Digest != before.Digest:
			return fmt.Sprintf("The container %s of %s has another image.", before.Container, titleOf(w))
		}
	}
	if len(w.End.Digests) > len(w.Start.Digests) {
		return capital(titleOf(w)) + " was being rolled out when the tests began."
	}
	return ""
}

// StillThere reports whether a commit is what the Environment has of its repository or service, as far as its workloads name one.
func StillThere(u *v1alpha1.UnderTest, d v1alpha1.Deployment) bool {
	if u == nil || d.SHA == "" {
		return true
	}
	return !slices.ContainsFunc(u.Workloads, func(w v1alpha1.TestedWorkload) bool {
		other := w.End != nil && w.End.SHA != "" && !commit.SameSHA(w.End.SHA, d.SHA)
		own := commit.SameRepository(w.Repository, d.Repository) || d.Repository == "" && !severalRepositories(u.Workloads)
		return other && own && testedPart(w).MayBeSamePart(commit.Of(d).Part)
	})
}

// Another returns a sentence that says which commits were under test from start to end if none of them is the notified one, or "". Only
// commits are compared, no tags such as v1.2. A notification without a repository may be of any repository that the workloads name.
// Workloads without a repository may run other code, so they are not compared.
func Another(u *v1alpha1.UnderTest, d v1alpha1.Deployment) string {
	if u == nil || len(u.Workloads) == 0 || !commit.IsSHA(d.SHA) {
		return ""
	}
	had := ""
	for _, w := range speakers(u.Workloads, commit.Of(d).Part) {
		sha := version(w.Start).SHA
		switch {
		case sha == "":
			continue
		case !isCommitOrShort(sha) || commit.SameSHA(sha, d.SHA):
			return ""
		}
		had = cmp.Or(had, fmt.Sprintf("%s had %s all the time, not %s.", capital(titleOf(w)), commit.ShortSHA(sha), commit.ShortSHA(d.SHA)))
	}
	return had
}

// speakers are the workloads that say what was deployed of a part: of its service, or else of the whole repository.
func speakers(all []v1alpha1.TestedWorkload, p commit.Part) (own []v1alpha1.TestedWorkload) {
	var services []string
	for _, w := range all {
		if w.Repository != "" && testedPart(w).MayBeSamePart(p) {
			own, services = append(own, w), append(services, w.Service)
		}
	}
	speaker := p.Speaker(services)
	return slices.DeleteFunc(own, func(w v1alpha1.TestedWorkload) bool { return p.Service != "" && w.Service != speaker })
}

func severalRepositories(all []v1alpha1.TestedWorkload) bool {
	return slices.ContainsFunc(all, func(w v1alpha1.TestedWorkload) bool {
		return !commit.SameRepository(w.Repository, all[0].Repository)
	})
}
