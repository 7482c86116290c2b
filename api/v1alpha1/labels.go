package v1alpha1

const (
	// LabelRotation is on the APIKeys that "postflight keys rotate" made. It holds the name that they share.
	LabelRotation = "postflight.dev/rotation"

	// LabelRestored marks a Suite that was restored from a backup. It has any value.
	LabelRestored = "postflight.dev/restored"

	// LabelRestoredByVelero is the label that Velero gives to what it restores. It holds the name of the restore.
	LabelRestoredByVelero = "velero.io/restore-name"

	// LabelNotBackedUp is "true" on what Velero should leave out of backups: Jobs and pods, which would run again.
	LabelNotBackedUp = "velero.io/exclude-from-backup"

	// LabelTrigger holds the name of the Trigger, on a Suite, its Job and its pods.
	LabelTrigger = "postflight.dev/trigger"

	// LabelEnvironment holds the name of the Environment, on a Suite, its Job and its pods.
	LabelEnvironment = "postflight.dev/environment"

	// LabelSuite holds the name of the Suite, on its Job and its pods. The manager caches only Jobs that
	// have it.
	LabelSuite = "postflight.dev/suite"

	// LabelShortSHA holds the first 12 characters of the deployment's commit, on a Suite, if they are a
	// valid label value. kubectl shows it because printer columns cannot truncate.
	LabelShortSHA = "postflight.dev/short-sha"

	// LabelAllowedBy is "environment" or "trigger" on the Job of a run whose namespace has no APIKey: the shipped policies then look for such
	// an object there.
	LabelAllowedBy = "postflight.dev/allowed-by"

	// LabelDebug holds the name of the Suite, on the pod in which people look around after its run. Pods of the run lack it.
	LabelDebug = "postflight.dev/debug"

	// AnnotationDebugContainer names the container of such a pod that waits.
	AnnotationDebugContainer = "postflight.dev/debug-container"

	// AnnotationVariablesDigest holds the digest of the variables of the notification, on a Suite. The manager does not keep the
	// variables of finished Suites in memory.
	AnnotationVariablesDigest = "postflight.dev/variables-digest"

	// AnnotationVariablesOmitted is on Suites in the manager's memory whose variables are only in the API server.
	AnnotationVariablesOmitted = "postflight.dev/variables-omitted"

	// AnnotationMemoryOmitted is on Jobs in the manager's memory that lack what they remember of their start: it is only in the API server.
	AnnotationMemoryOmitted = "postflight.dev/memory-omitted"

	// AnnotationTimeout holds the time limit of a run, on its Job: its Trigger may change meanwhile.
	AnnotationTimeout = "postflight.dev/timeout"

	// AnnotationRequire holds results.require of the Trigger, on the Job of a run, unless it is Tests.
	AnnotationRequire = "postflight.dev/require"

	// AnnotationMinTests holds results.minTests of the Trigger, on the Job of a run, if it is set.
	AnnotationMinTests = "postflight.dev/min-tests"

	// AnnotationFewerTests holds results.fewerTests and results.fewerTestsPercent of the Trigger, as in "Fail/20", on the Job of a
	// run, if one of them is set.
	AnnotationFewerTests = "postflight.dev/fewer-tests"

	// AnnotationQuarantines holds which Quarantines a run applies, on its Job: those that were valid when it was created.
	AnnotationQuarantines = "postflight.dev/quarantines"

	// AnnotationUnderTest holds what the Environment had when the Job of a run was created, on the Job.
	AnnotationUnderTest = "postflight.dev/under-test"

	// AnnotationFailedPlan holds which failed tests a run repeats, and together with which runs it is a whole, on its Job.
	AnnotationFailedPlan = "postflight.dev/repeats-failed"

	// AnnotationTestsDigest holds the digest of what defines the tests of a run, on its Job: a run that repeats only the failed tests has to
	// run the same ones.
	AnnotationTestsDigest = "postflight.dev/tests-digest"

	// AnnotationRepeats names the run without a result that a run repeats: it was Inconclusive, or ended as Error.
	AnnotationRepeats = "postflight.dev/repeats"

	// AnnotationRetries holds how many of the runs that a run repeats, directly or not, ended as Error.
	AnnotationRetries = "postflight.dev/retries"

	// AnnotationAfterInconclusive is on a run that repeats an Inconclusive one, directly or not.
	AnnotationAfterInconclusive = "postflight.dev/repeats-inconclusive"

	// AnnotationStopRequested holds when the manager began to stop the pods of a Job, in RFC 3339.
	AnnotationStopRequested = "postflight.dev/stop-requested"

	// AnnotationCanceledBy names who canceled a run; set it together with spec.cancel.
	AnnotationCanceledBy = "postflight.dev/canceled-by"

	// AnnotationHeldBy names who put an Environment on hold; set it together with spec.hold.
	AnnotationHeldBy = "postflight.dev/held-by"

	// AnnotationTerminatedBy names who ended an ephemeral Environment before its time.
	AnnotationTerminatedBy = "postflight.dev/terminated-by"

	// AnnotationIdempotencyKey holds the Idempotency-Key of the notification, which is the same when a client sends it again.
	AnnotationIdempotencyKey = "postflight.dev/idempotency-key"

	// AnnotationRequestID holds the id of the request, which finds its own Suite if the API server's first answer was lost.
	AnnotationRequestID = "postflight.dev/request-id"

	// AnnotationRerunBy names who requested another attempt of a run, on that attempt.
	AnnotationRerunBy = "postflight.dev/rerun-by"

	// AnnotationAnswer holds the answer to a command in a comment on the pull request of a run, as JSON.
	AnnotationAnswer = "postflight.dev/answer"

	// AnnotationScheduledFor holds the time of the schedule of a Trigger, in RFC 3339, on a Suite that was created for it.
	AnnotationScheduledFor = "postflight.dev/scheduled-for"

	// AnnotationDeployedAt is on Suites of earlier versions, for which an event said when the deployment happened. Newer ones have
	// spec.deployedAt.
	AnnotationDeployedAt = "postflight.dev/deployed-at"

	// AnnotationRecordsSince is the time, in RFC 3339, from which the records in the store belong to a Team that was restored from
	// a backup. It is earlier than its creation.
	AnnotationRecordsSince = "postflight.dev/records-since"

	// AnnotationTraceparent holds the trace that a Suite belongs to, as a W3C traceparent: its run becomes a
	// child of that span.
	AnnotationTraceparent = "postflight.dev/traceparent"
)
