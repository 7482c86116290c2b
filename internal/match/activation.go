package match

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/postflight-dev/postflight/internal/notification"
)

// variableName is what expressions call the notification.
const variableName = "notification"

// activation is a notification in the form in which conditions look at it. Expressions see it as a
// value of notificationType.
type activation struct {
	*notification.Notification
	// branch is the name of the branch, without refs/heads/.
	branch string
}

func newActivation(n *notification.Notification) *activation {
	return &activation{Notification: n, branch: notification.BranchName(n.Branch)}
}

var notificationType = types.NewObjectType("postflight.Notification")

// activationFields are the fields that expressions can name, with the names of the HTTP contract. All
// are always there: one that is absent is "", 0, false or the empty map, and has() is false of it.
var activationFields = map[string]*types.FieldType{
	"branch":                field(types.StringType, func(a *activation) string { return a.branch }),
	"sha":                   field(types.StringType, func(a *activation) string { return a.SHA }),
	"deployment_type":       field(types.StringType, func(a *activation) string { return a.DeploymentType }),
	"deployment_url":        field(types.StringType, func(a *activation) string { return a.DeploymentURL }),
	"hosting_service":       field(types.StringType, func(a *activation) string { return string(a.HostingService) }),
	"commit_url":            field(types.StringType, func(a *activation) string { return a.CommitURL }),
	"repository":            field(types.StringType, func(a *activation) string { return a.Repository }),
	"pull_request_number":   field(types.IntType, func(a *activation) int64 { return a.PullRequestNumber }),
	"deduplication_key":     field(types.StringType, func(a *activation) string { return a.DeduplicationKey }),
	"ephemeral_environment": field(types.BoolType, func(a *activation) bool { return a.EphemeralEnvironment }),
	"variables": {
		Type:    types.NewMapType(types.StringType, types.StringType),
		IsSet:   func(target any) bool { return len(target.(*activation).Variables) > 0 },
		GetFrom: func(target any) (any, error) { return target.(*activation).Variables, nil },
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

// declareNotification makes the type and the variable known, so that a misspelt field does not
// compile.
func declareNotification(env *cel.Env) (*cel.Env, error) {
	env, err := cel.CustomTypeProvider(&provider{Provider: env.CELTypeProvider()})(env)
	if err != nil {
		return nil, err
	}
	return cel.Variable(variableName, notificationType)(env)
}

// provider adds notificationType to the types of CEL. No expression can make a value of it.
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

// An activation is the only variable of an expression.

// ResolveName implements cel.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	return a, name == variableName
}

// Parent implements cel.Activation.
func (a *activation) Parent() cel.Activation { return nil }

// ConvertToNative implements ref.Val.
func (a *activation) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a notification is no %s", t)
}

// ConvertToType implements ref.Val.
func (a *activation) ConvertToType(t ref.Type) ref.Val {
	if t.TypeName() == types.TypeType.TypeName() {
		return notificationType
	}
	return types.NewErr("a notification is no %s", t.TypeName())
}

// Equal implements ref.Val: there is only one.
func (a *activation) Equal(other ref.Val) ref.Val {
	return types.Bool(other == ref.Val(a))
}

// Type implements ref.Val.
func (a *activation) Type() ref.Type { return notificationType }

// Value implements ref.Val.
func (a *activation) Value() any { return a }
