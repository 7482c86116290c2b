// Package job is a run as a Kubernetes Job, in pure functions: Build makes the Job of a Suite,
// WithInputs adds the files it needs, and Observe reads from the Job and its pods how the run goes,
// with a message for the person who waits for it. Nothing here does I/O or reads a clock.
package job
