package httpapi_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// shape is what JSON decides of a type: its members, their types, and which of them are always there.
type shape map[string]string

// synonyms are members that Go clients do not need.
var synonyms = []string{"merge_request_number"}

func TestTypesAreDocumented(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile("../../internal/server/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schemas := doc.Components.Schemas
	for name, value := range map[string]any{
		"Notification": httpapi.Notification{}, "NotificationResult": httpapi.NotificationResult{}, "Result": httpapi.Result{},
		"Environment": httpapi.Environment{}, "Explanation": httpapi.Explanation{}, "SignedURL": httpapi.SignedURL{},
		"Problem": httpapi.Problem{}, "Greenlight": httpapi.Greenlight{}, "Bug": httpapi.Bug{},
		"Run": httpapi.Run{}, "Runs": httpapi.Runs{}, "TestResults": httpapi.TestResults{}, "TestFailure": httpapi.TestFailure{},
		"RunResults": httpapi.RunResults{},
		"Artifacts":  httpapi.Artifacts{}, "ArchiveState": httpapi.ArchiveState{}, "Artifact": httpapi.Artifact{},
		"ArtifactList": httpapi.ArtifactList{}, "Termination": httpapi.Termination{},
		"EnvironmentStatus": httpapi.EnvironmentStatus{}, "EnvironmentList": httpapi.EnvironmentList{}, "Deployed": httpapi.Deployed{},
		"DeployedWorkload": httpapi.DeployedWorkload{}, "PreviousDeployment": httpapi.PreviousDeployment{}, "ImageDigest": httpapi.ImageDigest{},
		"Replay": httpapi.Replay{}, "ReplayedTrigger": httpapi.ReplayedTrigger{}, "ReplayChange": httpapi.ReplayChange{},
		"Overview": httpapi.Overview{}, "BoardTile": httpapi.BoardTile{}, "OverviewEnvironment": httpapi.OverviewEnvironment{},
		"TerminationResult": httpapi.TerminationResult{}, "Terminated": httpapi.Terminated{},
	} {
		t.Run(name, func(t *testing.T) {
			documented := documentedShape(schemas[name].Value)
			for _, synonym := range synonyms {
				delete(documented, synonym)
			}
			if diff := cmp.Diff(documented, goShape(reflect.TypeOf(value), false)); diff != "" {
				t.Errorf("openapi.yaml (-) and Go (+):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(documentedShape(schemas["Explanation"].Value.Properties["conditions"].Value.Items.Value),
		goShape(reflect.TypeFor[httpapi.Condition](), false)); diff != "" {
		t.Errorf("Condition: openapi.yaml (-) and Go (+):\n%s", diff)
	}
	stages := []any{string(httpapi.Initializing), string(httpapi.Completed), string(httpapi.Canceled)}
	if diff := cmp.Diff(schemas["Greenlight"].Value.Properties["runStage"].Value.Enum, stages); diff != "" {
		t.Errorf("stages: openapi.yaml (-) and Go (+):\n%s", diff)
	}
}

func documentedShape(schema *openapi3.Schema) shape {
	members := shape{}
	for name, member := range schema.Properties {
		kind := documentedType(member)
		if !slices.Contains(schema.Required, name) {
			kind += ", optional"
		}
		members[name] = kind
	}
	return members
}

// documentedType names a schema as kindOf names a Go type. A client sends the first of several forms.
func documentedType(ref *openapi3.SchemaRef) string {
	schema := ref.Value
	if len(schema.OneOf) > 0 {
		schema = schema.OneOf[slices.IndexFunc(schema.OneOf, func(s *openapi3.SchemaRef) bool { return !s.Value.Type.Is("null") })].Value
	}
	switch kinds := slices.DeleteFunc(slices.Clone(schema.Type.Slice()), func(kind string) bool { return kind == "null" }); {
	case schema.Items != nil:
		return "array of " + documentedType(schema.Items)
	case len(kinds) == 1:
		return kinds[0]
	default:
		return "one of " + strings.Join(kinds, ", ")
	}
}

// goShape is the shape of a struct. The members of an embedded pointer are all there or all absent.
func goShape(of reflect.Type, optional bool) shape {
	members := shape{}
	for field := range of.Fields() {
		if field.Anonymous {
			for name, kind := range goShape(field.Type.Elem(), true) {
				members[name] = kind
			}
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		members[name] = kindOf(field.Type)
		if optional || options != "" {
			members[name] += ", optional"
		}
	}
	return members
}

func kindOf(of reflect.Type) string {
	if of == reflect.TypeFor[time.Time]() {
		return "string"
	}
	switch of.Kind() {
	case reflect.Slice:
		return "array of " + kindOf(of.Elem())
	case reflect.Pointer:
		return kindOf(of.Elem())
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	default:
		return of.Kind().String()
	}
}
