package workloads

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const shaA, shaB = "aaaaaaa1aaaaaaa1aaaaaaa1aaaaaaa1aaaaaaa1", "bbbbbbb2bbbbbbb2bbbbbbb2bbbbbbb2bbbbbbb2"

func revision(n string) change {
	return set(n, "metadata", "annotations", "deployment.kubernetes.io/revision")
}

func generation(n int64) change { return set(n, "metadata", "generation") }

func runs(digests ...string) []v1alpha1.ImageDigest {
	all := []v1alpha1.ImageDigest{}
	for i := 0; i < len(digests); i += 2 {
		all = append(all, v1alpha1.ImageDigest{Container: digests[i], Digest: digests[i+1]})
	}
	return all
}

// seen is a Deployment web with the digests of its pods.
func seen(sha string, digests []v1alpha1.ImageDigest, changes ...change) Found {
	f := found("acme/shop", aDeployment("web", sha, changes...))
	f.Digests = digests
	return f
}

func inService(name string, f Found) Found {
	f.Workload.Service = name
	return f
}

func otherKind(kind string, f Found) Found {
	f.Workload.Kind, f.Source.Kind = kind, kind
	if f.Object != nil {
		f.Object.SetKind(kind)
	}
	return f
}

// synced is an Application. It has no pods of its own, and the revision of its configuration.
func synced(sha, revision, sync string) Found {
	w := v1alpha1.Workload{Kind: "Application", Name: "web", Repository: "acme/shop"}
	o := &unstructured.Unstructured{Object: fields{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": fields{"name": "web", "namespace": "shop", "uid": "uid-app", "annotations": fields{AnnotationSHA: sha}},
		"status":   fields{"sync": fields{"revision": revision, "status": sync}, "health": fields{"status": "Healthy"}},
	}}
	return Found{Workload: w, Source: SourceOf(&anEnvironment, w), Object: o}
}

func TestTested(t *testing.T) {
	a, b := runs("web", "sha256:a"), runs("web", "sha256:b")
	twice := func(f Found) []Found { return []Found{f, f} }
	for name, tc := range map[string]struct {
		reason  string
		was, is []Found
		want    string // begins what changed
	}{
		"nothing":               {"as most runs", twice(seen(shaA, a, revision("1")))[:1], twice(seen(shaA, a, revision("1")))[1:], ""},
		"another commit":        {"a rollout", []Found{seen(shaA, a, revision("1"))}, []Found{seen(shaB, b, revision("2"))}, "The Deployment web had aaaaaaa1, and has bbbbbbb2."},
		"has just begun":        {"its pods come soon", []Found{seen(shaA, a, revision("1"))}, []Found{seen(shaB, a, revision("1"), rolling)}, "The Deployment web had aaaaaaa1"},
		"another image":         {"without a commit", []Found{seen("", a, revision("1"))}, []Found{seen("", b, revision("2"))}, "The container web of the Deployment web has another image."},
		"half":                  {"some pods have another image", []Found{seen("", a, revision("1"))}, []Found{seen("", runs(), revision("2"), rolling)}, "The Deployment web was rolled out."},
		"half, with a sidecar":  {"the sidecars are equal", []Found{seen("", runs("mesh", "m", "web", "a"), revision("1"))}, []Found{seen("", runs("mesh", "m"), revision("2"), rolling)}, "The pods of the Deployment web no longer agree on the image of the container web."},
		"was half, sidecar":     {"the run began in the middle", []Found{seen(shaA, runs("mesh", "m"), revision("2"), rolling)}, []Found{seen(shaA, runs("mesh", "m", "web", "a"), revision("2"))}, "The Deployment web was being rolled out when the tests began."},
		"was half":              {"the run began in the middle", []Found{seen(shaA, runs(), revision("2"), rolling)}, []Found{seen(shaA, a, revision("2"))}, "The Deployment web was rolled out."},
		"began before its pods": {"the old ones served", []Found{seen(shaB, a, revision("1"), rolling)}, []Found{seen(shaB, b, revision("2"))}, "The container web of the Deployment web has another image."},
		"restart":               {"the same images", []Found{seen(shaA, a, revision("1"))}, []Found{seen(shaA, a, revision("2"))}, ""},
		"restarting":            {"the same images", []Found{seen(shaA, a, revision("1"))}, []Found{seen(shaA, a, revision("2"), rolling)}, ""},
		"there and back":        {"another version may have served", []Found{seen(shaA, a, revision("1"))}, []Found{seen(shaA, a, revision("3"))}, "The Deployment web was changed more than once."},
		"scaled":                {"the revision is the same", []Found{seen(shaA, a, revision("1"))}, []Found{seen(shaA, a, revision("1"), generation(9), rolling)}, ""},
		"unknown images":        {"pods cannot be read", []Found{seen(shaA, nil, revision("1"))}, []Found{seen(shaA, nil, revision("1"))}, ""},
		"unknown, restart":      {"it may be another image", []Found{seen(shaA, nil, revision("1"))}, []Found{seen(shaA, nil, revision("2"))}, "The Deployment web was rolled out."},
		"stuck all along":       {"nothing moved", []Found{seen(shaA, a, revision("2"), failed)}, []Found{seen(shaA, a, revision("2"), failed)}, ""},
		"being deleted":         {"its pods stop", []Found{seen(shaA, a)}, []Found{seen(shaA, runs(), set("2026-11-25T10:00:00Z", "metadata", "deletionTimestamp"))}, "The Deployment web cannot be read any more: The Deployment web is being deleted."},
		"deleted":               {"", []Found{seen(shaA, a)}, []Found{missing("acme/shop", "web")}, "The Deployment web cannot be read any more: There is no Deployment web in namespace shop."},
		"not named any more":    {"", []Found{seen(shaA, a)}, nil, "The Deployment web is gone, or the Environment does not name it any more."},
		"created":               {"", []Found{missing("acme/shop", "web")}, []Found{seen(shaA, a)}, "The Deployment web was created, or could not be read before."},
		"never there":           {"nothing is known", []Found{missing("acme/shop", "web")}, []Found{missing("acme/shop", "web")}, ""},
		"another one, too":      {"a selector finds more", []Found{seen(shaA, a)}, []Found{seen(shaA, a), found("acme/shop", aDeployment("api", shaA))}, "The Deployment api was created."},
		"created again":         {"", []Found{seen(shaA, a)}, []Found{seen(shaA, a, set("uid-2", "metadata", "uid"))}, "The Deployment web was deleted and created again."},
		"of a StatefulSet": {"there and back has one revision", []Found{otherKind("StatefulSet", seen(shaA, a, generation(4)))},
			[]Found{otherKind("StatefulSet", seen(shaA, a, generation(6)))}, "The StatefulSet web was changed more than once."},
		"scaled StatefulSet":   {"", []Found{otherKind("StatefulSet", seen(shaA, a, generation(4)))}, []Found{otherKind("StatefulSet", seen(shaA, a, generation(5)))}, ""},
		"configuration":        {"other objects of the repository", []Found{synced(shaA, "c1", "Synced")}, []Found{synced(shaA, "c2", "Synced")}, ""},
		"a sync begins":        {"of what is not known", []Found{synced(shaA, "c1", "Synced")}, []Found{synced(shaA, "c1", "OutOfSync")}, ""},
		"a sync ended":         {"the run began in the middle", []Found{synced(shaA, "c1", "OutOfSync")}, []Found{synced(shaA, "c2", "Synced")}, "The Application web was rolled out."},
		"application":          {"", []Found{synced(shaA, "c1", "Synced")}, []Found{synced(shaB, "c2", "Synced")}, "The Application web had aaaaaaa1, and has bbbbbbb2."},
		"a service is named":   {"it is the same object", []Found{seen(shaA, a)}, []Found{inService("cart", seen(shaA, a))}, ""},
		"and it is rolled out": {"it is the same object", []Found{seen(shaA, a)}, []Found{inService("cart", seen(shaB, a))}, "The Deployment web had aaaaaaa1, and has bbbbbbb2."},
		"of two services":      {"it is of both", []Found{inService("cart", seen(shaA, a)), inService("mail", seen(shaA, a))}, []Found{inService("mail", seen(shaA, a)), inService("cart", seen(shaA, a))}, ""},
		"of one of two":        {"it is not named any more", []Found{inService("cart", seen(shaA, a)), inService("mail", seen(shaA, a))}, []Found{inService("mail", seen(shaA, a))}, "The Deployment web is gone, or the Environment does not name it any more."},
		"of one more":          {"it is named twice", []Found{inService("cart", seen(shaA, a))}, []Found{inService("cart", seen(shaA, a)), inService("mail", seen(shaA, a))}, "The Deployment web was created."},
		"two of them": {"each is named", []Found{seen(shaA, a), found("acme/api", aDeployment("api", shaA))}, []Found{seen(shaB, a), found("acme/api", aDeployment("api", shaB))},
			"The Deployment api had aaaaaaa1, and has bbbbbbb2. The Deployment web had"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Tested(Versions(tc.was), Versions(tc.is))
			if tc.want == "" && got.Changed != "" || !strings.HasPrefix(got.Changed, tc.want) {
				t.Errorf("%s: %q, want %q", tc.reason, got.Changed, tc.want)
			}
		})
	}
}

// TestVersionsAreBounded: an annotation of the Job and a status have room for so many.
func TestVersionsAreBounded(t *testing.T) {
	var many []Found
	for i := range 70 {
		many = append(many, found("acme/shop", aDeployment(fmt.Sprintf("web-%02d", i), shaA)))
	}
	got := Tested(Versions(many), Versions(append(many, seen(shaB, nil))))
	if len(got.Workloads) != MaxCompared || got.Workloads[0].Name != "web" && got.Workloads[0].Name != "web-00" {
		t.Errorf("%d, from %s", len(got.Workloads), got.Workloads[0].Name)
	}
}

func TestAnother(t *testing.T) {
	tested := func(repository, sha string) v1alpha1.TestedWorkload {
		return v1alpha1.TestedWorkload{Kind: "Deployment", Name: "web", Repository: repository, Start: &v1alpha1.WorkloadVersion{UID: types.UID("x"), SHA: sha}}
	}
	notified := v1alpha1.Deployment{Repository: "acme/shop", SHA: shaA}
	cart := v1alpha1.Deployment{Repository: "acme/shop", Service: "cart", SHA: shaA}
	service := func(name, sha string) v1alpha1.TestedWorkload {
		w := tested("acme/shop", sha)
		w.Service = name
		return w
	}
	elsewhere := service("cart", shaA)
	elsewhere.Repository = "acme/api"
	const other = "The Deployment web had bbbbbbb2 all the time, not aaaaaaa1."
	for name, tc := range map[string]struct {
		reason string
		of     v1alpha1.Deployment
		start  []v1alpha1.TestedWorkload
		want   string
	}{
		"the same":             {"", notified, []v1alpha1.TestedWorkload{tested("acme/shop", shaA)}, ""},
		"its tag":              {"Git shortens it", notified, []v1alpha1.TestedWorkload{tested("acme/shop", shaA[:8])}, ""},
		"another":              {"GitOps deploys it later", notified, []v1alpha1.TestedWorkload{tested("acme/shop", shaB)}, "The Deployment web had bbbbbbb2 all the time, not aaaaaaa1."},
		"another tag":          {"", notified, []v1alpha1.TestedWorkload{tested("acme/shop", shaB[:7])}, "The Deployment web had bbbbbbb all the time, not aaaaaaa1."},
		"one of two":           {"a part of it was tested", notified, []v1alpha1.TestedWorkload{tested("acme/shop", shaB), tested("acme/shop", shaA)}, ""},
		"a version":            {"nobody knows of which commit", notified, []v1alpha1.TestedWorkload{tested("acme/shop", "v1.2.3")}, ""},
		"nothing":              {"nobody knows", notified, []v1alpha1.TestedWorkload{tested("acme/shop", ""), {Repository: "acme/shop"}}, ""},
		"another repository":   {"it may have any commit", notified, []v1alpha1.TestedWorkload{tested("acme/api", shaB)}, ""},
		"no repository":        {"nothing says that they are of the same code", v1alpha1.Deployment{SHA: shaA}, []v1alpha1.TestedWorkload{tested("", shaB)}, ""},
		"none of several":      {"it is not there", v1alpha1.Deployment{SHA: shaA}, []v1alpha1.TestedWorkload{tested("acme/shop", shaB), tested("acme/api", shaB)}, "The Deployment web had bbbbbbb2 all the time, not aaaaaaa1."},
		"one of several":       {"it may be that of the other one", v1alpha1.Deployment{SHA: shaA}, []v1alpha1.TestedWorkload{tested("acme/shop", shaB), tested("acme/api", shaA)}, ""},
		"its service":          {"others have their own", cart, []v1alpha1.TestedWorkload{service("checkout", shaA), service("cart", shaB)}, other},
		"without a service":    {"they are of all", cart, []v1alpha1.TestedWorkload{service("checkout", shaB), service("", shaA)}, ""},
		"both":                 {"its own decide", cart, []v1alpha1.TestedWorkload{service("", shaA), service("cart", shaB)}, other},
		"both, swapped":        {"its own decide", cart, []v1alpha1.TestedWorkload{service("", shaB), service("cart", shaA)}, ""},
		"both, unread":         {"its own decide, and name no commit", cart, []v1alpha1.TestedWorkload{service("", shaB), service("cart", "")}, ""},
		"both elsewhere":       {"another repository has such a service", cart, []v1alpha1.TestedWorkload{service("", shaB), elsewhere}, other},
		"notified of no one":   {"it may be that of one", notified, []v1alpha1.TestedWorkload{service("cart", shaB), service("checkout", shaA)}, ""},
		"notified of a number": {"it is no commit", v1alpha1.Deployment{Repository: "acme/shop", SHA: "build-7"}, []v1alpha1.TestedWorkload{tested("acme/shop", shaB)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Another(&v1alpha1.UnderTest{Workloads: tc.start}, tc.of); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestStillThere(t *testing.T) {
	tested := func(repository, sha string) v1alpha1.TestedWorkload {
		return v1alpha1.TestedWorkload{Repository: repository, End: &v1alpha1.WorkloadVersion{UID: types.UID("x"), SHA: sha}}
	}
	for name, tc := range map[string]struct {
		of   v1alpha1.Deployment
		end  []v1alpha1.TestedWorkload
		want bool
	}{
		"the same":                 {v1alpha1.Deployment{Repository: "acme/shop", SHA: shaA}, []v1alpha1.TestedWorkload{tested("acme/shop", shaA)}, true},
		"its tag":                  {v1alpha1.Deployment{Repository: "acme/shop", SHA: shaA}, []v1alpha1.TestedWorkload{tested("acme/shop", shaA[:8])}, true},
		"another":                  {v1alpha1.Deployment{Repository: "acme/shop", SHA: shaA}, []v1alpha1.TestedWorkload{tested("acme/shop", shaB)}, false},
		"of another repository":    {v1alpha1.Deployment{Repository: "acme/shop", SHA: shaA}, []v1alpha1.TestedWorkload{tested("acme/api", shaB)}, true},
		"one of two":               {v1alpha1.Deployment{Repository: "acme/shop", SHA: shaA}, []v1alpha1.TestedWorkload{tested("acme/shop", shaA), tested("acme/shop", shaB)}, false},
		"no commit":                {v1alpha1.Deployment{Repository: "acme/shop", SHA: shaA}, []v1alpha1.TestedWorkload{tested("acme/shop", "")}, true},
		"gone":                     {v1alpha1.Deployment{Repository: "acme/shop", SHA: shaA}, []v1alpha1.TestedWorkload{{Repository: "acme/shop"}}, true},
		"notified without":         {v1alpha1.Deployment{SHA: shaA}, []v1alpha1.TestedWorkload{tested("acme/shop", shaB)}, false},
		"notified without, of two": {v1alpha1.Deployment{SHA: shaA}, []v1alpha1.TestedWorkload{tested("acme/shop", shaB), tested("acme/api", shaB)}, true},
		"nothing was notified":     {v1alpha1.Deployment{}, []v1alpha1.TestedWorkload{tested("", shaB)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := StillThere(&v1alpha1.UnderTest{Workloads: tc.end}, tc.of); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// TestVersionsFit into the status, whatever others write into their objects.
func TestVersionsFit(t *testing.T) {
	var many []Found
	for i := range 3 * MaxCompared {
		many = append(many, found("acme/shop", aDeployment(fmt.Sprintf("web-%03d", i), shaA, revision(strings.Repeat("1", 300)))))
	}
	all := Versions(many)
	if len(all) != MaxCompared || len(Compared(many)) != MaxCompared || len(all[0].Start.Revision) > 256 {
		t.Errorf("%d, %d, %q", len(all), len(Compared(many)), all[0].Start.Revision)
	}
}
