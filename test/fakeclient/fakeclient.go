// Package fakeclient has a client of an API server that is no process, with the indexes of the manager's cache.
package fakeclient

import (
	"context"
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// New returns a client that has the objects. Each gets a UID, as an API server would give it one.
func New(t testing.TB, objects ...client.Object) client.WithWatch {
	t.Helper()
	for _, o := range objects {
		if o.GetUID() == "" {
			o.SetUID(types.UID("uid-" + o.GetName()))
		}
	}
	return Builder(t).WithObjects(objects...).WithStatusSubresource(&v1alpha1.Suite{}).Build()
}

// Builder is for clients that differ from New's.
func Builder(t testing.TB) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), batchv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	x := &indexer{fake.NewClientBuilder().WithScheme(scheme)}
	if err := index.Setup(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	return x.ClientBuilder
}

type indexer struct{ *fake.ClientBuilder }

// IndexField is for index.Setup.
func (x *indexer) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	x.ClientBuilder = x.WithIndex(o, field, extract)
	return nil
}
