package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Color is the number of a terminal's color. All have two digits, so that colored cells of a column stay aligned.
type Color int

// The colors of states.
const (
	Red      Color = 31
	Green    Color = 32
	Yellow   Color = 33
	Blue     Color = 34
	ordinary Color = 39
	Gray     Color = 90
)

// Paint colors a clean text of a line on standard error, unless that is a log.
func (c *Console) Paint(color Color, text string) string {
	if !c.Live || c.Plain {
		return text
	}
	return paint(color, text)
}

func paint(color Color, text string) string { return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, text) }

// stateColumns are the headers of columns that have states, or signs for them.
var stateColumns = []string{"STATE", "LAST RUN", "ROLLOUT", ""}

// paintStates colors the states of a table with clean cells: those of a column, and the one after "State:".
func paintStates(rows [][]string) {
	for j, header := range rows[0] {
		if !slices.Contains(stateColumns, header) {
			continue
		}
		for _, row := range rows {
			if j < len(row) {
				row[j] = paint(stateColor(row[j]), row[j])
			}
		}
	}
	for _, row := range rows {
		if len(row) > 1 && row[0] == "State:" {
			row[1] = paint(stateColor(row[1]), row[1])
		}
	}
}

// otherStates are those of objects that are no runs, and signs.
var otherStates = map[string]Color{
	"Ready": Green, "Incomplete": Yellow, "Not ready": Red, "Paused": Gray, "active": Green, "suspended": Yellow, "expired": Red,
	"✓": Green, "!": Yellow, "✗": Red,
}

// stateColor tells at a glance what needs attention. A pass with a remark, such as quarantined failures, is no plain pass.
func stateColor(text string) Color {
	if color, ok := otherStates[text]; ok {
		return color
	}
	name, _, remark := strings.Cut(text, " (")
	if !slices.Contains(v1alpha1.States(), name) {
		return ordinary
	}
	switch s := state.Of(name); {
	case s.Green && !remark:
		return Green
	case s.Bad:
		return Red
	case s.Open():
		return Blue
	case s.Green, name == v1alpha1.ReasonInconclusive:
		return Yellow
	default:
		return Gray
	}
}
