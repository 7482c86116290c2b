package deployed

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

// oneWorkload lists a Deployment, whatever is asked for.
type oneWorkload struct {
	dynamic.Interface
	dynamic.NamespaceableResourceInterface
	object *unstructured.Unstructured
}

func (o *oneWorkload) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return o
}
func (o *oneWorkload) Namespace(string) dynamic.ResourceInterface { return o }
func (o *oneWorkload) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*o.object.DeepCopy()}}, nil
}

func aDeployment(version string) *unstructured.Unstructured {
	o := anObject("web", "web")
	o.SetAPIVersion("apps/v1")
	o.SetKind("Deployment")
	o.SetUID("1")
	o.SetResourceVersion(version)
	o.Object["spec"] = map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "shop"}}}},
	}
	return o
}

// TestRecentDigests: pods that have not said their images yet are read again, and nothing else shares what is kept.
func TestRecentDigests(t *testing.T) {
	recent := newRecentDigests()
	recent.put(aDeployment("7"), []v1alpha1.ImageDigest{})
	if _, known := recent.get(aDeployment("7")); known {
		t.Error("no digests are known as such")
	}
	read := []v1alpha1.ImageDigest{{Container: "web", Digest: "sha256:1"}}
	recent.put(aDeployment("7"), read)
	read[0].Digest = "sha256:2" // as when the answer to a write of the status is decoded
	if digests, known := recent.get(aDeployment("7")); !known || digests[0].Digest != "sha256:1" {
		t.Errorf("got %v, %t", digests, known)
	}
}

// TestBeforeTests: a run starts with the digests that its rollout was read with, unless the workload has changed since, or that was long
// ago. At its end they are read, whatever is known.
func TestBeforeTests(t *testing.T) {
	const read, earlier = "sha256:1", "sha256:earlier"
	for name, tc := range map[string]struct {
		reason string
		ask    func(*Reader, context.Context, *v1alpha1.Environment) ([]v1alpha1.TestedWorkload, error)
		kept   string // the version of the object whose digests are known
		age    time.Duration
		want   string
		lists  int // of pods
	}{
		"start":             {"They are of the object as it is.", (*Reader).BeforeTests, "7", 0, earlier, 0},
		"end":               {"An image may have changed under the same version.", (*Reader).UnderTest, "7", 0, read, 1},
		"changed":           {"Something is being rolled out, or a pod has come.", (*Reader).BeforeTests, "6", 0, read, 1},
		"start, much later": {"An image may have changed.", (*Reader).BeforeTests, "7", recentFor, read, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pods := &pages{objects: 1}
				shared := &Workloads{
					client: &oneWorkload{object: aDeployment("7")}, expressions: newKeptExpressions(), recent: newRecentDigests(),
					kinds: &kinds{clock: clock.RealClock{}, cluster: &cluster{lists: []*metav1.APIResourceList{
						listOf("apps/v1", metav1.APIResource{Name: "deployments", Kind: "Deployment", Namespaced: true}),
					}}},
				}
				r := &Reader{
					Workloads: shared, cache: fakeclient.New(t), live: podPages{pages: pods}, clock: clock.RealClock{},
					locks: map[string]*readLock{}, slots: fairness.NewSharedSemaphore(1, 1),
				}
				shared.recent.put(aDeployment(tc.kept), []v1alpha1.ImageDigest{{Container: "web", Digest: earlier}})
				time.Sleep(tc.age)
				e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "staging", UID: "2"}}
				e.Spec.Workloads = []v1alpha1.Workload{{Name: "web"}}
				tested, err := tc.ask(r, t.Context(), e)
				if err != nil || len(tested) != 1 || len(tested[0].Start.Digests) != 1 {
					t.Fatalf("%+v, %v", tested, err)
				}
				if got := tested[0].Start.Digests[0].Digest; got != tc.want || pods.asked != tc.lists {
					t.Errorf("%s Got %s after %d lists of pods.", tc.reason, got, pods.asked)
				}
			})
		})
	}
}
