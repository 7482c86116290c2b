package api

import (
	"context"
	"net/http"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/apierror"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// podRun is a pod, and the run that it belongs to. The objects are shared with the cache.
type podRun struct {
	Pod
	team  *v1alpha1.Team
	suite *v1alpha1.Suite
}

func (p *podRun) run() record.Run { return record.Of(p.team.Name, p.suite) }

// podFailures are the answers by the status that the authenticator's error names.
var podFailures = map[int]failure{
	http.StatusUnauthorized: {code: "unauthenticated",
		message: "Only pods of runs may send this request, with the token that Postflight gives their collector. API keys are for all other requests."},
	http.StatusServiceUnavailable: {code: "unavailable",
		message: "Tokens cannot be checked at the moment. Send the request again in a few seconds."},
}

// byPod answers a request of a pod of a run, which its token proves.
func (a *API) byPod(handle func(http.ResponseWriter, *Request) error) func(http.ResponseWriter, *Request) error {
	return func(w http.ResponseWriter, r *Request) error {
		pod, err := a.AuthenticatePod(r.Request)
		if err != nil {
			return authFailure(err, podFailures)
		}
		run, err := a.runOf(r.Context(), pod)
		if err != nil {
			return err
		}
		r.Principal.Team, r.pod = run.team, run
		return a.answer(w, r, handle)
	}
}

// errNoRun says nothing about what exists.
var errNoRun = &failure{code: "run_not_found", message: "Run not found: this pod belongs to no run, or the run has ended."}

// runOf finds the run of a pod by its owners: labels can be given to any pod.
func (a *API) runOf(ctx context.Context, pod Pod) (*podRun, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Limits.LookupTimeout)
	defer cancel()
	p := &corev1.Pod{}
	switch err := a.Live.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, p); {
	case apierror.NotFound(err):
		return nil, errNoRun
	case err != nil:
		return nil, unavailable(err)
	case p.UID != pod.UID || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		return nil, errNoRun
	}
	j, err := owner[batchv1.Job](ctx, a, p, batchv1.SchemeGroupVersion.WithKind("Job"))
	if err != nil {
		return nil, err
	}
	s, err := owner[v1alpha1.Suite](ctx, a, j, v1alpha1.GroupVersion.WithKind("Suite"))
	if err != nil {
		return nil, err
	}
	team, err := index.Owner(ctx, a.Cache, pod.Namespace)
	switch {
	case err != nil:
		return nil, unavailable(err)
	case team == nil || s.Finished():
		return nil, errNoRun
	}
	return &podRun{Pod: pod, team: team, suite: s}, nil
}

// owner reads the controller of an object, which must be of this kind. The cache may lack it, or have an earlier
// object of its name.
func owner[T any, P interface {
	*T
	client.Object
}](ctx context.Context, a *API, of client.Object, kind schema.GroupVersionKind) (P, error) {
	ref := metav1.GetControllerOf(of)
	if ref == nil || ref.APIVersion != kind.GroupVersion().String() || ref.Kind != kind.Kind {
		return nil, errNoRun
	}
	key := types.NamespacedName{Namespace: of.GetNamespace(), Name: ref.Name}
	obj := P(new(T))
	err := a.Cache.Get(ctx, key, obj, client.UnsafeDisableDeepCopy)
	if apierror.NotFound(err) || err == nil && obj.GetUID() != ref.UID {
		obj = P(new(T)) // the other one is shared
		err = a.Live.Get(ctx, key, obj)
	}
	switch {
	case apierror.NotFound(err) || err == nil && obj.GetUID() != ref.UID:
		return nil, errNoRun
	case err != nil:
		return nil, unavailable(err)
	default:
		return obj, nil
	}
}
