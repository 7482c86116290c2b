package bounded

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

// strippedSource passes on all objects, whoever created them, without what is beyond the bound of a namespace. Those who need that read
// these objects from the API server.
type strippedSource struct {
	origin
	size   int64 // of a page
	shares shares
	strip  func(*shares, client.Object)
}

func newStrippedSource(from origin, size int64, strip func(*shares, client.Object)) *strippedSource {
	s := &strippedSource{origin: from, size: size, strip: strip}
	s.shares.begin()
	return s
}

// ListWithContext reads pages.
func (s *strippedSource) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return s.pages(ctx, options, s.size, s.shares.begin, func(o runtime.Object) bool {
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
		s.shares.begin()
	}
	return watch.Filter(inner, func(event watch.Event) (watch.Event, bool) {
		switch event.Type {
		case watch.Added, watch.Modified:
			s.admit(event.Object)
		case watch.Deleted:
			if o, ok := event.Object.(client.Object); ok {
				s.shares.forget(client.ObjectKeyFromObject(o))
			}
		}
		return event, true
	}), nil
}

func (s *strippedSource) admit(o runtime.Object) {
	if obj, ok := o.(client.Object); ok {
		s.strip(&s.shares, obj)
	}
}

// admitSuite leaves out the variables of unfinished Suites beyond the bound.
func admitSuite(held *shares, o client.Object) {
	s, ok := o.(*v1alpha1.Suite)
	if !ok {
		return
	}
	stripSuite(s)
	var bytes int64
	if !s.Finished() && len(s.Spec.Variables) > 0 { // the cache has none of a finished one
		bytes = referencedBy(s.Spec.Variables)
	}
	if !held.take(client.ObjectKeyFromObject(s), bytes, variableBytes) {
		s.Spec.Variables = nil
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationVariablesOmitted, "true")
	}
}

// admitJob leaves out what Jobs remember of their start beyond the bound.
func admitJob(held *shares, o client.Object) {
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
	if held.take(types.NamespacedName{Namespace: j.Namespace, Name: j.Name}, bytes, jobBytes) {
		return
	}
	j.Spec.Template.Spec.InitContainers = nil
	for _, name := range outcome.LargeAnnotations {
		delete(j.Annotations, name)
	}
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationMemoryOmitted, "true")
}
