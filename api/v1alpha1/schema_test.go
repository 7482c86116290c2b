package v1alpha1_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// schema is what TestWhatIsAcceptedDecodes reads of that of a CRD.
type schema struct {
	Type        string             `json:"type"`
	Format      string             `json:"format"`
	Pattern     string             `json:"pattern"`
	Enum        []any              `json:"enum"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	MinLength   int                `json:"minLength"`
	Required    []string           `json:"required"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Values      *schema            `json:"additionalProperties"`
	IntOrString bool               `json:"x-kubernetes-int-or-string"`
}

// kind is under what nasty has values for the schema.
func (s *schema) kind() string {
	switch {
	case s.IntOrString:
		return "int-or-string"
	case s.Format == "date-time":
		return s.Format
	case s.Pattern != "":
		return "pattern"
	}
	return s.Type
}

// matching are values for the patterns of this API's own fields, and of annotations in pods.
var matching = map[string]string{
	`^[0-9a-f]{64}$`:                              digest,
	`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)+$`:        "acme/shop",
	`^(/[A-Za-z0-9_.-]+)+$`:                       "/run-inputs",
	`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`:            "1h",
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`:             "shop",
	`^[A-Z][A-Za-z0-9]*$`:                         "Deployment",
	`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/v[a-z0-9]+$`: "apps/v1",
	`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`:    "Reason",
	`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`: "Ready",
}

// sample is the least that is valid for most of what the schema is that of.
func (s *schema) sample() any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	}
	switch s.kind() {
	case "pattern":
		return matching[s.Pattern]
	case "date-time":
		return "2026-11-20T18:00:00.123456Z"
	case "int-or-string", "integer":
		return 1
	case "boolean":
		return true
	case "array":
		return list{s.Items.sample()}
	case "object":
		least := fields{}
		for _, name := range s.Required {
			least[name] = s.Properties[name].sample()
		}
		return least
	}
	return text(max(1, s.MinLength))
}

// field is the place of a value in an object: keys, "*" for any key of a map, and "[]" for the first item of a list.
type field []string

func (s *schema) fields(at field) (all map[string]*schema) {
	all = map[string]*schema{}
	into := func(step string, s *schema) { maps.Copy(all, s.fields(append(slices.Clip(at), step))) }
	switch {
	case s.Items != nil:
		into("[]", s.Items)
	case s.Values != nil:
		into("*", s.Values)
	case s.Properties != nil:
		for name, property := range s.Properties {
			into(name, property)
		}
	case s.kind() != "object":
		all[strings.Join(at, "/")] = s
	}
	return all
}

// put is value with the field at the path set to leaf, and with all that must stand around it.
func (s *schema) put(value any, path field, leaf any) any {
	if len(path) == 0 {
		return leaf
	}
	if path[0] == "[]" {
		first := s.Items.sample()
		if items, ok := value.(list); ok && len(items) > 0 {
			first = items[0]
		}
		return list{s.Items.put(first, path[1:], leaf)}
	}
	key, inner := path[0], s.Properties[path[0]]
	if key == "*" {
		key, inner = "key", s.Values
	}
	object, ok := value.(fields)
	if !ok {
		object, _ = s.sample().(fields)
	}
	object[key] = inner.put(object[key], path[1:], leaf)
	return object
}

func schemaOf(t *testing.T, resource string) *schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "postflight.dev_"+resource+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}
