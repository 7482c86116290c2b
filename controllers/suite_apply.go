package controllers

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
)

// Server-side apply lets these owners write some fields of a Suite's status while the SuiteReconciler writes others,
// without a conflict on either side.
const (
	reportOwner  = "postflight-report"  // of what was reported
	archiveOwner = "postflight-archive" // of the condition Archived
)

// statusWrite is all that an owner says about a Suite: the API server removes what it leaves out. It is for exactly
// this object, because another one of its name has another UID.
type statusWrite struct {
	owner     string
	suite     *v1alpha1.Suite
	condition *metav1.Condition // nil: none
	fields    map[string]any    // of the status
	locked    bool              // fails if the object has changed since it was read
}

func (w statusWrite) apply(ctx context.Context, c client.Client) error {
	status, err := w.status()
	if err != nil {
		return err
	}
	metadata := map[string]any{"namespace": w.suite.Namespace, "name": w.suite.Name, "uid": string(w.suite.UID)}
	if w.locked {
		metadata["resourceVersion"] = w.suite.ResourceVersion
	}
	configuration := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Suite", "metadata": metadata, "status": status,
	}})
	err = c.Status().Apply(ctx, configuration, client.FieldOwner(w.owner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	return apierror.IgnoreNotFound(err)
}

func (w statusWrite) status() (status map[string]any, err error) {
	status = map[string]any{}
	for name, value := range w.fields {
		if status[name], err = runtime.DefaultUnstructuredConverter.ToUnstructured(value); err != nil {
			return nil, err
		}
	}
	if w.condition != nil {
		condition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.condition)
		if err != nil {
			return nil, err
		}
		status["conditions"] = []any{condition}
	}
	return status, nil
}
