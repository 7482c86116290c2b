package suite

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// limitRangesFor is how long LimitRanges are kept: a thousand runs that start together need one read, and a changed LimitRange counts
	// within seconds. A cache of them would hold up every run where the right to read them is missing.
	limitRangesFor = 5 * time.Second

	limitRangesTimeout = 2 * time.Second // bounds a read: most namespaces have none, so a Job does not wait longer for it
	maxLimitRanges     = 50              // bounds what is kept: namespaces have one or two
)

// limitRanges are those of namespaces in which Jobs are created.
type limitRanges struct {
	live     client.Reader
	clock    clock.PassiveClock
	requests singleflight.Group // by namespace

	mu          sync.Mutex
	byNamespace map[string]readLimitRanges
}

type readLimitRanges struct {
	readAt time.Time
	ranges []corev1.LimitRange
}

func newLimitRanges(live client.Reader, clock clock.PassiveClock) *limitRanges {
	return &limitRanges{live: live, clock: clock, byNamespace: map[string]readLimitRanges{}}
}

// +kubebuilder:rbac:groups="",resources=limitranges,verbs=list

// list returns the LimitRanges of a namespace, or none if they cannot be read: then Kubernetes may refuse the pods, which shows.
func (l *limitRanges) list(ctx context.Context, namespace string) []corev1.LimitRange {
	if known, fresh := l.cached(namespace); fresh {
		return known.ranges
	}
	ranges, _, _ := l.requests.Do(namespace, func() (any, error) { return l.read(ctx, namespace), nil })
	return ranges.([]corev1.LimitRange)
}

func (l *limitRanges) cached(namespace string) (known readLimitRanges, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	maps.DeleteFunc(l.byNamespace, func(_ string, r readLimitRanges) bool { return now.Sub(r.readAt) >= limitRangesFor })
	known, fresh = l.byNamespace[namespace]
	return known, fresh
}

func (l *limitRanges) read(ctx context.Context, namespace string) []corev1.LimitRange {
	ctx, cancel := context.WithTimeout(ctx, limitRangesTimeout)
	defer cancel()
	list := &corev1.LimitRangeList{}
	err := l.live.List(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot read the LimitRanges that bound the containers of runs", "namespace", namespace)
	}
	ranges := list.Items[:min(len(list.Items), maxLimitRanges)]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byNamespace[namespace] = readLimitRanges{readAt: l.clock.Now(), ranges: ranges}
	return ranges
}
