package job

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
)

// logCommands print the log of a run. The command postflight also works with a key of the team, and after the pods are gone.
func logCommands(j *batchv1.Job, target, options string) string {
	return fmt.Sprintf("postflight runs logs %s %s, or kubectl logs -n %s %s %s", j.Name, options, j.Namespace, target, options)
}
