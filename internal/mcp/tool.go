package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// maxError bounds the text of an error, in bytes: a few sentences.
const maxError = 2048

// ErrTooLarge is the error of a transport that stops reading a large answer.
var ErrTooLarge = errors.New("the answer is larger than a tool may read")

// tool is a tool before it has a handler.
type tool[In, Out any] struct {
	name, title, description string
	// changes something; otherwise the tool only reads.
	changes bool
	// bounds changes the schema of the arguments that the type In has.
	bounds func(properties map[string]*jsonschema.Schema)
	call   func(context.Context, *client.Client, In) (*Out, error)
	// shrink drops the least telling part of a result that is too large, says so in it, and reports whether there was one.
	shrink func(*Out) bool
}

// add registers a tool. What every tool has in common is here: the time limit, harmless text, the size, and the sentence about its data.
func add[In, Out any](s *Server, t tool[In, Out]) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("the arguments of %s: %v", t.name, err)) // the type is ours
	}
	if t.bounds != nil {
		t.bounds(schema.Properties)
	}
	sdk.AddTool(s.inner, &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: schema,
		Annotations: &sdk.ToolAnnotations{
			Title: t.title, ReadOnlyHint: !t.changes, IdempotentHint: !t.changes, DestructiveHint: &t.changes, OpenWorldHint: new(false),
		},
	}, func(ctx context.Context, r *sdk.CallToolRequest, in In) (*sdk.CallToolResult, *Out, error) {
		out, err := t.answer(ctx, s.connect, r, in)
		if err != nil {
			return nil, nil, explained(err)
		}
		return result(out)
	})
}

func (t tool[In, Out]) answer(ctx context.Context, connect Connect, r *sdk.CallToolRequest, in In) (*Out, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	extra := r.Extra
	if extra == nil {
		extra = &sdk.RequestExtra{}
	}
	c, err := connect(extra.Header)
	if err != nil {
		return nil, err
	}
	out, err := t.call(ctx, c, in)
	if err != nil {
		return nil, err
	}
	harmless(out)
	for size(out) > maxResult {
		if t.shrink == nil || !t.shrink(out) {
			return nil, fmt.Errorf("the result would have more than %s. Ask for less, such as one environment, trigger or page",
				plaintext.Bytes(maxResult))
		}
	}
	return out, nil
}

// result has the data twice, as the protocol asks: for programs, and as text for clients that know no structured content.
func result[Out any](out *Out) (*sdk.CallToolResult, *Out, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // agents copy names of tests from here
	if err := e.Encode(out); err != nil {
		return nil, nil, err
	}
	return &sdk.CallToolResult{Content: []sdk.Content{
		&sdk.TextContent{Text: Untrusted}, &sdk.TextContent{Text: strings.TrimSuffix(text.String(), "\n")},
	}}, out, nil
}

// explained makes the error a sentence that says what to do, without secrets.
func explained(err error) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		err = errors.New("the answer of the server is too large for a tool. Name one environment or trigger, or use the command line: " +
			"postflight --help")
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s. Ask for less, such as fewer days, or again in a minute", callTimeout)
	}
	return errors.New(plaintext.Line(mask.Text(err.Error()), maxError))
}

func size(value any) int {
	text, err := json.Marshal(value)
	if err != nil {
		return 0 // result fails with the same error
	}
	return len(text)
}

// fitting asks for shorter pages until one fits, because the cursor of a page is right for the whole page only.
func fitting[Out any](limit int, page func(limit int) (*Out, error)) (*Out, error) {
	for {
		out, err := page(limit)
		if err != nil {
			return nil, err
		}
		harmless(out)
		if size(out) <= maxResult || limit <= 1 {
			return out, nil
		}
		limit /= 2
	}
}

// upTo bounds a number among the arguments, which begins with 1.
func upTo(s *jsonschema.Schema, most int) { s.Minimum, s.Maximum = new(float64(1)), new(float64(most)) }
