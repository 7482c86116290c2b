package insights

import (
	"fmt"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Strip is how a test did in its last runs: a mark per run, the newest on the right. Those that failed are the highest, so that colour is
// not the only sign.
type Strip struct {
	Marks []Outcome
	Label string // in words
	Flips int    // from passed to failed, or back
}

// Outcome is a run in a strip.
type Outcome struct {
	Key          string
	X, Y, Height float64 // in pixels
}

const (
	stripRuns, stripPitch, stripHeight = history.StripRuns, 6.0, 16.0
	// comesAndGoes is how many flips make a test come and go: it failed, passed and failed again.
	comesAndGoes = 3
)

var stripKeys = map[rune]struct {
	key    string
	height float64
}{
	history.OutcomePassed: {"passed", 8}, history.OutcomeFailed: {"failed", stripHeight}, history.OutcomeFlaky: {"flaky", 12},
	history.OutcomeSkipped: {"skipped", 4}, history.OutcomeNone: {"none", 2},
}

// StripOf reads the outcomes of httpapi.TestStats.
func StripOf(outcomes string) Strip {
	letters := []rune(outcomes)
	letters = letters[max(0, len(letters)-stripRuns):]
	s, counts, before := Strip{}, map[rune]int{}, rune(0)
	for i, letter := range letters {
		look, ok := stripKeys[letter]
		if !ok {
			letter, look = '-', stripKeys['-']
		}
		counts[letter]++
		s.Marks = append(s.Marks, Outcome{look.key, float64(stripRuns-len(letters)+i) * stripPitch, (stripHeight - look.height) / 2, look.height})
		if failed := letter == 'f'; failed || letter == 'p' || letter == 'r' {
			if before != 0 && failed != (before == 'f') {
				s.Flips++
			}
			before = letter
		}
	}
	s.Label = stripWords(len(letters), counts)
	return s
}

func stripWords(runs int, counts map[rune]int) string {
	if runs == 0 {
		return "No run"
	}
	var parts []string
	for _, part := range []struct {
		letter rune
		words  string
	}{{'f', "failed"}, {'r', "passed when repeated"}, {'p', "passed"}, {'s', "skipped it"}, {'-', "did not list it"}} {
		if n := counts[part.letter]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, part.words))
		}
	}
	return "Last " + plaintext.Count(runs, "run") + ": " + strings.Join(parts, ", ")
}

// outcomesOf writes the runs of a test, which come newest first, as httpapi.TestStats does.
func outcomesOf(runs []httpapi.TestRun) string {
	var text strings.Builder
	for i := min(len(runs), stripRuns) - 1; i >= 0; i-- {
		switch runs[i].State {
		case httpapi.TestPassed:
			text.WriteByte('p')
		case httpapi.TestFlaky:
			text.WriteByte('r')
		case httpapi.TestFailed:
			text.WriteByte('f')
		case httpapi.TestSkipped:
			text.WriteByte('s')
		default:
			text.WriteByte('-')
		}
	}
	return text.String()
}
