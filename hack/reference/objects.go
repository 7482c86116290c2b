package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func objectsPage(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, fmt.Errorf("%s has %d CRDs", folder, len(files)))
	}
	page := "# Fields of the objects\n\nFor everybody who writes Teams, Triggers and the like: all fields, as `kubectl explain` " +
		"has them. Those with a star must be set. A field of a list ends with `[]`, one of a map with `{}`.\n"
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		var crd apiextensions.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		page += objectSection(crd)
	}
	return page, nil
}

func objectSection(crd apiextensions.CustomResourceDefinition) string {
	version := crd.Spec.Versions[0]
	schema := version.Schema.OpenAPIV3Schema
	section := fmt.Sprintf("\n## %s\n\n`%s/%s`, %s. %s\n", crd.Spec.Names.Kind, crd.Spec.Group, version.Name,
		map[apiextensions.ResourceScope]string{"Cluster": "cluster-scoped", "Namespaced": "namespaced"}[crd.Spec.Scope],
		prose(schema.Description))
	for _, part := range []string{"spec", "status"} {
		if props, ok := schema.Properties[part]; ok {
			section += fmt.Sprintf("\n| Field of `%s` | Type | Meaning |\n|---|---|---|\n", part) + fields(part, props)
			section += rules(part, props)
		}
	}
	return section + rules("", apiextensions.JSONSchemaProps{XValidations: schema.XValidations})
}

// fields is a row for each field below a path. The template of a Job is documented by Kubernetes.
func fields(path string, schema apiextensions.JSONSchemaProps) string {
	var rows strings.Builder
	for _, child := range childrenOf(path, schema) {
		star := ""
		if child.required {
			star = " \\*"
		}
		fmt.Fprintf(&rows, "| `%s`%s | %s | %s |\n", child.path, star, typeOfField(child.schema), cell(meaning(child.schema)))
		if !strings.HasSuffix(child.path, ".jobTemplate") {
			rows.WriteString(fields(child.path, child.schema))
		}
	}
	return rows.String()
}

func typeOfField(schema apiextensions.JSONSchemaProps) string {
	if schema.XIntOrString {
		return "integer or string"
	}
	return schema.Type
}

type field struct {
	path     string
	schema   apiextensions.JSONSchemaProps
	required bool
}

func childrenOf(path string, schema apiextensions.JSONSchemaProps) (children []field) {
	if schema.Items != nil && schema.Items.Schema != nil {
		return childrenOf(path+"[]", *schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		return childrenOf(path+"{}", *schema.AdditionalProperties.Schema)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		children = append(children, field{path + "." + name, schema.Properties[name], slices.Contains(schema.Required, name)})
	}
	return children
}

func meaning(schema apiextensions.JSONSchemaProps) string {
	text := schema.Description
	if len(schema.Enum) > 0 {
		var values []string
		for _, v := range schema.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		text += "\n\nOne of " + strings.Join(values, ", ") + "."
	}
	if schema.Default != nil {
		text += "\n\nDefault: `" + string(schema.Default.Raw) + "`."
	}
	return text
}

func rules(path string, schema apiextensions.JSONSchemaProps) string {
	var list strings.Builder
	for _, message := range messages(path, schema) {
		list.WriteString("- " + message + "\n")
	}
	if list.Len() == 0 {
		return ""
	}
	return "\nThe API server refuses an object with one of these messages:\n\n" + list.String()
}

func messages(path string, schema apiextensions.JSONSchemaProps) (list []string) {
	for _, rule := range schema.XValidations {
		if rule.Message != "" {
			list = append(list, strings.TrimPrefix(fmt.Sprintf("`%s`: %s", path, prose(rule.Message)), "``: "))
		}
	}
	for _, child := range childrenOf(path, schema) {
		if !strings.HasSuffix(child.path, ".jobTemplate") {
			list = append(list, messages(child.path, child.schema)...)
		}
	}
	return list
}
