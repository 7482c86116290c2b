// Package collect uploads what the tests of a pod wrote, and reads the JUnit reports among it. It runs in a sidecar of
// the pod, after the tests have stopped, and has only the pod's grace period.
//
// It decides nothing. Its termination message has the counts of the tests, by which the manager judges the run, and tells what
// could not be uploaded.
package collect
