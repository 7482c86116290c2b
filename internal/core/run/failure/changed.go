package failure

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// LastGreen returns the last run of the same Trigger, Environment and service that was green and ended before s was received, or nil.
func LastGreen(s *v1alpha1.Suite, runs []*v1alpha1.Suite) (last *v1alpha1.Suite) {
	for _, r := range runs {
		if r.Name != s.Name && r.SameTest(s) && verdict.RunPassed(r) && !endOf(r).After(s.Received().Time) &&
			(last == nil || endOf(r).After(endOf(last))) {
			last = r
		}
	}
	return last
}

func endOf(s *v1alpha1.Suite) time.Time {
	if s.Status.CompletionTime == nil {
		return time.Time{}
	}
	return s.Status.CompletionTime.Time
}

// ChangedSince returns what a run tested that a green run had not, as far as it is known what the Environment had while each of them ran.
func ChangedSince(green, s *v1alpha1.Suite, before, now []httpapi.Deployed) *httpapi.Changed {
	from, to := commit.Of(green.Spec.Deployment), commit.Of(s.Spec.Deployment)
	c := &httpapi.Changed{
		Run: green.Name, SHA: line(green.Spec.Deployment.SHA), EndedAt: endOf(green).UTC(),
		CompareURL: commit.CompareURL(s.Spec.Deployment.CommitURL, from, to),
	}
	for _, d := range now {
		is := commit.New(d.Repository, d.Service, d.SHA)
		if is.Revision == "" || is.SamePart(to.Part) {
			continue
		}
		was := revisionOf(is.Part, before)
		if !commit.EqualRevisions(is.Revision, was) {
			c.Parts = append(c.Parts, component(is.Part, was, is.Revision, ptr.Deref(d.Since, time.Time{})))
		}
	}
	if to.Revision != "" && !from.Same(to) {
		own := component(to.Part, from.Revision, to.Revision, s.DeployedAt().Time)
		own.CompareURL = c.CompareURL
		c.Parts = append(c.Parts, own)
	}
	slices.SortStableFunc(c.Parts, func(a, b httpapi.ChangedComponent) int { return b.At.Compare(a.At) })
	c.Parts = c.Parts[:min(len(c.Parts), maxParts)]
	return c
}

// maxParts bounds what may have changed: people do not look through more.
const maxParts = 30

func component(p commit.Part, from, to string, at time.Time) httpapi.ChangedComponent {
	return httpapi.ChangedComponent{
		Repository: line(p.Repository), Service: line(p.Service), From: line(from), To: cmp.Or(line(to), "unknown"), At: at.UTC(),
	}
}

func revisionOf(p commit.Part, deployed []httpapi.Deployed) string {
	for _, d := range deployed {
		if p.SamePart(commit.PartOf(d.Repository, d.Service)) {
			return d.SHA
		}
	}
	return ""
}
