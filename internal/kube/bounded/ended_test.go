package bounded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

// TestEncodedJob: nothing of what the cache keeps of recorded Jobs is lost, and an ended one takes at most a third of the memory.
func TestEncodedJob(t *testing.T) {
	files, err := filepath.Glob("../../core/run/outcome/testdata/recorded/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded Jobs: %v", err)
	}
	ended := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			j := outcome.StripJob(recordedJob(t, file))
			encoded := encode(j.DeepCopy())
			if diff := cmp.Diff(j, decode(encoded)); diff != "" {
				t.Errorf("-was +is\n%s", diff)
			}
			e, isEnded := encoded.(*endedJob)
			if isEnded != (outcome.CompletionTime(j) != nil) {
				t.Fatalf("the Job is a %T", encoded)
			}
			if !isEnded {
				return
			}
			ended++
			if size, most := Size(e), Size(j)/3; size > most {
				t.Errorf("it takes %d bytes, want at most %d", size, most)
			}
			if encode(e) != encoded {
				t.Error("it is encoded twice")
			}
		})
	}
	if ended == 0 {
		t.Error("no recorded Job has ended")
	}
}

func recordedJob(t *testing.T, file string) *batchv1.Job {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	recorded := struct{ Job *batchv1.Job }{}
	if err := json.Unmarshal(content, &recorded); err != nil {
		t.Fatal(err)
	}
	j := recorded.Job
	j.UID, j.ResourceVersion, j.OwnerReferences = "u", "4", cachedJob(j.Name).OwnerReferences
	return j
}

// TestEndedJobsInTheCache: all that leaves the informer are Jobs, however it is asked.
func TestEndedJobsInTheCache(t *testing.T) {
	events := watch.NewFakeWithChanSize(10, false)
	ends := endOf(cachedJob("ends"))
	informer := informerOf(t, events, *cachedJob("runs"), *ends)
	await := listen(t, informer)
	go informer.RunWithContext(t.Context())
	await("added runs running", "added ends ended")
	if o, _, _ := informer.(endedJobs).SharedIndexInformer.GetIndexer().GetByKey("acme/ends"); fmt.Sprintf("%T", o) != "*bounded.endedJob" {
		t.Errorf("the store has a %T", o)
	}
	reads(t, informer.GetIndexer(), ends)
	if got := shownAll(informer.GetStore().List()); !slices.Equal(got, []string{"ends ended", "runs running"}) {
		t.Errorf("got %v", got)
	}
	updated := endOf(cachedJob("runs"))
	updated.ResourceVersion = "7"
	events.Modify(updated)
	await("updated runs running runs ended")
	events.Delete(updated.DeepCopy())
	await("deleted runs ended")
}

func informerOf(t *testing.T, events watch.Interface, jobs ...batchv1.Job) toolscache.SharedIndexInformer {
	t.Helper()
	source := &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &batchv1.JobList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: jobs}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return events, nil },
	}
	byNamespace := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
	informer := New().NewInformer(toolscache.ToListWatcherWithWatchListSemantics(source, noWatchList{}), &batchv1.Job{}, 0, byNamespace)
	err := errors.Join(
		informer.SetTransform(nil),
		informer.AddIndexers(toolscache.Indexers{"state": func(o any) ([]string, error) { return []string{state(o.(*batchv1.Job))}, nil }}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return informer
}

// listen adds a handler in each way, and returns a function that waits until each was told the same.
func listen(t *testing.T, informer toolscache.SharedIndexInformer) (await func(want ...string)) {
	t.Helper()
	told := make(chan string, 100)
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { told <- "added " + shown(o) },
		UpdateFunc: func(old, o any) { told <- "updated " + shown(old) + " " + shown(o) },
		DeleteFunc: func(o any) { told <- "deleted " + shown(o) },
	}
	_, plain := informer.AddEventHandler(handler)
	_, resync := informer.AddEventHandlerWithResyncPeriod(handler, 0)
	_, options := informer.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{})
	if err := errors.Join(plain, resync, options); err != nil {
		t.Fatal(err)
	}
	return func(want ...string) {
		t.Helper()
		left := slices.Concat(want, want, want)
		for len(left) > 0 {
			select {
			case what := <-told:
				i := slices.Index(left, what)
				if i < 0 {
					t.Fatalf("a handler is told %q, want %q", what, left)
				}
				left = slices.Delete(left, i, i+1)
			case <-time.After(time.Minute):
				t.Fatalf("handlers are not told %q", left)
			}
		}
	}
}

// reads checks each way to read a Job that has ended.
func reads(t *testing.T, indexer toolscache.Indexer, want *batchv1.Job) {
	t.Helper()
	name := func(o any) ([]string, error) { return []string{o.(*batchv1.Job).Name}, nil }
	if err := indexer.AddIndexers(toolscache.Indexers{"named": name}); err != nil {
		t.Fatal(err)
	}
	one := func(o any, found bool, err error) []any {
		if !found || err != nil {
			return nil
		}
		return []any{o}
	}
	many := func(all []any, err error) []any {
		if err != nil {
			t.Error(err)
		}
		return all
	}
	for how, got := range map[string][]any{
		"by key":          one(indexer.GetByKey("acme/ends")),
		"by object":       one(indexer.Get(want)),
		"by index":        many(indexer.ByIndex("state", "ended")),
		"by later index":  many(indexer.ByIndex("named", "ends")),
		"by equal values": many(indexer.Index("state", want)),
	} {
		if diff := cmp.Diff([]any{want}, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", how, diff)
		}
	}
}

func shown(o any) string {
	if j, ok := o.(*batchv1.Job); ok {
		return j.Name + " " + state(j)
	}
	return fmt.Sprintf("%T", o)
}

func shownAll(objects []any) (all []string) {
	for _, o := range objects {
		all = append(all, shown(o))
	}
	slices.Sort(all)
	return all
}

func state(j *batchv1.Job) string {
	if outcome.CompletionTime(j) == nil {
		return "running"
	}
	return "ended"
}

// TestTombstoneOfAJob: the last that is known of a Job whose deletion the watch missed is a Job, too.
func TestTombstoneOfAJob(t *testing.T) {
	want := endOf(cachedJob("ends"))
	gone := decode(toolscache.DeletedFinalStateUnknown{Key: "acme/ends", Obj: encode(want.DeepCopy())})
	if diff := cmp.Diff(any(toolscache.DeletedFinalStateUnknown{Key: "acme/ends", Obj: want}), gone); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func cachedJob(name string) *batchv1.Job {
	return outcome.StripJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "acme", Name: name, UID: "u", ResourceVersion: "4", CreationTimestamp: metav1.Now().Rfc3339Copy(),
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Suite", Name: name, UID: "s", Controller: new(true)},
		},
	}})
}

func endOf(j *batchv1.Job) *batchv1.Job {
	now := metav1.Now().Rfc3339Copy()
	j.Status.CompletionTime, j.Status.Succeeded = &now, 1
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	return j
}

type noWatchList struct{}

func (noWatchList) IsWatchListSemanticsUnSupported() bool { return true }
