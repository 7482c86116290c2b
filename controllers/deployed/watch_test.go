package deployed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clocktesting "k8s.io/utils/clock/testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
)

var (
	deployments  = workloads.Source{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop"}
	ofDeployment = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

func byLabel(value string) workloads.Selection {
	return workloads.SelectionOf(v1alpha1.Workload{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}})
}

func newTestWatches(t *testing.T) *watches {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	lists := map[schema.GroupVersionResource]string{ofDeployment: "DeploymentList"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	w := newWatches(&Workloads{client: client, kinds: &kinds{clock: clock}, expressions: newKeptExpressions()}, clock)
	w.ctx = t.Context()
	return w
}

// stoppedWatch is a watch for staging, which names Deployments by a label. Its informer reads nothing.
func stoppedWatch(t *testing.T) *watch {
	t.Helper()
	w := newTestWatches(t)
	known := map[workloads.Source]schema.GroupVersionResource{deployments: ofDeployment}
	w.exchange(named("staging"), interests{deployments: {byLabel("web")}}, known)
	running := w.sources[deployments]
	running.stop()
	return running
}

// TestWatchIsJoined: an Environment that named a kind before the cluster was known to have it uses the watch that another one has begun.
func TestWatchIsJoined(t *testing.T) {
	w := newTestWatches(t)
	wanted := interests{deployments: {byLabel("web")}}
	known := map[workloads.Source]schema.GroupVersionResource{deployments: ofDeployment}
	for _, name := range []string{"staging", "nightly"} {
		w.exchange(named(name), wanted, nil)
	}
	for _, name := range []string{"staging", "nightly"} {
		w.exchange(named(name), wanted, known)
	}
	running := w.sources[deployments]
	if running == nil || !slices.Equal(running.namers.All(), []types.NamespacedName{named("nightly"), named("staging")}) {
		t.Fatalf("%+v", running)
	}
	if all := w.exchange(named("staging"), wanted, known); len(all) != 0 {
		t.Errorf("nothing has changed, and %d have", len(all))
	}
	w.exchange(named("staging"), nil, nil)
	if w.sources[deployments] != running {
		t.Error("the watch has ended, which nightly uses")
	}
	w.exchange(named("nightly"), nil, nil)
	if len(w.sources) != 0 || running.ctx.Err() == nil {
		t.Error("the watch goes on, which nobody uses")
	}
}

func anObject(name, app string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetNamespace("shop")
	o.SetName(name)
	o.SetLabels(map[string]string{"app": app})
	return o
}

// TestMissingObjects: an object is missing that a selector would count, however many others are kept, and no other one.
func TestMissingObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		others, own   int // that are kept
		missing       string
		count         int
		reportsObject bool
	}{
		"others are kept":      {"those of another selector do not count", 40, 0, "web-10", 0, true},
		"own ones are kept":    {"it comes before some of them", 0, 20, "web-05-a", 20, true},
		"enough own ones":      {"it comes after all that count", 0, 40, "web-99", workloads.MaxWorkloads + 1, false},
		"another one has none": {"the selector does not have it", 0, 20, "other", 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			running := stoppedWatch(t)
			store := running.informer.GetStore()
			add := func(o any) {
				if err := store.Add(o); err != nil {
					t.Fatal(err)
				}
			}
			for i := range tc.others {
				add(anObject(fmt.Sprintf("api-%02d", i), "api"))
			}
			for i := range tc.own {
				add(anObject(fmt.Sprintf("web-%02d", i), "web"))
			}
			add(stubOf(anObject(tc.missing, strings.Split(tc.missing, "-")[0]), 0))
			all, missing := running.find(byLabel("web"))
			if len(all) != tc.count || (missing != nil) != tc.reportsObject {
				t.Errorf("%s: %d, %v", tc.reason, len(all), missing)
			}
		})
	}
}

// TestStubsAreSmall: what nobody names, or has no room, takes little, whatever its author wrote.
func TestStubsAreSmall(t *testing.T) {
	running := stoppedWatch(t)
	kept := 0
	for _, app := range []string{"web", "other"} {
		for i := range 100 {
			o := anObject(fmt.Sprint(app, i), app)
			labels := map[string]string{"app": app}
			for j := range 10_000 {
				labels[fmt.Sprint("label-", j)] = strings.Repeat("x", 60)
			}
			o.SetLabels(labels)
			_ = unstructured.SetNestedField(o.Object, strings.Repeat("x", 400<<10), "status", "message")
			is, err := running.keep(o)
			if err != nil {
				t.Fatal(err)
			}
			if s, ok := is.(*stub); !ok {
				kept += int(bounded.Size(is))
			} else if size := bounded.Size(s); size > 8<<10 || s.Labels["app"] != app {
				t.Errorf("the stub of %s takes %d bytes", o.GetName(), size)
			}
		}
	}
	if kept > roomBytes || kept < roomBytes/2 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// TestFetchedObject: what was fetched is not replaced by what the informer reads late, and not kept of an object that is gone.
func TestFetchedObject(t *testing.T) {
	running := stoppedWatch(t)
	version := func(v string) *unstructured.Unstructured {
		o := anObject("web", "web")
		o.SetResourceVersion(v)
		return o
	}
	if o, known := running.put(version("20")); o != nil || !known {
		t.Errorf("it is gone, and %v is kept", o)
	}
	if err := running.informer.GetStore().Add(stubOf(version("10"), 0)); err != nil {
		t.Fatal(err)
	}
	if o, known := running.put(version("20")); o == nil || !known {
		t.Error("it is not kept")
	}
	for _, step := range []struct{ reads, keeps string }{{"15", "20"}, {"20", "20"}, {"21", "21"}} {
		is, err := running.keep(version(step.reads))
		if err != nil || is.(*unstructured.Unstructured).GetResourceVersion() != step.keeps {
			t.Errorf("%s: %v %v", step.reads, is, err)
		}
	}
}

// TestLabelsThatWereCut: a stub without all its labels is not taken for one that lacks them.
func TestLabelsThatWereCut(t *testing.T) {
	running := stoppedWatch(t)
	o := anObject("large", "api")
	labels := map[string]string{"zone-of-the-load-balancer": strings.Repeat("x", 63)}
	for i := range 100 {
		labels[fmt.Sprint("label-", i)] = strings.Repeat("x", 20)
	}
	o.SetLabels(labels)
	if err := running.informer.GetStore().Add(stubOf(o, 0)); err != nil {
		t.Fatal(err)
	}
	without := workloads.SelectionOf(v1alpha1.Workload{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "zone-of-the-load-balancer", Operator: metav1.LabelSelectorOpDoesNotExist},
	}}})
	if _, missing := running.find(without); missing != nil {
		t.Errorf("%s is missing", missing.Name)
	}
	if _, missing := running.find(workloads.SelectionOf(v1alpha1.Workload{Name: "large"})); missing == nil {
		t.Error("nobody reads it by its name")
	}
}
