package match

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

const variableName = "notification"

// activation is a notification as criteria read it. In expressions it is a value of notificationType.
type activation struct {
	*notification.Notification
	branch string // without refs/heads/

	withheld *withheld // nil: all variables are known
}

func newActivation(n *notification.Notification) *activation {
	return &activation{Notification: n, branch: notification.BranchName(n.Branch)}
}

var notificationType = types.NewObjectType("postflight.Notification")

// activationFields are the fields that expressions can use. All exist: an absent one is "", 0, false or the empty map, and has() is false.
var activationFields = map[string]*types.FieldType{
	"branch":                field(types.StringType, func(a *activation) string { return a.branch }),
	"sha":                   field(types.StringType, func(a *activation) string { return a.SHA }),
	"deployment_type":       field(types.StringType, func(a *activation) string { return a.DeploymentType }),
	"deployment_url":        field(types.StringType, func(a *activation) string { return a.DeploymentURL }),
	"hosting_service":       field(types.StringType, func(a *activation) string { return string(a.HostingService) }),
	"commit_url":            field(types.StringType, func(a *activation) string { return a.CommitURL }),
	"commit_message":        field(types.StringType, func(a *activation) string { return a.CommitMessage }),
	"commit_author":         field(types.StringType, func(a *activation) string { return a.CommitAuthor }),
	"repository":            field(types.StringType, func(a *activation) string { return a.Repository }),
	"service":               field(types.StringType, func(a *activation) string { return a.Service }),
	"pull_request_number":   field(types.IntType, func(a *activation) int64 { return a.PullRequestNumber }),
	"pipeline_id":           field(types.IntType, func(a *activation) int64 { return a.PipelineID }),
	"workflow":              field(types.StringType, func(a *activation) string { return a.Workflow }),
	"job":                   field(types.StringType, func(a *activation) string { return a.Job }),
	"task":                  field(types.StringType, func(a *activation) string { return a.Task }),
	"deduplication_key":     field(types.StringType, func(a *activation) string { return a.DeduplicationKey }),
	"ephemeral_environment": field(types.BoolType, func(a *activation) bool { return a.EphemeralEnvironment }),
	"variables": {
		Type:    types.NewMapType(types.StringType, types.StringType),
		IsSet:   func(target any) bool { return len(target.(*activation).Variables) > 0 },
		GetFrom: func(target any) (any, error) { return target.(*activation).variables(), nil },
	},
}

func field[T comparable](t *types.Type, get func(*activation) T) *types.FieldType {
	var absent T
	return &types.FieldType{
		Type:    t,
		IsSet:   func(target any) bool { return get(target.(*activation)) != absent },
		GetFrom: func(target any) (any, error) { return get(target.(*activation)), nil },
	}
}

// declareNotification declares the type and the variable, so that a misspelt field does not compile.
func declareNotification(env *cel.Env) (*cel.Env, error) {
	env, err := cel.CustomTypeProvider(&provider{Provider: env.CELTypeProvider()})(env)
	if err != nil {
		return nil, err
	}
	return cel.Variable(variableName, notificationType)(env)
}

// provider adds notificationType to the types of CEL. Expressions cannot create values of it.
type provider struct {
	types.Provider
}

func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if name == notificationType.TypeName() {
		return types.NewTypeTypeWithParam(notificationType), true
	}
	return p.Provider.FindStructType(name)
}

func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name != notificationType.TypeName() {
		return p.Provider.FindStructFieldType(name, field)
	}
	t, ok := activationFields[field]
	return t, ok
}

// An activation is a cel.Activation with one variable: itself, a ref.Val.

func (a *activation) ResolveName(name string) (any, bool) { return a, name == variableName }
func (a *activation) Parent() cel.Activation              { return nil }
func (a *activation) Equal(other ref.Val) ref.Val         { return types.Bool(other == ref.Val(a)) }
func (a *activation) Type() ref.Type                      { return notificationType }
func (a *activation) Value() any                          { return a }

func (a *activation) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a notification is no %s", t)
}

func (a *activation) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("a notification is no %s", t.TypeName())
}
