package outcome

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

const (
	failedThere = "It ran in another cluster by MultiKueue, and only its log there says whether tests failed or something stopped them. " +
		"MultiKueue deletes its pods, so let that cluster collect their logs."
	passedThere = " They ran in another cluster by MultiKueue, so there is no log and no test result."
)

// runningElsewhere is for a Job whose pods are in another cluster. Its Workload, which nothing else here reads, names that.
func runningElsewhere(j *batchv1.Job) string {
	what := "The pod is starting"
	if Ready(j) {
		what = "The tests are running"
	}
	return fmt.Sprintf("%s in another cluster, by MultiKueue, and only that has their log. Its name: kubectl get workloads -n %s "+
		"-l kueue.x-k8s.io/job-uid=%s -o jsonpath='{.items[*].status.clusterName}'", what, j.Namespace, j.UID)
}

// completedElsewhere has only the status of the Job, as its Job controller wrote it there.
func completedElsewhere(j *batchv1.Job) State {
	why := job.ResultsElsewhere(j)
	switch {
	case why != "":
		return State{Condition: v1alpha1.Error("Every container exited with 0. " + why)}
	case condition(j, batchv1.JobSuspended) != nil:
		s := noResult("Kueue suspended the Job in another cluster before its tests had ended. They may not all have run, although they exited " +
			"with 0.")
		s.Interrupted = true
		return s
	default:
		s := State{Condition: passed(j, nil, nil, v1alpha1.DecidedByExitCode), DecidedBy: v1alpha1.DecidedByExitCode}
		s.Condition.Message += passedThere
		return s
	}
}
