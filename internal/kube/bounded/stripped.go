package bounded

import (
	"context"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
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

// suiteKeys are the labels and annotations of Suites that Postflight writes or reads.
var suiteKeys = []string{
	v1alpha1.LabelTrigger, v1alpha1.LabelEnvironment, v1alpha1.LabelShortSHA, v1alpha1.LabelRestored, v1alpha1.LabelRestoredByVelero,
	v1alpha1.AnnotationVariablesDigest, v1alpha1.AnnotationRepeats, v1alpha1.AnnotationRetries, v1alpha1.AnnotationAfterInconclusive,
	v1alpha1.AnnotationCanceledBy, v1alpha1.AnnotationIdempotencyKey, v1alpha1.AnnotationRequestID, v1alpha1.AnnotationRerunBy,
	v1alpha1.AnnotationScheduledFor, v1alpha1.AnnotationDeployedAt, v1alpha1.AnnotationTraceparent, v1alpha1.AnnotationAnswer,
}

// stripSuite drops the metadata that Postflight does not read. Only the size of an object bounds it.
func stripSuite(s *v1alpha1.Suite) {
	suite.DropLabels(s)
	s.ObjectMeta = metav1.ObjectMeta{
		Name: s.Name, Namespace: s.Namespace, UID: s.UID, ResourceVersion: s.ResourceVersion, Generation: s.Generation,
		CreationTimestamp: s.CreationTimestamp, DeletionTimestamp: s.DeletionTimestamp,
		Labels: keptKeys(s.Labels), Annotations: keptKeys(s.Annotations), OwnerReferences: keptOwners(s.OwnerReferences),
	}
}

// keptKeys keeps the foreign keys, which successors and records have, unless they are long.
func keptKeys(all map[string]string) (kept map[string]string) {
	foreign := 0
	for name, value := range all {
		if !slices.Contains(suiteKeys, name) {
			foreign += len(name) + len(value)
		}
	}
	for name, value := range all {
		own := slices.Contains(suiteKeys, name)
		if !own && foreign > foreignBytes {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[name] = cut(value)
	}
	return kept
}

// cut shortens what Postflight has not written, so that it equals nothing that it wrote and cannot be parsed, but is still there.
func cut(value string) string {
	if len(value) <= valueBytes {
		return value
	}
	return strings.Clone(value[:valueBytes])
}

// keptOwners keeps the controller, and an Environment that takes its runs with it.
func keptOwners(all []metav1.OwnerReference) (kept []metav1.OwnerReference) {
	environment, controller := false, false
	for _, o := range all {
		isEnvironment := !environment && job.Refers(&o, v1alpha1.GroupVersion.WithKind("Environment").GroupKind())
		isController := !controller && o.Controller != nil && *o.Controller
		if !job.SmallOwner(&o) || !isEnvironment && !isController {
			continue
		}
		environment, controller = environment || isEnvironment, controller || isController
		kept = append(kept, o)
	}
	return kept
}
