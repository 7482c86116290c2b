// Package collect uploads what the tests of a pod wrote, and reads the JUnit reports among it. It runs in a sidecar of
// the pod, after the tests have stopped, and has only the pod's grace period.
//
// Nothing here decides how a run ends: what cannot be uploaded is told in the termination message.
package collect
