package results

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Collected holds what is known of the results of a finished run.
type Collected struct {
	Summary   Summary
	Missing   []string // sentences: which pods have not reported, and why
	Lost      []string // the losses of pods that succeeded
	OnlyTests bool     // all pods ran to their end and reported whole, and nothing but tests failed
	NoStore   bool     // the tests have a directory for their results, and nothing keeps it
}

// maxMissing bounds the pods without a report that a message names.
const maxMissing = 3

// Condition says whether the results were collected. Its message names what was lost.
func (c *Collected) Condition() metav1.Condition {
	said := c.Missing[:min(len(c.Missing), maxMissing)]
	if more := len(c.Missing) - len(said); more > 0 {
		said = append(said[:len(said):len(said)], fmt.Sprintf("So it is with %d more.", more))
	}
	if c.Summary.Problem != "" {
		said = append(said[:len(said):len(said)], c.Summary.Problem)
	}
	switch {
	case c.NoStore:
		return v1alpha1.ResultsNotKept("The results of the tests were not kept, because no store for files is configured. " +
			"Ask the operator of Postflight to set --store-bucket and --store-endpoint.")
	case len(said) > 0:
		return v1alpha1.ResultsIncomplete(strings.Join(said, " ") + " " + c.kept())
	default:
		return v1alpha1.ResultsCollected(c.kept())
	}
}

func (c *Collected) kept() string {
	s := c.Summary
	switch {
	case s.Files == 0 && (len(c.Missing) > 0 || s.Problem != ""):
		return "No upload was reported."
	case s.Files == 0:
		return "The tests left no files in the results directory."
	case s.Reports == 0:
		return fmt.Sprintf("%s uploaded, with %s. None of them is a JUnit report.", were(s.Files, "file"), plaintext.Bytes(s.Bytes))
	default:
		return fmt.Sprintf("%s uploaded, with %s, and %s read.", were(s.Files, "file"), plaintext.Bytes(s.Bytes), were(s.Reports, "JUnit report"))
	}
}

func were(n int32, what string) string {
	if n == 1 {
		return plaintext.Count(n, what) + " was"
	}
	return plaintext.Count(n, what) + " were"
}
