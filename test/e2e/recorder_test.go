package e2e

import (
	"context"
	"maps"
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

// recorder records what happens in the cluster, with one watch per kind: polling would miss, for example,
// a second pod of a run that existed only briefly.
type recorder struct {
	mu     sync.Mutex
	suites map[types.NamespacedName]*history
}

// history is what the watches saw of one Suite.
type history struct {
	suite *v1alpha1.Suite // as it was last; nil: it was not seen yet
	jobs  map[types.UID]bool
	pods  map[types.UID]bool        // whether it has stopped
	live  map[types.UID]*corev1.Pod // those that exist, as they were last

	jobSeen     time.Time // the Job existed
	podSeen     time.Time // the first pod existed
	podStarted  time.Time // a pod's container ran
	podsStopped time.Time // the last pod had ended, or was deleted
	ended       time.Time // the Suite was finished
	states      []string  // each state it was in, once per change
	messages    []string  // each message it had, once per change
}

func startRecorder(ctx context.Context, informers cache.Cache) (*recorder, error) {
	r := &recorder{suites: map[types.NamespacedName]*history{}}
	for _, kind := range []struct {
		of     client.Object
		record func(obj any, gone bool)
	}{
		{&v1alpha1.Suite{}, r.recordSuite}, {&batchv1.Job{}, r.recordJob}, {&corev1.Pod{}, r.recordPod},
	} {
		informer, err := informers.GetInformer(ctx, kind.of, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { kind.record(obj, false) },
			UpdateFunc: func(_, obj any) { kind.record(obj, false) },
			DeleteFunc: func(obj any) { kind.record(obj, true) },
		})
		if err != nil {
			return nil, err
		}
	}
	go func() { _ = informers.Start(ctx) }()
	informers.WaitForCacheSync(ctx)
	return r, nil
}

// of returns a copy of a Suite's history so far. Its objects are shared.
func (r *recorder) of(key types.NamespacedName) history {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := *r.history(key)
	h.jobs, h.pods, h.live = maps.Clone(h.jobs), maps.Clone(h.pods), maps.Clone(h.live)
	h.states, h.messages = slices.Clone(h.states), slices.Clone(h.messages)
	return h
}

func (r *recorder) history(key types.NamespacedName) *history {
	h := r.suites[key]
	if h == nil {
		h = &history{jobs: map[types.UID]bool{}, pods: map[types.UID]bool{}, live: map[types.UID]*corev1.Pod{}}
		r.suites[key] = h
	}
	return h
}

func (r *recorder) recordSuite(obj any, _ bool) {
	s, ok := obj.(*v1alpha1.Suite)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.history(client.ObjectKeyFromObject(s))
	h.suite = s
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

func (r *recorder) recordJob(obj any, _ bool) {
	job, ok := obj.(*batchv1.Job)
	if !ok || job.Labels[v1alpha1.LabelSuite] == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.history(types.NamespacedName{Namespace: job.Namespace, Name: job.Labels[v1alpha1.LabelSuite]})
	h.jobs[job.UID] = true
	if h.jobSeen.IsZero() {
		h.jobSeen = time.Now()
	}
}

func (r *recorder) recordPod(obj any, gone bool) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Labels[v1alpha1.LabelSuite] == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.history(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[v1alpha1.LabelSuite]})
	if h.podSeen.IsZero() {
		h.podSeen = time.Now()
	}
	if h.podStarted.IsZero() && started(pod) {
		h.podStarted = time.Now()
	}
	stopped := gone || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	h.live[pod.UID] = pod
	if gone {
		delete(h.live, pod.UID)
	}
	if stopped && !h.pods[pod.UID] {
		h.podsStopped = time.Now()
	}
	h.pods[pod.UID] = stopped || h.pods[pod.UID]
}

func started(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(cs corev1.ContainerStatus) bool {
		return cs.State.Running != nil || cs.State.Terminated != nil
	})
}
