package job

import batchv1 "k8s.io/api/batch/v1"

// QueueLabel names the queue of Kueue in which a Job waits. Kueue resumes the Job when it has room.
const QueueLabel = "kueue.x-k8s.io/queue-name"

// initialSuspend needs a queue: nothing would resume other Jobs.
func initialSuspend(template *batchv1.JobTemplateSpec) *bool {
	if template.Labels[QueueLabel] == "" {
		return nil
	}
	return template.Spec.Suspend
}
