package workloads

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// anObject has what people read, and texts and lists that are as large as an object may have them.
func anObject() *unstructured.Unstructured {
	numbers := make([]any, 5000)
	for i := range numbers {
		numbers[i] = fmt.Sprint("number-", i)
	}
	return &unstructured.Unstructured{Object: fields{
		"kind": "HelmRelease", "metadata": fields{"name": "shop", "labels": fields{"app.kubernetes.io/version": "1.2.3"}},
		"spec": fields{
			"replicas": int64(3), "ref": "refs/heads/main",
			"parameters": []any{fields{"name": "image.tag", "value": "9c1d2e3"}, fields{"name": "host", "value": "a"}},
			"images":     []any{"registry:5000/proxy:1", "registry:5000/shop:9c1d2e3"},
		},
		"status": fields{"lastAppliedRevision": "main@sha1:9c1d2e3"},
		"long":   strings.Repeat("a", 200_000), "numbers": numbers,
	}}
}

func TestExpression(t *testing.T) {
	for name, tc := range map[string]struct{ reason, expression, want string }{
		"a field":        {"the simplest", "object.status.lastAppliedRevision", "main@sha1:9c1d2e3"},
		"the end":        {"as Flux writes revisions", "object.status.lastAppliedRevision.split(':')[1]", "9c1d2e3"},
		"a part":         {"from a place", "object.spec.ref.substring(object.spec.ref.lastIndexOf('/') + 1)", "main"},
		"a label":        {"its name has a slash", "object.metadata.labels['app.kubernetes.io/version']", "1.2.3"},
		"an optional":    {"with a default", "object.metadata.?annotations[?'sha'].orValue('none')", "none"},
		"a parameter":    {"of an Application of Argo CD", "object.spec.parameters.filter(p, p.name == 'image.tag')[0].value", "9c1d2e3"},
		"an image":       {"of several", "object.spec.images.filter(i, i.contains('/shop:'))[0].split(':')[2]", "9c1d2e3"},
		"nested filters": {"they make no nested lists", "object.spec.images.filter(i, object.spec.parameters.exists(p, i.endsWith(p.value) && p.name == 'image.tag'))[0]", "registry:5000/shop:9c1d2e3"},
		"a condition":    {"either of two", "has(object.status.history) ? object.status.history[0].chartVersion : 'v' + string(object.spec.replicas)", "v3"},
		"a list":         {"of written texts", "object.kind in ['HelmRelease', 'Kustomization'] ? object.kind.lowerAscii() : ''", "helmrelease"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := NewExpressions().evaluate(tc.expression, anObject())
			if err != nil || got != tc.want {
				t.Errorf("%s: %q, %v", tc.reason, got, err)
			}
		})
	}
}

func TestExpressionRejects(t *testing.T) {
	const tooMuch, noLists = "actual cost limit exceeded", "cannot be used"
	for name, tc := range map[string]struct{ reason, expression, says string }{
		"syntax":             {"the first error is enough", "object.", "the expression does not compile: Syntax error"},
		"an unknown name":    {"there is one variable", "workload.sha", "undeclared reference to 'workload'"},
		"an unknown macro":   {"map() would nest lists", "object.numbers.map(n, n)[0]", "undeclared reference"},
		"another type":       {"the checker sees it", "1 + 2", "gives a value of type int, and not a string"},
		"a number":           {"only the object shows it", "object.spec.replicas", "the value of the expression is no string"},
		"a map":              {"nor is this", "object", "the value of the expression is no string"},
		"null":               {"nor is this", "object.missing == null ? null : object.spec.none", "no such key"},
		"a missing field":    {"it may be written later", "object.status.sha", "the expression has no value: no such key: sha"},
		"a missing element":  {"there is none", "object.spec.images[7]", "index out of bounds"},
		"too long a source":  {"the API bounds it, too", "'" + strings.Repeat("x", 1100) + "'", "does not compile"},
		"too many nodes":     {"1,024 bytes hold more", strings.Repeat("1+", 400) + "1 > 0 ? '' : ''", "does not compile"},
		"replace":            {"a text of 200 KB would become one of 40 GB", "object.long.replace('', object.long)", "replace() cannot be used"},
		"join":               {"it repeats its separator", "object.numbers.join(object.long)", "join() cannot be used"},
		"format":             {"it makes any length", "'%.1000000000f'.format([1.0])", "cannot be used"},
		"quote":              {"it makes longer texts", "strings.quote(object.long)", "cannot be used"},
		"matches":            {"a pattern may be slow", "object.long.matches('(a*)*b') ? 'a' : 'b'", "undeclared reference to 'matches'"},
		"time":               {"an object has no clock", "timestamp('2026-01-01T00:00:00Z').getFullYear() == 1 ? 'a' : 'b'", "undeclared reference"},
		"dyn":                {"it is not needed", "dyn(1)", "undeclared reference to 'dyn'"},
		"a list of objects":  {"shared lists take exponential time", "[object.numbers, object.numbers] == [] ? 'a' : 'b'", noLists},
		"an optional entry":  {"it is no literal", "[?object.?numbers] == [] ? 'a' : 'b'", noLists},
		"a map of objects":   {"so do maps", "{'a': object}.a.kind", noLists},
		"doubled lists":      {"optMap() gives values names", "optional.of([object]).optMap(x, [x, x]).optMap(x, [x, x]).orValue([]) == [] ? 'a' : 'b'", noLists},
		"the filter's own":   {"nobody can write its name", "object.numbers.filter(n, ([n] + [n]).size() > 1)[0]", noLists},
		"two loops":          {"25 million pairs", "object.numbers.exists(a, object.numbers.exists(b, a == b + 'x')) ? 'a' : 'b'", tooMuch},
		"three loops":        {"nor deeper", "object.numbers.filter(a, object.numbers.all(b, object.numbers.exists(c, c == 'x')))[0]", tooMuch},
		"a loop of splits":   {"each makes a long list", "object.numbers.exists(a, object.long.split('').size() == 1) ? 'a' : 'b'", tooMuch},
		"a loop of searches": {"each reads a long text", "object.numbers.exists(a, object.long.contains('b')) ? 'a' : 'b'", tooMuch},
		"a loop of sizes":    {"each counts characters", "object.numbers.exists(a, size(object.long) == 1) ? 'a' : 'b'", tooMuch},
		"a loop of equals":   {"each compares the whole object", "object.numbers.exists(a, object != object) ? 'a' : 'b'", tooMuch},
		"a loop of in":       {"each compares a list", "object.numbers.exists(a, object in [1, 2] || object.kind in object.numbers) ? 'a' : 'b'", tooMuch},
		"a growing text":     {"it doubles each time", "optional.of(object.long).optMap(x, x + x).optMap(x, x + x).optMap(x, x + x).optMap(x, x + x).orValue('')", tooMuch},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := NewExpressions().evaluate(tc.expression, anObject())
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %.40q, %v", tc.reason, got, err)
			}
		})
	}
}

// TestExpressionErrorIsBounded: CEL quotes the text that is no number, and the API server refuses a condition that is too long.
func TestExpressionErrorIsBounded(t *testing.T) {
	_, err := NewExpressions().evaluate("string(int(object.long))", anObject())
	if err == nil || len(err.Error()) > 400 {
		t.Errorf("%d bytes", len(fmt.Sprint(err)))
	}
}

// TestExpressionsCompileOnce: neither another object nor another field makes an Environment compile an expression again.
func TestExpressionsCompileOnce(t *testing.T) {
	kept := NewExpressions()
	w := v1alpha1.Workload{SHA: &v1alpha1.WorkloadValue{Expression: "object.metadata.name"}, Branch: &v1alpha1.WorkloadValue{Expression: "object.metadata.name"}}
	programs := map[any]bool{}
	for i := range 20 {
		f := Found{Workload: w, Object: aDeployment(fmt.Sprint("web", i), wholeSHA), Expressions: kept}
		if n, problem := f.read(); problem != "" || n.sha != fmt.Sprint("web", i) || n.branch != n.sha {
			t.Errorf("%+v, %s", n, problem)
		}
		program, err := kept.program("object.metadata.name")
		if err != nil {
			t.Fatal(err)
		}
		programs[program] = true
	}
	if len(programs) != 1 || len(kept.bySource) != 1 {
		t.Errorf("%d programs were made, and %d are kept", len(programs), len(kept.bySource))
	}
}
