package bounded

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

// strippedSource passes on all objects, but without the parts that exceed the room of a namespace. Who needs these parts reads the object
// from the API server.
type strippedSource struct {
	origin
	pageSize int64
	share    *Share
	strip    func(*Share, client.Object)
}

// ListWithContext reads pages.
func (s *strippedSource) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return s.pages(ctx, options, s.pageSize, s.share.Clear, func(o runtime.Object) bool {
		s.admit(o)
		return true
	})
}

// WatchWithContext follows the objects.
func (s *strippedSource) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	inner, err := s.origin.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		s.share.Clear()
	}
	return watch.Filter(inner, func(event watch.Event) (watch.Event, bool) {
		switch event.Type {
		case watch.Added, watch.Modified:
			s.admit(event.Object)
		case watch.Deleted:
			if o, ok := event.Object.(client.Object); ok {
				s.share.Drop(client.ObjectKeyFromObject(o), o.GetUID())
			}
		}
		return event, true
	}), nil
}

func (s *strippedSource) admit(o runtime.Object) {
	if obj, ok := o.(client.Object); ok {
		s.strip(s.share, obj)
	}
}

// admitSuite leaves out the variables of unfinished Suites beyond the bound.
func admitSuite(share *Share, o client.Object) {
	s, ok := o.(*v1alpha1.Suite)
	if !ok {
		return
	}
	stripSuite(s)
	var bytes int64
	if !s.Finished() && len(s.Spec.Variables) > 0 { // the cache has none of a finished one
		bytes = referencedBy(s.Spec.Variables)
	}
	if !share.Take(client.ObjectKeyFromObject(s), s.UID, bytes, s.Namespace) {
		s.Spec.Variables = nil
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationVariablesOmitted, "true")
	}
}

// admitJob leaves out what Jobs remember of their start beyond the bound.
func admitJob(share *Share, o client.Object) {
	j, ok := o.(*batchv1.Job)
	if !ok {
		return
	}
	*j = *outcome.StripJob(j)
	delete(j.Annotations, v1alpha1.AnnotationMemoryOmitted)
	bytes := referencedBy(j.Spec.Template.Spec.InitContainers)
	for _, name := range outcome.LargeAnnotations {
		bytes += int64(len(j.Annotations[name]))
	}
	if share.Take(client.ObjectKeyFromObject(j), j.UID, bytes, j.Namespace) {
		return
	}
	j.Spec.Template.Spec.InitContainers = nil
	for _, name := range outcome.LargeAnnotations {
		delete(j.Annotations, name)
	}
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationMemoryOmitted, "true")
}
