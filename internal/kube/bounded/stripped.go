package bounded

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// suiteSource leaves out the variables of unfinished Suites beyond the bound of a namespace, whoever created them. Those who need them
// read these Suites from the API server.
type suiteSource struct {
	origin

	mu   sync.Mutex
	held map[string]int64               // by namespace
	of   map[types.NamespacedName]int64 // of each Suite whose variables are cached
}

func newSuiteSource(from origin) *suiteSource {
	s := &suiteSource{origin: from}
	s.begin()
	return s
}

func (s *suiteSource) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.of = map[string]int64{}, map[types.NamespacedName]int64{}
}

// ListWithContext reads pages.
func (s *suiteSource) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	return s.pages(ctx, s.begin, func(o runtime.Object) bool {
		s.admit(o)
		return true
	})
}

// WatchWithContext follows the Suites.
func (s *suiteSource) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	inner, err := s.origin.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		s.begin()
	}
	return watch.Filter(inner, func(event watch.Event) (watch.Event, bool) {
		switch event.Type {
		case watch.Added, watch.Modified:
			s.admit(event.Object)
		case watch.Deleted:
			if suite, ok := event.Object.(*v1alpha1.Suite); ok {
				s.forget(suite)
			}
		}
		return event, true
	}), nil
}

func (s *suiteSource) forget(suite *v1alpha1.Suite) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(types.NamespacedName{Namespace: suite.Namespace, Name: suite.Name})
}

func (s *suiteSource) release(name types.NamespacedName) {
	if bytes, ok := s.of[name]; ok {
		s.held[name.Namespace] -= bytes
		delete(s.of, name)
	}
	if s.held[name.Namespace] == 0 {
		delete(s.held, name.Namespace)
	}
}

func (s *suiteSource) admit(o runtime.Object) {
	suite, ok := o.(*v1alpha1.Suite)
	if !ok {
		return
	}
	suite.ManagedFields = nil
	delete(suite.Annotations, v1alpha1.AnnotationVariablesOmitted)
	if foreign := foreignAnnotations(suite.Annotations); foreign > foreignBytes {
		strip(suite)
	}
	name := types.NamespacedName{Namespace: suite.Namespace, Name: suite.Name}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(name)
	if suite.Finished() || len(suite.Spec.Variables) == 0 { // the cache has none of a finished one
		return
	}
	bytes := referencedBy(suite.Spec.Variables)
	if s.held[suite.Namespace]+bytes > variableBytes {
		suite.Spec.Variables = nil
		metav1.SetMetaDataAnnotation(&suite.ObjectMeta, v1alpha1.AnnotationVariablesOmitted, "true")
		return
	}
	s.of[name] = bytes
	s.held[suite.Namespace] += bytes
}
