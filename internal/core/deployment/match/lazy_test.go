package match

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// costly is an expression of 4 KiB that takes 20 ms to compile.
var costly = strings.Repeat("notification.variables.all(k,k!='a')&&", 107) + "true"

// pendingOf counts the expressions of a namespace that are not compiled.
func pendingOf(x *Index, namespace string) int {
	return read(x, namespace, func(p *namespaceIndex) (n int) {
		for _, e := range p.byName {
			if e.matcher.isPending() {
				n++
			}
		}
		return n
	})
}

func in(namespace string) option {
	return func(t *v1alpha1.Trigger) { t.Namespace = namespace }
}

// TestIndexCompilesLate: a replica that starts compiles nothing. A notification compiles the expressions of its own team, and of these
// only those whose other criteria it meets.
func TestIndexCompilesLate(t *testing.T) {
	x := &Index{}
	for i := range 20 {
		x.Set(trigger(fmt.Sprintf("t-%d", i), all(in("hostile"), expressionOf(costly))))
	}
	x.Set(trigger("main", all(in("acme"), branches("main"), expressionOf("notification.branch == 'main'"))))
	x.Set(trigger("next", all(in("acme"), branches("next"), expressionOf("notification.branch == 'next'"))))
	if hostile, acme := pendingOf(x, "hostile"), pendingOf(x, "acme"); hostile != 20 || acme != 2 {
		t.Fatalf("%d and %d expressions are not compiled, want 20 and 2", hostile, acme)
	}
	matched, err := x.Match("acme", &notification.Notification{Branch: "main"}, never)
	if err != nil || len(matched) != 1 || matched[0].Name != "main" {
		t.Errorf("matched %v, %v", matched, err)
	}
	if hostile, acme := pendingOf(x, "hostile"), pendingOf(x, "acme"); hostile != 20 || acme != 1 {
		t.Errorf("%d and %d expressions are not compiled, want 20 and 1", hostile, acme)
	}
}

// TestCompileNextTakesTurns: the expressions of one team wait for one of another at most.
func TestCompileNextTakesTurns(t *testing.T) {
	x := &Index{}
	for i := range 20 {
		x.Set(trigger(fmt.Sprintf("t-%d", i), all(in("hostile"), expressionOf("notification.branch == 'x'"))))
	}
	x.Set(trigger("only", all(in("acme"), expressionOf("notification.branch == 'main'"))))
	for range 2 {
		x.CompileNext()
	}
	if hostile, acme := pendingOf(x, "hostile"), pendingOf(x, "acme"); hostile != 19 || acme != 0 {
		t.Errorf("%d and %d expressions are not compiled, want 19 and 0", hostile, acme)
	}
	rest := 0
	for x.CompileNext() {
		rest++
	}
	if rest != 19 {
		t.Errorf("%d were left, want 19", rest)
	}
}

// TestLateCompileError: a Trigger whose expression is invalid matches nothing, and is tried once.
func TestLateCompileError(t *testing.T) {
	x := &Index{}
	x.Set(trigger("broken", expressionOf("notification.bronch == 'main'")))
	n := &notification.Notification{Branch: "main"}
	if matched, err := x.Match(namespace, n, never); len(matched) != 0 || err != nil {
		t.Errorf("matched %v, %v", matched, err)
	}
	if tried := x.candidates(namespace, newActivation(n)); len(tried) != 0 {
		t.Errorf("it is tried again: %v", tried)
	}
	if problem, ok := errors.AsType[*CompileError](problemOf(x, namespace, "broken")); !ok || problem.Criterion != "expression" {
		t.Errorf("the problem is %v", problem)
	}
}

// BenchmarkStart prints what the Triggers of one team take when a replica starts, and then in the background.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		x, began := &Index{}, time.Now()
		for i := range 1000 {
			x.Set(trigger(fmt.Sprintf("t-%d", i), expressionOf(costly)))
		}
		start := time.Since(began)
		for x.CompileNext() {
		}
		fmt.Printf("COMPILE triggers=1000 expression_bytes=%d start_seconds=%.3f background_seconds=%.1f\n",
			len(costly), start.Seconds(), (time.Since(began) - start).Seconds())
	}
}
