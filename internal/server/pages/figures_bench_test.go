package pages_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/controllers"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/test/apiserver"
)

// BenchmarkPages prints how long each page of a team with 10,000 runs takes, from the manager's cache of a real API
// server, over HTTP and compressed.
func BenchmarkPages(b *testing.B) {
	const stored, times = 10_000, 200
	server := apiserver.Own(b, apiserver.Options{})
	storeRuns(b, server.Client, stored)
	h := newWorld(b, emptyTeams(), fromCluster(b, server))
	reader := h.browser(b, readKey)
	one := fmt.Sprintf("/runs/shop/load-%05d", stored/2)
	for b.Loop() {
		for _, page := range []string{
			"/runs/shop", "/runs/shop?state=look", "/runs/shop?q=nothing+like+this", "/runs/shop?branch=feature/7", one, one + "/variables",
			one + "/attempts",
			"/triggers/shop", "/triggers/shop/trigger-3", "/environments/shop", "/board/shop",
		} {
			took, size := measure(b, reader, page, times)
			fmt.Printf("PAGE path=%s runs=%d p50_ms=%.1f p99_ms=%.1f bytes=%d\n", page, stored, ms(took[times/2]), ms(took[times*99/100]), size)
		}
	}
}

// measure asks for a page again and again. The times are sorted.
func measure(b *testing.B, reader *browser, page string, times int) (took []time.Duration, size int) {
	b.Helper()
	took = timesOf(times, func() {
		got := reader.do(http.MethodGet, page, "", http.Header{"Accept-Encoding": {"gzip"}})
		if size = len(got.body); got.code != http.StatusOK {
			b.Fatalf("%s: %d", page, got.code)
		}
	})
	return took, size
}

// storeRuns creates the runs of manyRuns, and their Triggers and Environments.
func storeRuns(b *testing.B, c client.Client, n int) {
	b.Helper()
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}},
		&v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: team}}}
	for _, name := range []string{"staging", "production", "device-lab"} {
		objects = append(objects, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: team}})
	}
	for i := range 10 {
		objects = append(objects, &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("trigger-%d", i), Namespace: team},
			Spec: v1alpha1.TriggerSpec{Environment: "staging", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
					Containers: []corev1.Container{{Name: "tests", Image: "tests"}}}},
			}}}})
	}
	for _, o := range objects {
		if err := c.Create(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	all, ctx := errgroup.WithContext(b.Context())
	all.SetLimit(16)
	for _, o := range manyRuns(n) {
		s, ok := o.(*v1alpha1.Suite)
		if !ok || !strings.HasPrefix(s.Name, "load-0") {
			continue
		}
		all.Go(func() error { return storeRun(ctx, c, s) })
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
}

func storeRun(ctx context.Context, c client.Client, s *v1alpha1.Suite) error {
	status := s.Status
	s.UID, s.CreationTimestamp = "", metav1.Time{}
	if err := c.Create(ctx, s); err != nil {
		return err
	}
	s.Status = status
	for i := range s.Status.Conditions {
		s.Status.Conditions[i].LastTransitionTime = metav1.Now()
	}
	return c.Status().Update(ctx, s)
}

// fromCluster makes pages read from the API server, through a cache like the manager's.
func fromCluster(b *testing.B, server *apiserver.Server) option {
	b.Helper()
	o := controllers.CacheOptions(bounded.New())
	o.Scheme = server.Scheme
	objects, err := cache.New(server.Config, o)
	if err != nil {
		b.Fatal(err)
	}
	if err := index.Setup(b.Context(), objects); err != nil {
		b.Fatal(err)
	}
	stored, err := runs.New(runs.Config{Cache: objects, Live: server.Client, PodLogs: noPods{}, Limits: runs.DefaultLimits()})
	if err != nil {
		b.Fatal(err)
	}
	suites, err := objects.GetInformer(b.Context(), &v1alpha1.Suite{}, cache.BlockUntilSynced(false))
	if err != nil {
		b.Fatal(err)
	}
	seen, err := suites.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { stored.SuiteChanged(nil, o.(*v1alpha1.Suite)) },
	})
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = objects.Start(b.Context()) }()
	if !toolscache.WaitForCacheSync(b.Context().Done(), seen.HasSynced) {
		b.Fatal("the cache does not know the Suites")
	}
	return func(c *pages.Config) {
		c.Cache = objects
		c.Runs = &reader{Reader: stored, logs: &logs{}, files: &artifacts{}}
	}
}
