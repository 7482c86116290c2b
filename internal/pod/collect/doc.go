// Package collect uploads what the tests of a pod wrote, and reads the JUnit reports among it. It runs in a sidecar after the tests have
// stopped, within the grace period of the pod. The manager judges the run by the counts in its termination message.
package collect
