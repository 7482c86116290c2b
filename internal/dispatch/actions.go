package dispatch

import (
	"context"
	"crypto/rand"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/index"
	"github.com/postflight-dev/postflight/internal/suite"
)

// maxAttempts bounds the search for an attempt that does not exist yet.
const maxAttempts = 100

// RefusedError is why an action on a run is not possible, as a sentence for the person who asked for it.
type RefusedError struct{ message string }

func (e *RefusedError) Error() string { return e.message }

// Refused is the sentence.
func (e *RefusedError) Refused() string { return e.message }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Cancel stops a run, and records by whom.
func (d *Dispatcher) Cancel(ctx context.Context, s *v1alpha1.Suite, by string) error {
	if s.Finished() {
		return refused("The run has already ended: %s.", s.State())
	}
	canceled := s.DeepCopy()
	canceled.Spec.Cancel = true
	metav1.SetMetaDataAnnotation(&canceled.ObjectMeta, v1alpha1.AnnotationCanceledBy, by)
	if err := d.Writer.Patch(ctx, canceled, client.MergeFrom(s)); err != nil {
		return fmt.Errorf("cancel a run: %w", err)
	}
	return nil
}

// Rerun starts another attempt of a run, records by whom, and returns its name. The Suite has the variables of its
// notification.
func (d *Dispatcher) Rerun(ctx context.Context, s *v1alpha1.Suite, by string) (string, error) {
	if err := d.mayRerun(ctx, s); err != nil {
		return "", err
	}
	trigger := &v1alpha1.Trigger{}
	err := d.Live.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.Trigger.Name}, trigger)
	if apierrors.IsNotFound(err) {
		return "", refused("The Trigger %s does not exist any more.", s.Spec.Trigger.Name)
	}
	if err != nil {
		return "", fmt.Errorf("read the Trigger: %w", err)
	}
	request := "rerun." + rand.Text()
	for attempt := max(s.Spec.Attempt, 1) + 1; attempt < s.Spec.Attempt+maxAttempts; attempt++ {
		rerun := suite.Rerun(s, trigger.UID, attempt, request)
		metav1.SetMetaDataAnnotation(&rerun.ObjectMeta, v1alpha1.AnnotationRerunBy, by)
		err := d.Writer.Create(ctx, rerun)
		if apierrors.IsAlreadyExists(err) {
			continue // an earlier attempt
		}
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return "", refused("The cluster did not accept the run: %s", err)
		}
		return rerun.Name, err
	}
	return "", refused("The run already has %d attempts.", maxAttempts)
}

// mayRerun refuses to repeat a run that goes on, or one after a newer deployment: the new attempt would supersede that
// one, whose pipeline would get the result of the older commit.
func (d *Dispatcher) mayRerun(ctx context.Context, s *v1alpha1.Suite) error {
	if !s.Finished() {
		return refused("The run has not ended yet. Cancel it first.")
	}
	stream := suite.StreamKey(s)
	if stream == "" {
		return nil
	}
	var list v1alpha1.SuiteList
	err := d.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy, client.InNamespace(s.Namespace), client.MatchingFields{index.Stream: stream})
	if err != nil {
		return fmt.Errorf("list the runs of the stream: %w", err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		sameCommit := s.Spec.Deployment.SHA != "" && other.Spec.Deployment.SHA == s.Spec.Deployment.SHA
		switch {
		case sameCommit && !other.Finished() && other.Spec.Trigger.Name == s.Spec.Trigger.Name:
			return refused("Attempt %d of this run has not ended yet: %s.", other.Spec.Attempt, other.Name)
		case !sameCommit && suite.Compare(other, s) > 0:
			return refused("The run %s of a newer deployment came later, and another attempt would supersede it. "+
				"Repeat that run, or deploy this commit again.", other.Name)
		}
	}
	return nil
}
