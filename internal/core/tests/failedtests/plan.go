package failedtests

import (
	"encoding/json"
	"fmt"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Plan is what a run repeats, as its Job remembers it.
type Plan struct {
	Of    string               `json:"of"`             // the run whose failed tests are repeated
	Root  string               `json:"root,omitempty"` // the run that ran all tests, if that is an earlier one
	Ran   int32                `json:"ran"`            // tests that ran in the run of all tests
	Names results.NameSet      `json:"names"`          // of the tests to repeat
	Tests []results.FailedTest `json:"-"`              // the same; nil if read from a Job
}

// Encode returns the plan for an annotation.
func (p *Plan) Encode() string {
	text, _ := json.Marshal(p) // strings and numbers cannot fail
	return string(text)
}

// Decode returns the plan of an annotation, or nil if it has none that is valid.
func Decode(text string) *Plan {
	p := &Plan{}
	if text == "" || json.Unmarshal([]byte(text), p) != nil || !p.Names.Valid() || p.Names == "" || int(p.Ran) < p.Names.Len() || p.Of == "" {
		return nil
	}
	return p
}

// Whole says that all tests passed, in which runs, as a sentence.
func (p *Plan) Whole() string {
	n := int32(p.Names.Len())
	where := "there"
	if p.Root != "" {
		where = "there or in " + p.Root
	}
	switch others := p.Ran - n; others {
	case 0:
		return fmt.Sprintf("%s of %s passed; there were no others.", plaintext.Count(n, "failed test"), p.Of)
	case 1:
		return fmt.Sprintf("%s of %s passed; the other one passed %s.", plaintext.Count(n, "failed test"), p.Of, where)
	default:
		return fmt.Sprintf("%s of %s passed; the other %d passed %s.", plaintext.Count(n, "failed test"), p.Of, others, where)
	}
}

// Unshown says that a run does not show that all tests that it was to repeat pass, as a sentence, or "".
func (p *Plan) Unshown(passed results.NameSet) string {
	left := p.Names.Without(passed).Len()
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("Of %s of %s, %d did not run here or did not pass: nothing shows that the whole run passes. Let the tests of the "+
		"Trigger run those of $%s, "+
		"under the same names, or repeat all.", plaintext.Count(int32(p.Names.Len()), "failed test"), p.Of, left, FileVariable)
}
