package world

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Key is that of an object in the namespace of the test.
func (w *World) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.NS, Name: name}
}

// Reaches waits until the Suite is in the state, and its message contains the given text.
func (w *World) Reaches(name, state, message string) *v1alpha1.Suite {
	w.T.Helper()
	return w.SuiteHas(name, v1alpha1.ConditionSucceeded, state, message)
}

// SuiteHas waits until a condition of the Suite has the reason, and its message contains the given text.
func (w *World) SuiteHas(name, condition, reason, message string) *v1alpha1.Suite {
	w.T.Helper()
	s := named(name, &v1alpha1.Suite{})
	w.HasCondition(s, condition, reason, message)
	return s
}

// HasCondition is SuiteHas for any object.
func (w *World) HasCondition(o client.Object, condition, reason, message string) {
	w.T.Helper()
	w.Await(fmt.Sprintf("%T %s has %s: %s with %q", o, o.GetName(), condition, reason, message), o, func() bool {
		c := meta.FindStatusCondition(conditionsOf(o), condition)
		return c != nil && c.Reason == reason && strings.Contains(c.Message, message)
	})
}

// Read reads an object by its name.
func (w *World) Read(o client.Object) {
	w.T.Helper()
	w.Must(w.Client.Get(context.Background(), w.keyOf(o), o))
}

// Suite reads a Suite.
func (w *World) Suite(name string) *v1alpha1.Suite {
	w.T.Helper()
	s := named(name, &v1alpha1.Suite{})
	w.Read(s)
	return s
}

// Delete deletes an object by its name, as kubectl does.
func (w *World) Delete(o client.Object) {
	w.T.Helper()
	o.SetNamespace(w.keyOf(o).Namespace)
	w.Must(w.Client.Delete(context.Background(), o, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// List reads the objects of the namespace.
func (w *World) List(list client.ObjectList, options ...client.ListOption) {
	w.T.Helper()
	w.Must(w.Client.List(context.Background(), list, append(options, client.InNamespace(w.NS))...))
}

// Await reads an object by its name until check returns true.
func (w *World) Await(what string, o client.Object, check func() bool) {
	w.T.Helper()
	w.Eventually(what, func() string {
		if w.Read(o); check() {
			return ""
		}
		o := o.DeepCopyObject().(client.Object)
		o.SetManagedFields(nil)
		text, err := json.Marshal(o)
		w.Must(err)
		return string(text)
	})
}

func (w *World) keyOf(o client.Object) client.ObjectKey {
	key := client.ObjectKeyFromObject(o)
	if _, cluster := o.(*v1alpha1.Team); key.Namespace == "" && !cluster {
		key.Namespace = w.NS
	}
	return key
}

func named[T client.Object](name string, o T) T {
	o.SetName(name)
	return o
}

// HasJob waits for the Job of the Suite.
func (w *World) HasJob(name string) *batchv1.Job {
	w.T.Helper()
	j := &batchv1.Job{}
	w.Eventually("the Job "+name+" exists", func() string { return Complaint(w.Client.Get(context.Background(), w.Key(name), j)) })
	return j
}

// Complaint is the message of an error, or "".
func Complaint(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// HasNoJob fails if there is a Job of the Suite.
func (w *World) HasNoJob(name string) {
	w.T.Helper()
	err := w.Client.Get(context.Background(), w.Key(name), &batchv1.Job{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		w.T.Fatalf("the Job %s exists (%v), and must not", name, err)
	}
}

// Gone waits until an object does not exist.
func (w *World) Gone(o client.Object, name string) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("%T %s is gone", o, name), func() string {
		if err := w.Client.Get(context.Background(), w.Key(name), o); err != nil {
			return Complaint(client.IgnoreNotFound(err))
		}
		return "it exists"
	})
}
