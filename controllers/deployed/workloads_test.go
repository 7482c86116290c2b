package deployed

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestKeptExpressions: an Environment compiles its expressions once for each generation, and a namespace keeps no more than its share.
func TestKeptExpressions(t *testing.T) {
	k := newKeptExpressions()
	environment := func(namespace string, i int, bytes int) *v1alpha1.Environment {
		e := &v1alpha1.Environment{}
		e.Namespace, e.Name, e.UID, e.Generation = namespace, fmt.Sprint("e", i), types.UID(fmt.Sprint(namespace, i)), 1
		for n := bytes; n > 0; n -= 1024 {
			v := &v1alpha1.WorkloadValue{Expression: strings.Repeat("x", min(n, 1024))}
			e.Spec.Workloads = append(e.Spec.Workloads, v1alpha1.Workload{SHA: v})
		}
		return e
	}
	kept := func(e *v1alpha1.Environment) bool { first := k.get(e); return k.get(e) == first }
	largest, second := environment("attacker", 0, 60<<10), environment("attacker", 1, 60<<10)
	own := environment("acme", 0, 100)
	if !kept(largest) || kept(second) || !kept(own) {
		t.Errorf("%t, %t, %t", kept(largest), kept(second), kept(own))
	}
	first := k.get(own)
	if own.Generation++; k.get(own) == first {
		t.Error("it was changed, and its expressions are the same")
	}
	before := k.get(own)
	if own.UID = "another"; k.get(own) == before {
		t.Error("it was created again, and its expressions are the same")
	}
	k.forget(types.NamespacedName{Namespace: "attacker", Name: "e0"})
	if !kept(second) || kept(largest) {
		t.Error("there is room for the second")
	}
	k.forget(types.NamespacedName{Namespace: "attacker", Name: "e1"})
	k.forget(types.NamespacedName{Namespace: "acme", Name: "e0"})
	if len(k.byEnvironment) != 0 || !k.share.Take(types.NamespacedName{}, "", expressionBytes, "attacker") {
		t.Errorf("%v are kept, or their bytes are", k.byEnvironment)
	}
}

// TestReadyOfMixedServices: who names only some services sees it, and the Environment is ready nevertheless.
func TestReadyOfMixedServices(t *testing.T) {
	e := &v1alpha1.Environment{}
	e.Spec.Workloads = []v1alpha1.Workload{{Name: "api", Repository: "acme/shop"}, {Name: "cart", Repository: "acme/shop", Service: "cart"}}
	setReady(e, nil, "")
	const want = `All workloads can be read. Some workloads of the repository "acme/shop" name a service, and others none.`
	if c := e.Status.Conditions[0]; c.Status != "True" || !strings.HasPrefix(c.Message, want) {
		t.Errorf("%s: %s", c.Status, c.Message)
	}
}
