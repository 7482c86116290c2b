package outcome

import corev1 "k8s.io/api/core/v1"

// How a pod ended is asked for three decisions. They agree on what the functions of this file say, and differ in what a doubt means:
//
//   - A run is repeated only if the cluster ended it (interrupted, failedByItself). Any exit code may be that of failed tests, also that of a
//     signal: tests that need too much memory would be killed again.
//   - Only the failed tests of a run may run again if all others have run (failedOtherwise). The report names them, so any exit code below
//     those of signals will do, 0 included.
//   - A Quarantine may turn a failure into a pass (otherFailure). So the exit code has to be one of failed tests, and of these.

// hasFailed reports whether a pod has failed, or one of its containers has, so that it will.
func hasFailed(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase != corev1.PodSucceeded && failedContainer(p) != nil
}

// wasStopped reports whether something else than the containers of a pod ended it, or is about to: it was deleted, evicted, refused, too late
// or in the way.
func wasStopped(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil || p.Status.Reason != "" || disrupted(p) != nil
}

// firstSignal is the exit code of a process that the first signal killed, as shells say it. Runners that find failed tests exit with less.
const firstSignal = 128

// exitedByItself reports whether a container ran to its end at once, and nothing killed it. The kernel may have killed a process of it for its
// memory, whatever its exit code.
func exitedByItself(cs corev1.ContainerStatus) bool {
	t := cs.State.Terminated
	return t != nil && cs.RestartCount == 0 && t.Signal == 0 && t.ExitCode < firstSignal && t.Reason != outOfMemoryReason
}

// outOfMemoryReason is the reason of a container of which the kernel killed a process for its memory.
const outOfMemoryReason = "OOMKilled"
