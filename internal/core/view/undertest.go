package view

import (
	"cmp"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// Tested is a workload that a run tested.
type Tested struct {
	Name    string // kind and name
	Was, Is string // its commit or revision at the start, and at the end if that differs
	Digests string // of its images at the start
}

func underTest(u *v1alpha1.UnderTest) (all []Tested) {
	if u == nil {
		return nil
	}
	for _, w := range u.Workloads {
		t := Tested{Name: w.Kind + " " + cmp.Or(w.Name, "(none selected)"), Was: versionText(w.Start)}
		if end := versionText(w.End); w.End != nil && end != t.Was {
			t.Is = end
		}
		if w.Start != nil {
			t.Digests = digestsText(w.Start.Digests)
		}
		all = append(all, t)
	}
	return all
}

func versionText(v *v1alpha1.WorkloadVersion) string {
	switch {
	case v == nil || v.UID == "":
		return "unknown"
	case v.SHA != "":
		return commit.ShortSHA(v.SHA)
	default:
		return cmp.Or(v.Revision, "no revision")
	}
}

func digestsText(digests []v1alpha1.ImageDigest) string {
	var all []string
	for _, d := range digests {
		all = append(all, d.Container+" "+d.Digest)
	}
	return strings.Join(all, ", ")
}
