// Package job is a run as a Kubernetes Job, in pure functions: Build makes the Job of a Suite,
// WithInputs gives it the files it needs, and Outcome reads from the Job and its pods how the run
// goes, in words for the person who waits for it. Nothing here does I/O or knows the time.
package job
