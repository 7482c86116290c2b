package v1alpha1_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/apiserver"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

// edit changes an object, as a person who writes YAML by hand could.
type edit func(object map[string]any)

// set gives the field at path, of keys with slashes between them, a value.
func set(path string, value any) edit {
	return func(object map[string]any) {
		keys := strings.Split(path, "/")
		for _, key := range keys[:len(keys)-1] {
			next, ok := object[key].(map[string]any)
			if !ok {
				next = map[string]any{}
				object[key] = next
			}
			object = next
		}
		object[keys[len(keys)-1]] = value
	}
}

func remove(path string) edit {
	return func(object map[string]any) {
		keys := strings.Split(path, "/")
		for _, key := range keys[:len(keys)-1] {
			object = object[key].(map[string]any)
		}
		delete(object, keys[len(keys)-1])
	}
}

func edits(all ...edit) edit {
	return func(object map[string]any) {
		for _, e := range all {
			e(object)
		}
	}
}

// fields and list are what YAML has for maps and lists.
type (
	fields = map[string]any
	list   = []any
)

func text(n int) string { return strings.Repeat("x", n) }

// many are n different strings.
func many(n int) list {
	var all list
	for i := range n {
		all = append(all, "item-"+strings.Repeat("i", i))
	}
	return all
}

func manyVariables(n int) fields {
	all := fields{}
	for i := range n {
		all["V"+strings.Repeat("_", i)] = "value"
	}
	return all
}

// object is a valid one of its kind with all edits made.
func object(t *testing.T, base func() fields, all ...edit) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: asJSON(t, base())}
	edits(all...)(u.Object)
	u.Object = asJSON(t, u.Object)
	return u
}

// asJSON is a copy that shares no memory, with the types that JSON has.
func asJSON(t *testing.T, object fields) fields {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return u.Object
}

// kind is a base object: the least that is valid.
func kind(name string, spec fields) func() fields {
	return func() fields {
		return fields{
			"apiVersion": "postflight.dev/v1alpha1",
			"kind":       name,
			"metadata":   fields{"name": "subject"},
			"spec":       spec,
		}
	}
}

// row is an object that differs from a valid one by an edit, and what the API server says to it.
type row struct {
	reason string
	edit   edit
	want   string // part of the API server's refusal; empty: it is accepted
}

// submit hands each row to the API server as a new object, without storing it.
func submit(t *testing.T, base func() fields, rows map[string]row) {
	s := apiserver.New(t)
	ns := s.Namespace(t)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		t.Run(name, func(t *testing.T) {
			r := rows[name]
			u := object(t, base, r.edit)
			if u.GetKind() != "Team" {
				u.SetNamespace(ns)
			}
			err := s.Client.Create(t.Context(), u, client.DryRunAll, client.FieldValidation("Strict"))
			check(t, err, r.want, r.reason)
		})
	}
}

func check(t *testing.T, err error, want, reason string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("%s: accepted; want a refusal with %q", reason, want)
	case err != nil && want == "":
		t.Errorf("%s: refused; want it accepted: %v", reason, err)
	case err != nil && !strings.Contains(err.Error(), want):
		t.Errorf("%s: refused for another cause; want %q\ngot: %v", reason, want, err)
	}
}

// store creates the object in a namespace of its own. A Team has a name of its own.
func store(t *testing.T, s *apiserver.Server, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	if u.GetNamespace() == "" && u.GetKind() != "Team" {
		u.SetNamespace(s.Namespace(t))
	}
	if u.GetKind() == "Team" {
		u.SetGenerateName(u.GetName() + "-")
		u.SetName("")
	}
	if err := s.Client.Create(t.Context(), u, client.FieldValidation("Strict")); err != nil {
		t.Fatal(err)
	}
	return u
}
