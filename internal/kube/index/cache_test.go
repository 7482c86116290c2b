package index_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/scope"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

// suiteWorld has four Suites in two namespaces, one of which is finished.
type suiteWorld struct {
	*apiserver.Server
	a, b string
}

func newSuiteWorld(t *testing.T) suiteWorld {
	s := apiserver.New(t)
	w := suiteWorld{s, s.Namespace(t), s.Namespace(t)}
	labeled := func(s *v1alpha1.Suite) { s.Labels = map[string]string{"tier": "gold"} }
	for _, s := range []*v1alpha1.Suite{
		build.In(w.a, build.Suite("one", 0, build.InEnvironment("staging"), build.OfTrigger("smoke"))),
		build.In(w.a, build.Suite("two", 1, build.InEnvironment("staging"), build.OfTrigger("load"), labeled)),
		build.In(w.a, build.Suite("three", 2, build.InEnvironment("live"), build.OfTrigger("smoke"))),
		build.In(w.b, build.Suite("four", 3, build.InEnvironment("staging"), build.OfTrigger("smoke"), labeled)),
	} {
		s.Spec.Variables = v1alpha1.Variables{"REGION": "eu"}
		if err := w.Client.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	w.end(t, "two")
	return w
}

func (w suiteWorld) end(t *testing.T, name string) {
	t.Helper()
	s := &v1alpha1.Suite{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.a, Name: name}, s); err != nil {
		t.Fatal(err)
	}
	before, c := s.DeepCopy(), v1alpha1.Passed("The tests passed.")
	c.LastTransitionTime = s.CreationTimestamp
	s.Status.Conditions = []metav1.Condition{c}
	if err := w.Client.Status().Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// options are like a manager's: with a transform, and only for some namespaces if there are any.
func (w suiteWorld) options(namespaces ...string) cache.Options {
	options := ctrl.Options{Cache: cache.Options{Scheme: w.Scheme, NewInformer: bounded.New().NewInformer, ByObject: map[client.Object]cache.ByObject{
		&v1alpha1.Suite{}: {Transform: func(obj any) (any, error) {
			if s, ok := obj.(*v1alpha1.Suite); ok {
				s.Spec.Variables = nil
			}
			return obj, nil
		}},
	}}}
	scope.Scope{Namespaces: namespaces}.Limit(&options)
	return options.Cache
}

func (w suiteWorld) start(t *testing.T, newCache cache.NewCacheFunc, namespaces ...string) cache.Cache {
	t.Helper()
	c, err := newCache(w.Config, w.options(namespaces...))
	if err != nil {
		t.Fatal(err)
	}
	if err := index.Setup(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the cache ended with %v", err)
		}
	})
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the cache is not full")
	}
	return c
}

func names(suites []*v1alpha1.Suite) []string {
	all := make([]string, len(suites))
	for i, s := range suites {
		all[i] = s.Name
	}
	slices.Sort(all)
	return all
}

// TestSuiteCache: the cache finds what controller-runtime's finds, in the whole cluster and in some namespaces, and copies nothing.
func TestSuiteCache(t *testing.T) {
	w := newSuiteWorld(t)
	ours := client.MatchingFields{index.Trigger: "smoke"}
	with := func(options ...client.ListOption) []client.ListOption { return options }
	cases := map[string]struct {
		reason  string
		options []client.ListOption
		want    []string
	}{
		"a namespace":            {"it has an index", with(client.InNamespace(w.a)), []string{"one", "three", "two"}},
		"a field":                {"so does it", with(client.InNamespace(w.a), ours), []string{"one", "three"}},
		"a field elsewhere":      {"keys have the namespace", with(client.InNamespace(w.b), ours), []string{"four"}},
		"a value of no Suite":    {"there is none", with(client.InNamespace(w.b), client.MatchingFields{index.Deployed: "live"}), []string{}},
		"an index of unfinished": {"two has ended", with(client.InNamespace(w.a), client.MatchingFields{index.Unfinished: "true"}), []string{"one", "three"}},
		"two fields": {"both count", with(client.InNamespace(w.a), client.MatchingFields{index.Trigger: "smoke", index.Deployed: "live"}),
			[]string{"three"}},
		"a commit":           {"its set is shared", with(client.InNamespace(w.a), client.MatchingFields{index.Commit: "5ca1ab1e"}), []string{"one", "three", "two"}},
		"a commit elsewhere": {"the namespace counts", with(client.InNamespace(w.b), client.MatchingFields{index.Commit: "5ca1ab1e"}), []string{"four"}},
		"labels":             {"they count, too", with(client.InNamespace(w.a), client.MatchingLabels{"tier": "gold"}), []string{"two"}},
		"labels and a field": {"both count", with(client.InNamespace(w.a), client.MatchingLabels{"tier": "gold"}, ours), []string{}},
	}
	for scoped, namespaces := range map[string][]string{"all namespaces": nil, "some namespaces": {w.a, w.b}} {
		c, other := w.start(t, index.NewCache, namespaces...), w.start(t, cache.New, namespaces...)
		for name, tc := range cases {
			t.Run(scoped+", "+name, func(t *testing.T) {
				all, err := index.SuitesWith(t.Context(), c, tc.options...)
				if diff := cmp.Diff(tc.want, names(all)); diff != "" || err != nil {
					t.Errorf("%s: %v, -want +got\n%s", tc.reason, err, diff)
				}
				expected, err := index.SuitesWith(t.Context(), other, tc.options...)
				if diff := cmp.Diff(names(expected), names(all)); diff != "" || err != nil {
					t.Errorf("%v, -controller-runtime +ours\n%s", err, diff)
				}
				w.sameObjects(t, c, all)
				w.sameList(t, c, other, tc.options...)
			})
		}
		t.Run(scoped+", everything", func(t *testing.T) { w.everything(t, c, ours) })
	}
}

// sameObjects checks that Suites are those that the cache has, and not copies of them.
func (w suiteWorld) sameObjects(t *testing.T, c cache.Cache, suites []*v1alpha1.Suite) {
	t.Helper()
	all, err := index.SuitesWith(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		if !slices.Contains(all, s) {
			t.Errorf("%s is a copy", s.Name)
		}
		if s.Spec.Variables != nil {
			t.Errorf("%s has not been transformed", s.Name)
		}
	}
}

// sameList compares what lists have. The objects of a list are copies, so that their owner may change them.
func (w suiteWorld) sameList(t *testing.T, c, other cache.Cache, options ...client.ListOption) {
	t.Helper()
	for _, more := range [][]client.ListOption{nil, {client.UnsafeDisableDeepCopy}} {
		got, want := &v1alpha1.SuiteList{}, &v1alpha1.SuiteList{}
		options := append(more, options...)
		if err := errors.Join(c.List(t.Context(), got, options...), other.List(t.Context(), want, options...)); err != nil {
			t.Fatal(err)
		}
		byName := func(a, b v1alpha1.Suite) int { return strings.Compare(a.Name, b.Name) }
		slices.SortFunc(got.Items, byName)
		slices.SortFunc(want.Items, byName)
		if diff := cmp.Diff(want.Items, got.Items); diff != "" {
			t.Errorf("-controller-runtime +ours\n%s", diff)
		}
		for i := range got.Items {
			if got.Items[i].Name = "changed"; more == nil {
				metav1.SetMetaDataLabel(&got.Items[i].ObjectMeta, "changed", "yes")
			}
		}
	}
	all, err := index.SuitesWith(t.Context(), c, options...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == "changed" || s.Labels["changed"] != "" {
			t.Errorf("the cache has changed: %s", s.Name)
		}
	}
}

// everything looks among all namespaces, in which other tests may have Suites.
func (w suiteWorld) everything(t *testing.T, c cache.Cache, field client.MatchingFields) {
	t.Helper()
	for name, tc := range map[string]struct {
		options []client.ListOption
		want    []string
	}{"all": {nil, []string{"four", "one", "three", "two"}}, "a field": {[]client.ListOption{field}, []string{"four", "one", "three"}}} {
		all, err := index.SuitesWith(t.Context(), c, tc.options...)
		all = slices.DeleteFunc(all, func(s *v1alpha1.Suite) bool { return s.Namespace != w.a && s.Namespace != w.b })
		if diff := cmp.Diff(tc.want, names(all)); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got\n%s", name, err, diff)
		}
	}
	two, err := index.SuitesWith(t.Context(), c, client.InNamespace(w.a), client.Limit(2))
	if err != nil || len(two) != 2 {
		t.Errorf("%d of at most two: %v", len(two), err)
	}
	for name, options := range map[string][]client.ListOption{
		"a field without an index": {client.InNamespace(w.a), client.MatchingFields{"name": "one"}},
		"a field that differs":     {client.InNamespace(w.a), client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector(index.Trigger, "load")}},
		"a page":                   {client.InNamespace(w.a), client.Continue("two")},
	} {
		if all, err := index.SuitesWith(t.Context(), c, options...); err == nil {
			t.Errorf("%s: %d Suites instead of an error", name, len(all))
		}
	}
}

// TestSuiteCacheFollows: indexes follow updates and deletions, of each namespace.
func TestSuiteCacheFollows(t *testing.T) {
	w := newSuiteWorld(t)
	for scoped, namespaces := range map[string][]string{"all namespaces": nil, "some namespaces": {w.a, w.b}} {
		c := w.start(t, index.NewCache, namespaces...)
		name := "late-" + scoped[:3]
		late := build.In(w.a, build.Suite(name, 4, build.InEnvironment("late")))
		unfinished := func(when string, want int) {
			t.Helper()
			poll.Until(t, when, func() string {
				all, err := index.Suites(t.Context(), c, w.a, index.Environment, "late")
				if err != nil || len(all) != want {
					return scoped + ": the index of unfinished runs has others"
				}
				return ""
			})
		}
		if err := w.Client.Create(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		unfinished("a Suite is created", 1)
		w.end(t, name)
		unfinished("it has ended", 0)
		if all, err := index.Suites(t.Context(), c, w.a, index.Deployed, "late"); err != nil || len(all) != 1 {
			t.Errorf("%s: %d runs of the Environment: %v", scoped, len(all), err)
		}
		if err := w.Client.Delete(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		poll.Until(t, "it is deleted", func() string {
			if all, err := index.Suites(t.Context(), c, w.a, index.Deployed, "late"); err != nil || len(all) > 0 {
				return "it is still there"
			}
			return ""
		})
	}
}

// TestSuiteCacheErrors: a cache that cannot know an answer says so, as controller-runtime's does.
func TestSuiteCacheErrors(t *testing.T) {
	w := newSuiteWorld(t)
	for name, newCache := range map[string]cache.NewCacheFunc{"ours": index.NewCache, "controller-runtime": cache.New} {
		idle, err := newCache(w.Config, w.options())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = index.SuitesWith(t.Context(), idle); err == nil || !isNotStarted(err) {
			t.Errorf("%s: a cache that has not started: %v", name, err)
		}
		if _, err := index.SuitesWith(t.Context(), w.start(t, newCache, w.a), client.InNamespace(w.b)); err == nil {
			t.Errorf("%s: no error for a namespace that is not cached", name)
		}
		if _, err := newCache(&rest.Config{Host: "\x00"}, cache.Options{}); err == nil {
			t.Errorf("%s: no error for a configuration that is none", name)
		}
	}
}

func isNotStarted(err error) bool {
	_, ok := errors.AsType[*cache.ErrCacheNotStarted](err)
	return ok
}

// TestSuiteCacheReadsItsWrites: a client of the cache waits until the Suites that it wrote are there, also when it asks for no copies.
func TestSuiteCacheReadsItsWrites(t *testing.T) {
	w := newSuiteWorld(t)
	c, err := client.New(w.Config, client.Options{Scheme: w.Scheme,
		Cache: &client.CacheOptions{Reader: w.start(t, index.NewCache), EnableReadYourWritesConsistency: new(true)}})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"x-1", "x-2", "x-3", "x-4", "x-5"} {
		if err := c.Create(t.Context(), build.In(w.b, build.Suite(name, i, build.InEnvironment("own")))); err != nil {
			t.Fatal(err)
		}
		all, err := index.Suites(t.Context(), c, w.b, index.Deployed, "own")
		if err != nil || len(all) != i+1 {
			t.Fatalf("%d of %d Suites: %v", len(all), i+1, err)
		}
		again, err := index.Suites(t.Context(), c, w.b, index.Deployed, "own")
		if err != nil || !slices.Contains(again, all[0]) {
			t.Errorf("the client got copies: %v", err)
		}
	}
}
