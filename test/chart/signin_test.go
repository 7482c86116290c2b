package chart

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/server/auth/issuer"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

// schema is a part of values.schema.json.
type schema struct {
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties any               `json:"additionalProperties"`
}

// TestKeysOfSignIn: the chart accepts the keys of signIn.config that the manager does, and no others.
func TestKeysOfSignIn(t *testing.T) {
	got := keysOfSchema(t, "config", schemaOfValues(t).Properties["signIn"].Properties["config"])
	want := keysOfType("config", reflect.TypeFor[signin.Config]())
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
		t.Errorf("(-manager +chart):\n%s", diff)
	}
}

// TestKeysOfIssuers: the same for tokenIssuers.
func TestKeysOfIssuers(t *testing.T) {
	got := keysOfSchema(t, "issuer", schemaOfValues(t).Properties["tokenIssuers"])
	want := keysOfType("issuer", reflect.TypeFor[issuer.Issuer]())
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 6 {
		t.Errorf("(-manager +chart):\n%s", diff)
	}
}

func schemaOfValues(t *testing.T) (values schema) {
	t.Helper()
	content, err := os.ReadFile(path(t, "charts", "postflight", "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func keysOfSchema(t *testing.T, path string, s schema) (keys []string) {
	t.Helper()
	if s.Items != nil {
		return keysOfSchema(t, path, *s.Items)
	}
	if s.Properties != nil && s.AdditionalProperties != false {
		t.Errorf("%s accepts unknown keys", path)
	}
	for name, property := range s.Properties {
		keys = append(append(keys, path+"."+name), keysOfSchema(t, path+"."+name, property)...)
	}
	slices.Sort(keys)
	return keys
}

func keysOfType(path string, of reflect.Type) (keys []string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	for field := range of.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			keys = append(append(keys, path+"."+name), keysOfType(path+"."+name, field.Type)...)
		}
	}
	slices.Sort(keys)
	return keys
}
