package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Level says how bad a Finding is.
type Level string

// The levels, best first.
const (
	OK      Level = "ok"
	Warning Level = "warning" // it works, and will not for long or not for everybody; or it could not be checked
	Failure Level = "failure" // something does not work
)

// Finding is the result of a check.
type Finding struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"`          // a sentence
	Advice  string `json:"advice,omitempty"` // what to do, as sentences
}

// Unchecked is the finding of a check that was impossible.
func Unchecked(check string, err error) Finding {
	return warning(check, "Ask somebody with more rights to run this, if you lack some.", "Could not be checked: %s", err)
}

// Worst returns the level of the installation.
func Worst(findings []Finding) Level {
	levels := []Level{OK, Warning, Failure}
	worst := 0
	for _, f := range findings {
		worst = max(worst, slices.Index(levels, f.Level))
	}
	return levels[worst]
}

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, Level: OK, Message: fmt.Sprintf(format, args...)}
}

func warning(check, advice, format string, args ...any) Finding {
	return Finding{Check: check, Level: Warning, Message: fmt.Sprintf(format, args...), Advice: advice}
}

func failure(check, advice, format string, args ...any) Finding {
	return Finding{Check: check, Level: Failure, Message: fmt.Sprintf(format, args...), Advice: advice}
}

// maxNamed bounds the things that a message names; it counts the others.
const maxNamed = 5

func list(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
