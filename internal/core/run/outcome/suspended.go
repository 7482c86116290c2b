package outcome

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

func suspended(j *batchv1.Job) bool { return ptr.Deref(j.Spec.Suspend, false) }

func suspendedMessage(j *batchv1.Job) string {
	if queue := j.Labels[job.QueueLabel]; queue != "" {
		return fmt.Sprintf("Waiting in the queue %q of Kueue, which starts the Job when it has room: kubectl describe job -n %s %s",
			plaintext.Line(queue, maxName), j.Namespace, j.Name)
	}
	return fmt.Sprintf("The Job is suspended, and starts when its owner, such as a queueing system, resumes it: kubectl describe job -n %s %s", j.Namespace, j.Name)
}
