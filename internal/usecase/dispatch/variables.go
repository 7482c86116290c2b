package dispatch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// checkVariables rejects names that would take over the process or the platform, or that the Trigger does not accept.
func (o *operation) checkVariables(t *v1alpha1.Trigger) error {
	var reserved, notAccepted []string
	for _, name := range slices.Sorted(maps.Keys(o.Notification.Variables)) {
		switch {
		case notification.Reserved(name):
			reserved = append(reserved, name)
		case !notification.Allowed(name, t.Spec.AllowVariables):
			notAccepted = append(notAccepted, name)
		}
	}
	switch {
	case len(reserved) == 1:
		return reject("The variable %s is reserved: it would change how the platform runs the tests. "+
			"Rename it, or set it in the Trigger.", reserved[0])
	case len(reserved) > 1:
		return reject("The variables %s are reserved: they would change how the platform runs the tests. "+
			"Rename them, or set them in the Trigger.", some(reserved))
	case len(notAccepted) == 1:
		return reject("The Trigger %s does not accept the variable %s: leave it out, or add it to allowVariables of the Trigger.", t.Name,
			notAccepted[0])
	case len(notAccepted) > 1:
		return reject("The Trigger %s does not accept the variables %s: leave them out, or add them to allowVariables of the Trigger.", t.Name,
			some(notAccepted))
	default:
		return nil
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
