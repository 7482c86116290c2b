package issuer

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestCompiledPoliciesOfATeam: however many policies a team has, other teams' policies stay compiled.
func TestCompiledPoliciesOfATeam(t *testing.T) {
	var known compiledPolicies
	quiet := policy("https://ci.example.com", "acme", "a")
	first, err := known.get(quiet)
	if err != nil {
		t.Fatal(err)
	}
	loud := policy("https://ci.example.com", "loud", "a")
	loud.Spec.Expression = "claims.ref =" // which cannot be compiled, and is quick
	for n := range 2 * maxCompiled {
		loud.UID = types.UID(fmt.Sprint(n))
		_, _ = known.get(loud)
	}
	if again, _ := known.get(quiet); again != first {
		t.Error("the policies of a team made that of another one be compiled again")
	}
}
