package view_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/view"
)

func TestReference(t *testing.T) {
	const document = `
openapi: 3.1.0
info: {title: Postflight, version: v1, description: "One.\n\nSend ` + "`null`" + ` or nothing."}
paths:
  /runs/{id}:
    get:
      operationId: run
      summary: A run
      parameters:
        - {name: id, in: path, required: true, description: Its id., schema: {type: string}}
      responses: {"404": {description: Unknown.}, "200": {description: Known.}}
  /notify:
    post:
      operationId: notify
      summary: Notify
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Notification'}}}}
      responses: {"200": {description: Done.}}
components:
  schemas:
    Notification:
      type: object
      required: [sha]
      properties: {branch: {$ref: '#/components/schemas/Text'}, sha: {$ref: '#/components/schemas/Text'}}
    Text: {type: [string, "null"], description: Some text.}
`
	text := func(s string) []view.Paragraph { return []view.Paragraph{{{Text: s}}} }
	want := &view.Reference{
		Title: "Postflight",
		Intro: []view.Paragraph{{{Text: "One."}}, {{Text: "Send "}, {Code: true, Text: "null"}, {Text: " or nothing."}}},
		Operations: []view.Operation{
			{ID: "notify", Method: "POST", Path: "/notify", Summary: "Notify",
				Body:      []view.Field{{Name: "sha", Kind: "string", Required: true, Text: text("Some text.")}, {Name: "branch", Kind: "string", Text: text("Some text.")}},
				Responses: []view.Field{{Name: "200", Text: text("Done.")}}},
			{ID: "run", Method: "GET", Path: "/runs/{id}", Summary: "A run",
				Parameters: []view.Field{{Name: "id", Kind: "path string", Required: true, Text: text("Its id.")}},
				Responses:  []view.Field{{Name: "200", Text: text("Known.")}, {Name: "404", Text: text("Unknown.")}}},
		},
	}
	got, err := view.ReferenceOf([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := view.ReferenceOf([]byte("openapi: [")); err == nil {
		t.Error("a document that cannot be read has a reference")
	}
}
