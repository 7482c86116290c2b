package suite

import (
	"context"
	"time"

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
	live   client.Reader
	recent namespaceReads[[]corev1.LimitRange]
}

func newLimitRanges(live client.Reader, c clock.PassiveClock) *limitRanges {
	l := &limitRanges{live: live}
	l.recent.clock, l.recent.read, l.recent.every, l.recent.timeout = c, l.read, limitRangesFor, limitRangesTimeout
	return l
}

// list returns the LimitRanges of a namespace, or none if they cannot be read: then Kubernetes may refuse the pods, which shows.
func (l *limitRanges) list(ctx context.Context, namespace string) []corev1.LimitRange {
	return l.recent.get(ctx, namespace)
}

// +kubebuilder:rbac:groups="",resources=limitranges,verbs=list

func (l *limitRanges) read(ctx context.Context, namespace string) []corev1.LimitRange {
	list := &corev1.LimitRangeList{}
	err := l.live.List(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot read the LimitRanges that bound the containers of runs", "namespace", namespace)
	}
	return list.Items[:min(len(list.Items), maxLimitRanges)]
}
