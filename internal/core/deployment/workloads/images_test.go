package workloads

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestImages(t *testing.T) {
	tested := func(name, repository, service, sha string, digests ...string) v1alpha1.TestedWorkload {
		version := &v1alpha1.WorkloadVersion{UID: "uid", Generation: 1, Revision: "1", SHA: sha, RolledOut: true, Digests: runs(digests...)}
		return v1alpha1.TestedWorkload{
			Kind: "Deployment", Namespace: "shop", Name: name, Repository: repository, Service: service, Start: version, End: version.DeepCopy(),
		}
	}
	edit := func(w v1alpha1.TestedWorkload, change func(*v1alpha1.TestedWorkload)) v1alpha1.TestedWorkload {
		change(&w)
		return w
	}
	web := tested("web", "acme/shop", "", shaA, "app", "sha256:1", "proxy", "sha256:2")
	cart, mail := tested("cart", "acme/shop", "cart", shaA, "app", "sha256:3"), tested("mail", "acme/shop", "mail", shaB, "app", "sha256:4")
	deployed := v1alpha1.Deployment{Repository: "Acme/Shop", SHA: shaA}
	for name, tc := range map[string]struct {
		reason  string
		tested  *v1alpha1.UnderTest
		of      v1alpha1.Deployment
		digests []string
	}{
		"nothing":            {reason: "the Environment has no workloads", of: deployed},
		"of the repository":  {tested: &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{web}}, of: deployed, digests: []string{"sha256:1", "sha256:2"}},
		"no repository":      {"only one is there", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{web}}, v1alpha1.Deployment{SHA: shaA}, []string{"sha256:1", "sha256:2"}},
		"which repository":   {"either may be deployed", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{web, tested("db", "acme/db", "", "", "db", "sha256:9")}}, v1alpha1.Deployment{SHA: shaA}, nil},
		"another repository": {"its image may be broken without this deployment", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{web, tested("db", "acme/db", "", "", "db", "sha256:9")}}, deployed, []string{"sha256:1", "sha256:2"}},
		"another commit":     {"mail has not been deployed with this one", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{cart, mail}}, deployed, []string{"sha256:3"}},
		"a version":          {"a tag names no other commit", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{tested("web", "acme/shop", "", "v1.2", "app", "sha256:1")}}, deployed, []string{"sha256:1"}},
		"a service":          {"the others are not what was deployed", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{web, cart}}, v1alpha1.Deployment{Repository: "acme/shop", Service: "cart", SHA: shaA}, []string{"sha256:3"}},
		"a change":           {"the run is Inconclusive", &v1alpha1.UnderTest{Changed: "web was rolled out.", Workloads: []v1alpha1.TestedWorkload{web}}, deployed, nil},
		"stopped": {"the end is not known", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
			edit(web, func(w *v1alpha1.TestedWorkload) { w.End = nil })}}, deployed, nil},
		"another image": {"the digests decide, whatever the status says of changes", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
			edit(web, func(w *v1alpha1.TestedWorkload) { w.End = web.End.DeepCopy(); w.End.Digests[0].Digest = "sha256:5" })}}, deployed, nil},
		"still rolling out": {"pods of another version may have answered", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
			edit(web, func(w *v1alpha1.TestedWorkload) {
				w.Start, w.End = web.Start.DeepCopy(), web.End.DeepCopy()
				w.Start.RolledOut, w.End.RolledOut = false, false
			})}}, deployed, nil},
		"digests unknown at the end": {"the pods could not be read", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
			edit(web, func(w *v1alpha1.TestedWorkload) { w.End = web.End.DeepCopy(); w.End.Digests = nil })}}, deployed, nil},
		"digests unknown": {"at the start", &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
			edit(web, func(w *v1alpha1.TestedWorkload) { w.Start = web.Start.DeepCopy(); w.Start.Digests = nil })}}, deployed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var digests []string
			for _, image := range Images(tc.tested, tc.of) {
				digests = append(digests, image.Digest)
			}
			if diff := cmp.Diff(tc.digests, digests); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
	want := Image{"Deployment", "shop", "web", "proxy", "sha256:2"}
	if all := Images(&v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{web}}, deployed); len(all) != 2 || all[1] != want {
		t.Errorf("%v, want %v", all, want)
	}
}
