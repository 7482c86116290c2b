package suite_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// BenchmarkMemory fills the manager's cache with Suites and their Jobs, and its indexes, and prints by how much the
// heap grew. The Suites are complete: finished, with the usual fields of a notification, and with the longest
// summary that a passed run can have; or with tests that failed in all of them, as many as a status has.
func BenchmarkMemory(b *testing.B) {
	for _, bm := range []struct{ suites, failures int }{{10000, 0}, {2000, 3}, {2000, 20}} {
		b.Run(fmt.Sprintf("failures=%d", bm.failures), func(b *testing.B) {
			w := world.Empty(b)
			w.HasTeam()
			w.Parallel(bm.suites, func(i int) error { return finish(w, usualSuite(w, fmt.Sprintf("smoke-%016d", i), i), bm.failures) })
			for b.Loop() {
				before := world.Heap()
				c := fill(w, bm.suites)
				grown := world.Heap() - before
				fmt.Printf("SUITE_MEMORY suites=%d jobs=%d failures=%d bytes_per_suite=%d\n", bm.suites, bm.suites, bm.failures, grown/uint64(bm.suites))
				runtime.KeepAlive(c)
			}
		})
	}
}

// usualSuite is a Suite of a usual notification.
func usualSuite(w *world.World, name string, i int) *v1alpha1.Suite {
	return build.Suite(name, i, build.Keyed("feature/checkout-with-goats/staging"), func(s *v1alpha1.Suite) {
		s.Namespace = w.NS
		s.Labels = map[string]string{
			v1alpha1.LabelTrigger: "smoke", v1alpha1.LabelEnvironment: "staging", v1alpha1.LabelShortSHA: fmt.Sprintf("%012x", i),
		}
		s.Annotations = map[string]string{"postflight.dev/request-id": fmt.Sprintf("%032d", i)}
		s.Spec.Deployment = v1alpha1.Deployment{
			Branch: "feature/checkout-with-goats", SHA: fmt.Sprintf("%012x%028x", i, i), Type: "staging",
			URL: "https://pr-1234.staging.example.com", HostingService: v1alpha1.GitHub, Repository: "acme/shop",
			CommitURL: fmt.Sprintf("https://github.com/acme/shop/commit/%012x%028x", i, i), PullRequestNumber: 1234,
		}
		s.Spec.Variables = v1alpha1.Variables{"REGION": "eu-central-1", "GREP": "@smoke", "BUILD_URL": "https://ci.example.com/builds/1234567"}
	})
}

// finish creates a Suite that has passed, or of which some tests have failed, and its Job.
func finish(w *world.World, s *v1alpha1.Suite, failures int) error {
	ctx := context.Background()
	if err := w.Client.Create(ctx, w.Arrives(s)); err != nil {
		return err
	}
	j := world.JobOf(s)
	if err := w.Client.Create(ctx, j); err != nil {
		return err
	}
	if err := Complete(w, j); err != nil {
		return err
	}
	end := v1alpha1.Passed("The tests passed in 12s: " + strings.Repeat("y", 256))
	if failures > 0 {
		end = v1alpha1.Failed(fmt.Sprintf("%d of 120 tests failed.", failures))
		s.Status.Results = &v1alpha1.TestResults{Tests: 120, Passed: int32(120 - failures), Failed: int32(failures), Failures: failed(s.Name, failures)}
	}
	lifecycle.SetStatus(s, lifecycle.Observation{Suite: s, Job: j}, lifecycle.Decision{Condition: end}, time.Now())
	return w.Client.Status().Update(ctx, s)
}

// failed are the same tests for each run, with messages of its own.
func failed(run string, tests int) (all []v1alpha1.TestFailure) {
	for i := range tests {
		all = append(all, v1alpha1.TestFailure{
			Name: fmt.Sprintf("checkout.spec.ts > the cart › pays by card number %d and shows a receipt", i), File: fmt.Sprintf("tests/checkout/payment-%d.spec.ts", i),
			Line: 42, Message: "Error: expected the receipt of the order " + run + " to be visible within 5000 ms, and it was not", History: v1alpha1.FailureKnown,
		})
	}
	return all
}

// Complete marks a Job as complete, whatever version of it the caller has.
func Complete(w *world.World, j *batchv1.Job) error {
	was := j.DeepCopy()
	now := metav1.Now()
	j.Status.StartTime, j.Status.CompletionTime, j.Status.Succeeded = &now, &now, 1
	for _, t := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
			Type: t, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonCompletionsReached,
			Message: "Reached expected number of succeeded pods", LastProbeTime: now, LastTransitionTime: now,
		})
	}
	return w.Client.Status().Patch(context.Background(), j, client.MergeFrom(was))
}

// fill waits until the cache has all Suites.
func fill(w *world.World, stored int) cache.Cache {
	w.T.Helper()
	options := controllers.CacheOptions(w.NewBounds())
	options.Scheme = w.Scheme
	options.DefaultNamespaces = map[string]cache.Config{w.NS: {}} // without the memory of other benchmarks
	c, err := index.NewCache(w.ManagerConfig, options)
	w.Must(err)
	ctx, cancel := context.WithCancel(context.Background())
	w.T.Cleanup(cancel)
	w.Must(index.Setup(ctx, c))
	go func() { _ = c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		w.T.Fatal("the cache did not fill")
	}
	for _, list := range []client.ObjectList{&v1alpha1.SuiteList{}, &batchv1.JobList{}} {
		w.Must(c.List(ctx, list, client.UnsafeDisableDeepCopy)) // starts the informer, and waits for it
		if n := meta.LenList(list); n != stored {
			w.T.Fatalf("the cache has %d of %T, want %d", n, list, stored)
		}
	}
	return c
}
