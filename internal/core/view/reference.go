package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Reference is the reference of the HTTP API, as its OpenAPI document describes it.
type Reference struct {
	Title      string
	Intro      []Paragraph
	Operations []Operation
}

// Operation is a method of a path.
type Operation struct {
	ID, Method, Path, Summary string
	Text                      []Paragraph
	Parameters                []Field
	Body                      []Field
	Responses                 []Field // named by their status
}

// Field is a parameter, a member of a body or a response.
type Field struct {
	Name, Kind string
	Required   bool
	Text       []Paragraph
}

// Paragraph is text with code in it.
type Paragraph []Phrase

// Phrase is a part of a paragraph.
type Phrase struct {
	Code bool
	Text string
}

// ReferenceOf reads an OpenAPI document.
func ReferenceOf(document []byte) (*Reference, error) {
	d, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	r := &Reference{Title: d.Info.Title, Intro: paragraphs(d.Info.Description)}
	for path, item := range d.Paths.Map() {
		for method, o := range item.Operations() {
			r.Operations = append(r.Operations, operationOf(path, method, item, o))
		}
	}
	slices.SortFunc(r.Operations, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(b.Method, a.Method), cmp.Compare(a.Path, b.Path)) // POST first
	})
	return r, nil
}

func operationOf(path, method string, item *openapi3.PathItem, o *openapi3.Operation) Operation {
	op := Operation{ID: o.OperationID, Method: method, Path: path, Summary: o.Summary, Text: paragraphs(o.Description)}
	for _, p := range slices.Concat(item.Parameters, o.Parameters) {
		op.Parameters = append(op.Parameters, Field{
			Name: p.Value.Name, Kind: strings.TrimSpace(p.Value.In + " " + typeOf(p.Value.Schema)), Required: p.Value.Required,
			Text: paragraphs(p.Value.Description),
		})
	}
	if o.RequestBody != nil {
		for _, media := range o.RequestBody.Value.Content {
			op.Body = fieldsOf(media.Schema)
		}
	}
	for code, response := range o.Responses.Map() {
		f := Field{Name: code}
		if response.Value.Description != nil {
			f.Text = paragraphs(*response.Value.Description)
		}
		op.Responses = append(op.Responses, f)
	}
	slices.SortFunc(op.Responses, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return op
}

func fieldsOf(s *openapi3.SchemaRef) []Field {
	if s == nil || s.Value == nil {
		return nil
	}
	var fields []Field
	for name, member := range s.Value.Properties {
		fields = append(fields, Field{
			Name: name, Kind: typeOf(member), Required: slices.Contains(s.Value.Required, name), Text: paragraphs(member.Value.Description),
		})
	}
	slices.SortFunc(fields, func(a, b Field) int { return cmp.Or(compareBool(b.Required, a.Required), cmp.Compare(a.Name, b.Name)) })
	return fields
}

func typeOf(s *openapi3.SchemaRef) string {
	if s == nil || s.Value == nil || s.Value.Type == nil {
		return ""
	}
	types := slices.Clone(s.Value.Type.Slice()) // several members may share a schema
	return strings.Join(slices.DeleteFunc(types, func(t string) bool { return t == "null" }), " or ")
}

func paragraphs(text string) []Paragraph {
	var all []Paragraph
	for part := range strings.SplitSeq(text, "\n\n") {
		var p Paragraph
		for i, phrase := range strings.Split(strings.Join(strings.Fields(part), " "), "`") {
			if phrase != "" {
				p = append(p, Phrase{Code: i%2 == 1, Text: phrase})
			}
		}
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}
