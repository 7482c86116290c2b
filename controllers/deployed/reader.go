package deployed

import (
	"context"
	"fmt"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/keymutex"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployed"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// Reader reads what Environments have from the API server, not from the watches, which may lag behind: a verdict depends on it.
type Reader struct {
	cache     client.Reader
	live      client.Reader
	workloads dynamic.Interface
	mapper    meta.RESTMapper

	asking  singleflight.Group
	reading keymutex.KeyMutex
}

const (
	// readAtOnce is how many Environments are read at the same time: each takes a request or two per workload.
	readAtOnce = 16

	// readTimeout is half of what a reconcile may take, so that it can report that the API server does not answer.
	readTimeout = retry.Timeout / 2
)

// NewReader returns a Reader with the clients of a manager.
func NewReader(mgr ctrl.Manager, workloads dynamic.Interface) *Reader {
	return &Reader{
		cache: mgr.GetClient(), live: mgr.GetAPIReader(), workloads: workloads, mapper: mgr.GetRESTMapper(),
		reading: keymutex.NewHashed(readAtOnce),
	}
}

// UnderTest implements suite.Workloads. Runs that ask while an Environment is being read share the next reading, so that a hundred runs
// that end together cost two.
func (r *Reader) UnderTest(ctx context.Context, e *v1alpha1.Environment) ([]v1alpha1.TestedWorkload, error) {
	key := fmt.Sprintf("%s/%d", e.UID, e.Generation)
	answers := r.asking.DoChan(key, func() (any, error) {
		r.reading.LockKey(key)
		defer func() { _ = r.reading.UnlockKey(key) }() // it fails only if the lock is not held
		r.asking.Forget(key)                            // whoever asks from now on needs a later reading
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return r.read(shared, e)
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-answers:
		if a.Err != nil {
			return nil, a.Err
		}
		return a.Val.([]v1alpha1.TestedWorkload), nil
	}
}

func (r *Reader) read(ctx context.Context, e *v1alpha1.Environment) ([]v1alpha1.TestedWorkload, error) {
	team, err := index.Owner(ctx, r.cache, e.Namespace)
	if err != nil {
		return nil, err
	}
	var all []deployed.Found
	for _, w := range e.Spec.Workloads {
		found, err := find(e, team, w, func(s deployed.Source) ([]*unstructured.Unstructured, string, error) { return r.objects(ctx, s, w) })
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	all = deployed.Compared(all) // a selector may find thousands, and each would cost a request
	for i := range all {
		if all[i].Digests, err = r.digests(ctx, all[i].Object); err != nil {
			return nil, err
		}
	}
	return deployed.Versions(all), nil
}

// objects lists those that a workload means. The right to list is the one that the manager has for watching.
func (r *Reader) objects(ctx context.Context, s deployed.Source, w v1alpha1.Workload) (all []*unstructured.Unstructured, problem string, err error) {
	mapping, err := r.mapper.RESTMapping(s.GroupKind(), s.Version)
	if meta.IsNoMatchError(err) || err == nil && mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return nil, unknown(r.mapper, s), nil
	}
	if err != nil {
		return nil, "", err
	}
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", w.Name).String()}
	if w.Selector != nil {
		options = metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(w.Selector)}
	}
	list, err := r.workloads.Resource(mapping.Resource).Namespace(s.Namespace).List(ctx, options)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsBadRequest(err):
		return nil, explain(s, err), nil
	case err != nil:
		return nil, "", fmt.Errorf("list objects of kind %s in namespace %s: %w", s.Kind, s.Namespace, err)
	}
	for i := range list.Items {
		deployed.Slim(&list.Items[i])
		all = append(all, &list.Items[i])
	}
	return all, "", nil
}

// digests are unknown without the right to read pods, and of more pods than are read at once.
func (r *Reader) digests(ctx context.Context, o *unstructured.Unstructured) ([]v1alpha1.ImageDigest, error) {
	if o == nil {
		return nil, nil
	}
	selector, found := deployed.PodsOf(o)
	if !found {
		return nil, nil
	}
	pods := &corev1.PodList{}
	err := r.live.List(ctx, pods, client.InNamespace(o.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}, client.Limit(podsRead))
	if apierrors.IsForbidden(err) || err == nil && pods.Continue != "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the pods of the %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return deployed.Digests(pods.Items), nil
}
