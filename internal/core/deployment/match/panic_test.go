package match

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// TestPanicOfACompiler: a panic must not end the process or affect other Triggers.
func TestPanicOfACompiler(t *testing.T) {
	tests := map[string]struct {
		reason string
		panics any
		says   string
	}{
		"error":   {reason: "a bug of a library", panics: error(&CompileError{Criterion: "x", Reason: "y"}), says: "(The Trigger matches nothing, because spec.match.x y.)"},
		"lines":   {reason: "it is made a line", panics: "a\n\tbug", says: "spec.match.expression cannot be compiled; write it otherwise (a bug)."},
		"long":    {reason: "and a short one", panics: strings.Repeat("ü", 1000), says: "(" + strings.Repeat("ü", 100) + ")"},
		"illegal": {reason: "of characters", panics: "a \xff bug", says: "(a  bug)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			defer func(real func() (*cel.Env, error)) { environment = real }(environment)
			environment = func() (*cel.Env, error) { panic(tc.panics) }
			x := &Index{}
			x.Set(trigger("broken", expressionOf("true")))
			x.Set(trigger("fine", branches("main")))
			if names := matchedNames(x, &notification.Notification{Branch: "main"}); len(names) != 1 || names[0] != "fine" {
				t.Errorf("%s: matched %v, want the other one", tc.reason, names)
			}
			if err := problemOf(x, namespace, "broken"); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: the problem is %v, want one that says %s", tc.reason, err, tc.says)
			}
		})
	}
}
