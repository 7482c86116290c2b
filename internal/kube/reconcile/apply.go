// Package reconcile has what several reconcilers need of the API server: typed reads, watches and their predicates, and writes
// of statuses and conditions.
package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// Server-side apply lets each owner write its fields of a Suite's status without conflicts.
const (
	ReportOwner   = "postflight-report"   // of what was reported
	ArchiveOwner  = "postflight-archive"  // of the condition Archived
	AnnounceOwner = "postflight-announce" // of what receivers were told
)

// StatusWrite is all that an owner says about a Suite, identified by its UID: the API server removes what it leaves out.
type StatusWrite struct {
	Owner     string
	Suite     *v1alpha1.Suite      // as it was read
	Condition *metav1.Condition    // nil: none
	Fields    v1alpha1.SuiteStatus // without conditions
	Locked    bool                 // fails if the object has changed since it was read
}

// stored is what an owner wrote, and the type of its condition.
func (w StatusWrite) stored() (fields v1alpha1.SuiteStatus, condition string) {
	switch w.Owner {
	case ReportOwner:
		return v1alpha1.SuiteStatus{Report: w.Suite.Status.Report}, v1alpha1.ConditionReported
	case AnnounceOwner:
		return v1alpha1.SuiteStatus{Deliveries: w.Suite.Status.Deliveries}, v1alpha1.ConditionNotified
	default:
		return v1alpha1.SuiteStatus{}, v1alpha1.ConditionArchived
	}
}

// ApplyChange writes the status unless it is stored already. Without a Condition, the stored one stays as it is.
func (w StatusWrite) ApplyChange(ctx context.Context, c client.Client, now time.Time) error {
	fields, condition := w.stored()
	changed := false
	if w.Condition != nil {
		w.Condition, changed = changedCondition(w.Suite, *w.Condition, now)
	} else {
		w.Condition = meta.FindStatusCondition(w.Suite.Status.Conditions, condition)
	}
	if !changed && equality.Semantic.DeepEqual(fields, w.Fields) {
		return nil
	}
	return w.Apply(ctx, c)
}

// Apply writes the status. An object that is gone is no error.
func (w StatusWrite) Apply(ctx context.Context, c client.Client) error {
	status, err := w.status()
	if err != nil {
		return err
	}
	metadata := map[string]any{"namespace": w.Suite.Namespace, "name": w.Suite.Name, "uid": string(w.Suite.UID)}
	if w.Locked {
		metadata["resourceVersion"] = w.Suite.ResourceVersion
	}
	configuration := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Suite", "metadata": metadata, "status": status,
	}})
	err = c.Status().Apply(ctx, configuration, client.FieldOwner(w.Owner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	return apierror.IgnoreNotFound(err)
}

// changedCondition is a condition as it is to be stored, and whether it differs from the stored one.
func changedCondition(s *v1alpha1.Suite, c metav1.Condition, now time.Time) (toStore *metav1.Condition, changed bool) {
	var all []metav1.Condition
	if old := meta.FindStatusCondition(s.Status.Conditions, c.Type); old != nil {
		all = []metav1.Condition{*old}
	}
	c.ObservedGeneration, c.LastTransitionTime = s.Generation, metav1.NewTime(now)
	changed = meta.SetStatusCondition(&all, c)
	return &all[0], changed
}

func (w StatusWrite) status() (map[string]any, error) {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&w.Fields)
	if err != nil || w.Condition == nil {
		return status, err
	}
	condition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.Condition)
	status["conditions"] = []any{condition}
	return status, err
}
