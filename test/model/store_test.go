package model

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// store is an API server, and a cache that is never behind. Stored objects are replaced, and never changed. It has what the
// product calls, and fails for the rest.
type store struct {
	client.Client
	now     func() time.Time
	suites  map[string]*v1alpha1.Suite
	others  map[string]client.Object // by their type and name
	version int

	beforeCreate func() // is called once, before the next Suite is created
}

// extract are the indexes, by the kind and their names.
var extract = indexes{}

type indexes map[string]client.IndexerFunc

func (x indexes) IndexField(_ context.Context, o client.Object, field string, f client.IndexerFunc) error {
	x[kind(o, field)] = f
	return nil
}

// selects reports whether an object has the field that a list is of.
func selects(o *client.ListOptions, object client.Object) bool {
	if o.FieldSelector == nil {
		return true
	}
	r := o.FieldSelector.Requirements()[0]
	return slices.Contains(extract[kind(object, r.Field)](object), r.Value)
}

func init() {
	if err := index.Setup(context.Background(), extract); err != nil {
		panic(err)
	}
}

func newStore(now func() time.Time) *store {
	return &store{now: now, suites: map[string]*v1alpha1.Suite{}, others: map[string]client.Object{}}
}

func kind(o client.Object, name string) string { return fmt.Sprintf("%T/%s", o, name) }

func (s *store) find(o client.Object, name string) client.Object {
	if _, ok := o.(*v1alpha1.Suite); ok {
		if stored := s.suites[name]; stored != nil {
			return stored
		}
		return nil
	}
	return s.others[kind(o, name)]
}

func (s *store) put(o client.Object) {
	s.version++
	o.SetResourceVersion(fmt.Sprint(s.version))
	stored := o.DeepCopyObject().(client.Object)
	if suite, ok := stored.(*v1alpha1.Suite); ok {
		s.suites[suite.Name] = suite
		return
	}
	s.others[kind(o, o.GetName())] = stored
}

func (s *store) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	stored := s.find(o, key.Name)
	if stored == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, key.Name)
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(stored.DeepCopyObject()).Elem())
	return nil
}

// List finds Suites by one field, and in the order of their names, and Environments.
func (s *store) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	switch all := list.(type) {
	case *v1alpha1.SuiteList:
		for _, suite := range s.all() {
			if selects(o, suite) {
				all.Items = append(all.Items, *suite)
			}
		}
	case *v1alpha1.EnvironmentList:
		for _, other := range s.others {
			if e, ok := other.(*v1alpha1.Environment); ok && e.Namespace == o.Namespace && selects(o, e) {
				all.Items = append(all.Items, *e)
			}
		}
	default:
		return fmt.Errorf("the store lists no %T", list)
	}
	return nil
}

// all are the Suites. Do not change them.
func (s *store) all() []*v1alpha1.Suite {
	all := make([]*v1alpha1.Suite, 0, len(s.suites))
	for _, name := range slices.Sorted(maps.Keys(s.suites)) {
		all = append(all, s.suites[name])
	}
	return all
}

func (s *store) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if f := s.beforeCreate; f != nil {
		s.beforeCreate = nil
		f()
	}
	if s.find(o, o.GetName()) != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "objects"}, o.GetName())
	}
	o.SetUID(types.UID(fmt.Sprint("uid-", o.GetName(), "-", s.version)))
	o.SetCreationTimestamp(metav1.NewTime(s.now().Truncate(time.Second)))
	s.put(o)
	return nil
}

// Patch replaces the metadata and the spec.
func (s *store) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	s.put(o)
	return nil
}

func (s *store) Status() client.SubResourceWriter { return &statusOf{store: s} }

type statusOf struct {
	client.SubResourceWriter
	store *store
}

// Patch has an optimistic lock.
func (x *statusOf) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	stored := x.store.find(o, o.GetName())
	switch {
	case stored == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, o.GetName())
	case stored.GetResourceVersion() != o.GetResourceVersion():
		return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, o.GetName(), nil)
	}
	x.store.put(o)
	return nil
}
