package podfiles

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// ErrNoRun reveals nothing about what exists. All other errors of Signer.Run are those of the API server.
var ErrNoRun = errors.New("the pod belongs to no run, or the run has ended")

// Pod identifies a pod.
type Pod struct {
	Namespace, Name string
	UID             types.UID
}

// Run is a pod and its run. The objects are shared with the cache.
type Run struct {
	Pod
	Team  *v1alpha1.Team
	Suite *v1alpha1.Suite
}

func (r *Run) record() record.Run { return record.Of(r.Team.Name, r.Suite) }

// Run finds the run of a pod by its owners, because any pod can have any labels.
func (s *Signer) Run(ctx context.Context, pod Pod) (*Run, error) {
	ctx, cancel := context.WithTimeout(ctx, s.LookupTimeout)
	defer cancel()
	p := &corev1.Pod{}
	if err := s.Live.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, p); err != nil {
		return nil, noRun(err)
	}
	if p.UID != pod.UID || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil, ErrNoRun
	}
	j, err := owner[batchv1.Job](ctx, s, p, batchv1.SchemeGroupVersion.WithKind("Job").GroupKind())
	if err != nil {
		return nil, err
	}
	run, err := owner[v1alpha1.Suite](ctx, s, j, v1alpha1.GroupVersion.WithKind("Suite").GroupKind())
	if err != nil {
		return nil, err
	}
	team, err := index.Owner(ctx, s.Cache, pod.Namespace)
	if err != nil {
		return nil, err
	}
	if team == nil || run.Finished() {
		return nil, ErrNoRun
	}
	return &Run{Pod: pod, Team: team, Suite: run}, nil
}

func noRun(err error) error {
	if apierror.NotFound(err) {
		return ErrNoRun
	}
	return err
}

// owner reads the controller of an object. The cache may lack it, or have an earlier object of its name.
func owner[T any, P interface {
	*T
	client.Object
}](ctx context.Context, s *Signer, owned client.Object, kind schema.GroupKind) (P, error) {
	ref := metav1.GetControllerOf(owned)
	if !job.Refers(ref, kind) {
		return nil, ErrNoRun
	}
	key := types.NamespacedName{Namespace: owned.GetNamespace(), Name: ref.Name}
	obj := P(new(T))
	err := s.Cache.Get(ctx, key, obj, client.UnsafeDisableDeepCopy)
	if apierror.NotFound(err) || err == nil && obj.GetUID() != ref.UID {
		obj = P(new(T)) // the other one is shared
		err = s.Live.Get(ctx, key, obj)
	}
	if err == nil && obj.GetUID() != ref.UID {
		err = ErrNoRun
	}
	return obj, noRun(err)
}
