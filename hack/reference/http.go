package main

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

func httpPage(file string) (string, error) {
	doc, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		return "", err
	}
	page := "# Routes of the HTTP API\n\nFor authors of clients: every route, as the server describes it at `/openapi.yaml`. " +
		"[The HTTP API](../api.md) says how they go together, and what clients must know.\n"
	for _, route := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		operations := doc.Paths.Value(route).Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			page += routeSection(method, route, operations[method])
		}
	}
	page += "\n## Bodies\n"
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		page += bodySection(name, doc.Components.Schemas[name].Value)
	}
	return page, nil
}

func routeSection(method, route string, operation *openapi3.Operation) string {
	section := fmt.Sprintf("\n## %s\n\n`%s %s`\n", operation.Summary, method, route)
	if operation.Description != "" {
		section += "\n" + prose(strings.TrimSpace(operation.Description)) + "\n"
	}
	if len(operation.Parameters) > 0 {
		section += "\n| Parameter | In | Meaning |\n|---|---|---|\n"
	}
	for _, p := range operation.Parameters {
		section += fmt.Sprintf("| `%s` | %s | %s |\n", p.Value.Name, p.Value.In, cell(p.Value.Description))
	}
	if body := operation.RequestBody; body != nil {
		section += "\nThe body is" + contents(body.Value.Content) + ".\n"
	}
	section += "\n| Answer | Meaning | Body |\n|---|---|---|\n"
	answers := operation.Responses.Map()
	for _, code := range slices.Sorted(maps.Keys(answers)) {
		answer := answers[code].Value
		section += fmt.Sprintf("| %s | %s |%s |\n", code, cell(*cmp.Or(answer.Description, new(string))), contents(answer.Content))
	}
	return section
}

// contents names the body for each media type, with a link if it has a section.
func contents(content openapi3.Content) (list string) {
	for _, media := range slices.Sorted(maps.Keys(content)) {
		if schema := content[media].Schema; schema != nil && schema.Ref != "" {
			name := path.Base(schema.Ref)
			list += fmt.Sprintf(" [%s](#%s)", name, strings.ToLower(name))
		} else {
			list += fmt.Sprintf(" `%s`", media)
		}
	}
	return list
}

func bodySection(name string, schema *openapi3.Schema) string {
	section := fmt.Sprintf("\n### %s\n\n%s\n", name, prose(strings.TrimSpace(cmp.Or(schema.Description, typeOf(schema)))))
	if len(schema.Properties) > 0 {
		section += "\n| Member | Type | Meaning |\n|---|---|---|\n"
	}
	for _, member := range slices.Sorted(maps.Keys(schema.Properties)) {
		ref := schema.Properties[member]
		star := ""
		if slices.Contains(schema.Required, member) {
			star = " \\*"
		}
		section += fmt.Sprintf("| `%s`%s | %s | %s |\n", member, star, typeOfRef(ref), cell(ref.Value.Description))
	}
	return section
}

func typeOfRef(ref *openapi3.SchemaRef) string {
	if ref.Ref != "" {
		name := path.Base(ref.Ref)
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	}
	return typeOf(ref.Value)
}

// typeOf is the type of a value: every member may be null in a request, which needs no mention.
func typeOf(schema *openapi3.Schema) string {
	var types []string
	for _, t := range schema.Type.Slice() {
		if t == "array" && schema.Items != nil {
			t = "list of " + typeOfRef(schema.Items)
		}
		if t != "null" {
			types = append(types, t)
		}
	}
	for _, ref := range slices.Concat(schema.OneOf, schema.AnyOf) {
		if t := typeOfRef(ref); t != "" {
			types = append(types, t)
		}
	}
	return strings.Join(types, " or ")
}
