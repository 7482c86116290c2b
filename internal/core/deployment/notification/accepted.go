package notification

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// VariablesProblem says which variables would take over the process or the platform, or are not accepted by a Trigger, as a sentence for
// the sender, or is "".
func (n *Notification) VariablesProblem(trigger string, allow []string) string {
	var reserved, notAccepted []string
	for _, name := range slices.Sorted(maps.Keys(n.Variables)) {
		switch {
		case Reserved(name):
			reserved = append(reserved, name)
		case !Allowed(name, allow):
			notAccepted = append(notAccepted, name)
		}
	}
	switch {
	case len(reserved) == 1:
		return fmt.Sprintf("The variable %s is reserved: it would change how the platform runs the tests. "+
			"Rename it, or set it in the Trigger.", reserved[0])
	case len(reserved) > 1:
		return fmt.Sprintf("The variables %s are reserved: they would change how the platform runs the tests. "+
			"Rename them, or set them in the Trigger.", some(reserved))
	case len(notAccepted) == 1:
		return fmt.Sprintf("The Trigger %s does not accept the variable %s: leave it out, or add it to allowVariables of the Trigger.",
			trigger, notAccepted[0])
	case len(notAccepted) > 1:
		return fmt.Sprintf("The Trigger %s does not accept the variables %s: leave them out, or add them to allowVariables of the Trigger.",
			trigger, some(notAccepted))
	default:
		return ""
	}
}

// maxNames keeps a reason readable.
const maxNames = 10

func some(names []string) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}
