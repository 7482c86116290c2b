package controllers_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
)

const stored = 10000

// BenchmarkMemory fills the manager's cache of Suites, with its indexes, and prints by how much the
// heap grew. The Suites are whole ones: finished, with what a notification usually says.
func BenchmarkMemory(b *testing.B) {
	w := emptyWorld(b)
	w.parallel(w.Client, stored, func(i int) client.Object { return w.usual(fmt.Sprintf("smoke-%016d", i), i) })
	for b.Loop() {
		before := heap()
		c := w.fill()
		grown := heap() - before
		fmt.Printf("SUITE_MEMORY suites=%d bytes_per_suite=%d\n", stored, grown/stored)
		runtime.KeepAlive(c)
	}
}

// usual is a Suite as a notification makes it. The API server drops a status at creation, so that the
// message of its end stands in an annotation, which costs about the same.
func (w *world) usual(name string, i int) *v1alpha1.Suite {
	return aSuite(name, i, keyed("feature/checkout-with-goats/staging"), func(s *v1alpha1.Suite) {
		s.Namespace = w.ns
		s.Labels = map[string]string{
			v1alpha1.LabelTrigger: "smoke", v1alpha1.LabelEnvironment: "staging", v1alpha1.LabelShortSHA: fmt.Sprintf("%012x", i),
		}
		s.Annotations = map[string]string{
			"postflight.dev/request-id": fmt.Sprintf("%032d", i),
			"status":                    fmt.Sprintf("%0500d", i),
		}
		s.Spec.Deployment = v1alpha1.Deployment{
			Branch: "feature/checkout-with-goats", SHA: fmt.Sprintf("%040x", i), Type: "staging",
			URL: "https://pr-1234.staging.example.com", HostingService: v1alpha1.GitHub, Repository: "acme/shop",
			CommitURL: fmt.Sprintf("https://github.com/acme/shop/commit/%040x", i), PullRequestNumber: 1234,
		}
		s.Spec.Variables = v1alpha1.Variables{"REGION": "eu-central-1", "GREP": "@smoke", "BUILD_URL": "https://ci.example.com/builds/1234567"}
	})
}

// fill waits until the cache has all Suites.
func (w *world) fill() cache.Cache {
	w.t.Helper()
	options := controllers.CacheOptions()
	options.Scheme = w.Scheme
	c, err := cache.New(w.config, options)
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(cancel)
	w.must(controllers.SetupIndexes(ctx, c))
	go func() { _ = c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		w.t.Fatal("the cache did not fill")
	}
	list := &v1alpha1.SuiteList{}
	w.must(c.List(ctx, list, client.UnsafeDisableDeepCopy))
	if len(list.Items) < stored {
		w.t.Fatalf("the cache has %d Suites, want %d", len(list.Items), stored)
	}
	return c
}

func heap() uint64 {
	var m runtime.MemStats
	for range 3 { // what finalizers and pools hold goes with the second and the third
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
