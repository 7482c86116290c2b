package job

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
)

// logCommands print the log of a run: one works with a key of the team too, and after the pods are gone, the other with
// what everybody has. The target is for kubectl: a pod or a Job. The options are for both.
func logCommands(j *batchv1.Job, target, options string) string {
	return fmt.Sprintf("postflight runs logs %s %s, or kubectl logs -n %s %s %s", j.Name, options, j.Namespace, target, options)
}
