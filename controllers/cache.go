package controllers

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/kube/bounded"
)

// CacheOptions cache what bounds admits, no Jobs except those of Suites, no templates of Jobs, and no managed fields, which are often half
// of an object.
func CacheOptions(bounds *bounded.Roster) cache.Options {
	ofSuites, err := labels.NewRequirement(v1alpha1.LabelSuite, selection.Exists, nil)
	utilruntime.Must(err)
	return cache.Options{
		NewInformer:      bounds.NewInformer,
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&batchv1.Job{}:    {Label: labels.NewSelector().Add(*ofSuites), Transform: transform(outcome.StripJob)},
			&v1alpha1.Suite{}: {Transform: transform(stripSuite)},
		},
	}
}

// stripSuite also drops the variables of a finished Suite, which may be 64 KiB: only its Job needs them.
func stripSuite(s *v1alpha1.Suite) *v1alpha1.Suite {
	s.ManagedFields = nil
	if s.Finished() {
		s.Spec.Variables = nil
	}
	suite.Intern(s)
	return s
}

// transform ignores objects of another type: for an object whose deletion the cache missed, it passes a tombstone.
func transform[T any](strip func(T) T) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if o, ok := obj.(T); ok {
			return strip(o), nil
		}
		return obj, nil
	}
}
