package outcome

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
)

const logCommand = "postflight runs logs "

// logCommands print the log of a run. The command postflight also works with a key of the team, and after the pods are gone.
func logCommands(j *batchv1.Job, target, options string) string {
	return fmt.Sprintf(logCommand+"%s %s, or kubectl logs -n %s %s %s", j.Name, options, j.Namespace, target, options)
}

// WithoutLogCommands returns the message of a run without the sentence that has its logCommands, for a page that shows the log.
func WithoutLogCommands(message, run string) string {
	before, _, found := strings.Cut(message, ": "+logCommand+run+" ")
	if !found {
		return message
	}
	return before[:strings.LastIndex(before, ". ")+1]
}
