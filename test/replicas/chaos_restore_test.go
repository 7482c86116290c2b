package replicas

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/test/poll"
)

// restoredAfter is how old a Suite is that is restored: a younger one counts as new.
const restoredAfter = v1alpha1.MaxReceiptAge + 5*time.Second

// restores brings a Suite that has ended back from a backup, without its status. What the API server does not answer is not done.
func (w *world) restores(random *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	list := &v1alpha1.SuiteList{}
	if w.tm.s.Client.List(ctx, list, k8sclient.InNamespace(w.tm.namespace)) != nil {
		return
	}
	old := slices.DeleteFunc(list.Items, func(s v1alpha1.Suite) bool {
		return s.Spec.Environment != w.name || !s.Finished() || s.Restored() || time.Since(s.CreationTimestamp.Time) < restoredAfter
	})
	if len(old) == 0 {
		return
	}
	s := &old[random.IntN(len(old))]
	if w.remove(ctx, s) {
		w.restore(ctx, s)
	}
}

// remove reports whether the Suite is gone, with its Job.
func (w *world) remove(ctx context.Context, s *v1alpha1.Suite) (gone bool) {
	before := runOf(s, w.cluster)
	before.Restored = true
	before.Place, before.Repository = w.name, w.commit(before.Commit).repository
	err := poll.Wait(answerWithin, s.Name+" is gone", func() string {
		for _, o := range []k8sclient.Object{s.DeepCopy(), &batchv1.Job{ObjectMeta: w.tm.meta(s.Name)}} {
			err := w.tm.s.Client.Delete(ctx, o, k8sclient.PropagationPolicy(metav1.DeletePropagationBackground))
			if k8sclient.IgnoreNotFound(err) != nil {
				return err.Error()
			}
		}
		if err := w.tm.s.Client.Get(ctx, k8sclient.ObjectKeyFromObject(s), &v1alpha1.Suite{}); !apierrors.IsNotFound(err) {
			return "it is there"
		}
		return ""
	})
	if err != nil {
		w.tm.t.Error(err)
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.earlier = append(w.earlier, before)
	w.cluster.Forget(s)
	return true
}

// restore forgets deployments that only the status knew, because an older run answered them: Postflight cannot know of them any more. Their
// keys are lost, too: a message that is sent again would be a new one, so it is not.
func (w *world) restore(ctx context.Context, s *v1alpha1.Suite) {
	err := poll.Wait(answerWithin, s.Name+" is restored", func() string {
		again := &v1alpha1.Suite{ObjectMeta: w.tm.meta(s.Name), Spec: s.Spec}
		again.Annotations = s.Annotations
		again.Labels = map[string]string{v1alpha1.LabelRestored: "true"}
		for name, value := range s.Labels {
			again.Labels[name] = value
		}
		if err := w.tm.s.Client.Create(ctx, again); err != nil && !apierrors.IsAlreadyExists(err) { // a notification may have been faster
			return err.Error()
		}
		return ""
	})
	if err != nil {
		w.tm.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restored++
	w.sent = slices.DeleteFunc(w.sent, func(m worldMessage) bool {
		return rerun.NotifiedBy(s, m.key) && s.Annotations[v1alpha1.AnnotationIdempotencyKey] != m.key
	})
	for _, g := range w.asked {
		created := func(o worldGate) bool { return o.about == g.about && o.created }
		if g.run == s.Name && !slices.ContainsFunc(w.asked, created) {
			w.deployments[g.about].Told, w.forgotten[g.about] = time.Time{}, true
			w.sent = slices.DeleteFunc(w.sent, func(m worldMessage) bool { return m.about == g.about })
		}
	}
}
