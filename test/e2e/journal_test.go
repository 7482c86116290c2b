package e2e

import (
	"context"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// journal remembers what happened in the cluster, in the order in which one watch per kind told it:
// what polling would miss, such as a second pod of a run that came and went.
type journal struct {
	mu     sync.Mutex
	suites map[types.NamespacedName]*history
}

// history is the life of one Suite as seen from outside.
type history struct {
	jobs, pods map[types.UID]bool

	jobSeen    time.Time // the Job was there
	podSeen    time.Time // the first pod was there
	podStarted time.Time // a pod's container ran
	podsGone   time.Time // the last pod was deleted
	ended      time.Time // the Suite said that it had ended
	states     []string  // each state it was in, once per change
	messages   []string  // each message it had, once per change
}

func keepJournal(ctx context.Context, informers cache.Cache) (*journal, error) {
	j := &journal{suites: map[types.NamespacedName]*history{}}
	for _, kind := range []struct {
		of  client.Object
		saw func(obj any, gone bool)
	}{
		{&v1alpha1.Suite{}, j.sawSuite}, {&batchv1.Job{}, j.sawJob}, {&corev1.Pod{}, j.sawPod},
	} {
		informer, err := informers.GetInformer(ctx, kind.of, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { kind.saw(obj, false) },
			UpdateFunc: func(_, obj any) { kind.saw(obj, false) },
			DeleteFunc: func(obj any) { kind.saw(obj, true) },
		})
		if err != nil {
			return nil, err
		}
	}
	go func() { _ = informers.Start(ctx) }()
	informers.WaitForCacheSync(ctx)
	return j, nil
}

// of is a copy of a Suite's history so far.
func (j *journal) of(key types.NamespacedName) history {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := *j.history(key)
	h.states, h.messages = slices.Clone(h.states), slices.Clone(h.messages)
	return h
}

func (j *journal) history(key types.NamespacedName) *history {
	h := j.suites[key]
	if h == nil {
		h = &history{jobs: map[types.UID]bool{}, pods: map[types.UID]bool{}}
		j.suites[key] = h
	}
	return h
}

func (j *journal) sawSuite(obj any, _ bool) {
	s, ok := obj.(*v1alpha1.Suite)
	if !ok {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.history(client.ObjectKeyFromObject(s))
	if s.Finished() && h.ended.IsZero() {
		h.ended = time.Now()
	}
	h.states = appendChange(h.states, s.State())
	h.messages = appendChange(h.messages, message(s))
}

func appendChange(list []string, next string) []string {
	if next == "" || len(list) > 0 && list[len(list)-1] == next {
		return list
	}
	return append(list, next)
}

func (j *journal) sawJob(obj any, _ bool) {
	job, ok := obj.(*batchv1.Job)
	if !ok || job.Labels[v1alpha1.LabelSuite] == "" {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.history(types.NamespacedName{Namespace: job.Namespace, Name: job.Labels[v1alpha1.LabelSuite]})
	h.jobs[job.UID] = true
	if h.jobSeen.IsZero() {
		h.jobSeen = time.Now()
	}
}

func (j *journal) sawPod(obj any, gone bool) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Labels[v1alpha1.LabelSuite] == "" {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.history(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[v1alpha1.LabelSuite]})
	h.pods[pod.UID] = true
	if h.podSeen.IsZero() {
		h.podSeen = time.Now()
	}
	if h.podStarted.IsZero() && started(pod) {
		h.podStarted = time.Now()
	}
	if gone {
		h.podsGone = time.Now()
	}
}

func started(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(cs corev1.ContainerStatus) bool {
		return cs.State.Running != nil || cs.State.Terminated != nil
	})
}
