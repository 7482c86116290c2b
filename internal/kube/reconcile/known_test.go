package reconcile_test

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// asked keeps the options of the last read.
type asked struct {
	client.Reader
	get  client.GetOptions
	list client.ListOptions
}

func (a *asked) Get(_ context.Context, _ client.ObjectKey, _ client.Object, options ...client.GetOption) error {
	a.get.ApplyOptions(options)
	return nil
}

func (a *asked) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	a.list.ApplyOptions(options)
	return nil
}

// TestKnown: reads in handlers of events wait for no write, and keep their other options.
func TestKnown(t *testing.T) {
	a := &asked{}
	known := reconcile.Known(a)
	if err := known.Get(t.Context(), client.ObjectKey{Name: "demo"}, &v1alpha1.Team{}, client.UnsafeDisableDeepCopy); err != nil {
		t.Fatal(err)
	}
	if err := known.List(t.Context(), &v1alpha1.TeamList{}, client.InNamespace("demo")); err != nil {
		t.Fatal(err)
	}
	if !a.get.DisableReadYourWritesConsistency || a.get.UnsafeDisableDeepCopy == nil {
		t.Errorf("Get had %+v", a.get)
	}
	if !a.list.DisableReadYourWritesConsistency || a.list.Namespace != "demo" {
		t.Errorf("List had %+v", a.list)
	}
}
